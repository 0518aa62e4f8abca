from __future__ import annotations

import pytest

from support.mutants import check_create, check_update
from support.recorded_rules import Judged, Path, creations, told, updates


def _is_volume(path: Path) -> bool:
    return bool({"volumes", "volumeMounts", "volumeDevices"} & set(path))


@pytest.mark.parametrize("judged", creations("Pod", "ReplicationController", about=_is_volume), ids=told)
def test_new_objects_are_judged_as_recorded(judged: Judged) -> None:
    """Volumes and mounts in pods and templates, changed in one member: what the real server says."""
    for line in judged.lines:
        check_create(line)


@pytest.mark.parametrize(
    "judged",
    updates("Pod", "Deployment", "ReplicaSet", "ReplicationController", "PodTemplate", about=_is_volume),
    ids=told,
)
def test_changes_are_judged_as_recorded(judged: Judged) -> None:
    """What may change of an existing object, and the complaints about what may not."""
    assert judged.old is not None
    for line in judged.lines:
        check_update(judged.old, line)


@pytest.mark.parametrize("judged", creations("PersistentVolumeClaim"), ids=told)
def test_new_claims_are_judged_as_recorded(judged: Judged) -> None:
    """Claims, changed in one member: what the real server says."""
    for line in judged.lines:
        check_create(line)


@pytest.mark.parametrize("judged", updates("PersistentVolumeClaim"), ids=told)
def test_changes_of_claims_are_judged_as_recorded(judged: Judged) -> None:
    """What may change of an existing object, and the complaints about what may not."""
    assert judged.old is not None
    for line in judged.lines:
        check_update(judged.old, line)
