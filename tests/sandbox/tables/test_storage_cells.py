from __future__ import annotations

from typing import Any

import pytest

from handloop.sandbox.tables.storage_cells import claim_cells, quota_cells, storage_class_cells, volume_cells
from support.object_cases import check_row
from support.recordings import rows, told

_NOW = 1_700_000_000.0
_AGE = "<unknown>"


@pytest.mark.parametrize(
    "line",
    rows("persistentvolumeclaims", "persistentvolumes", "resourcequotas", "storageclasses"),
    ids=told,
)
def test_rows_are_as_recorded(line: dict[str, Any]) -> None:
    """The cells a real server shows of these objects."""
    check_row(line)


def test_access_modes_are_abbreviated_in_a_fixed_order() -> None:
    """RWO, ROX, RWX, RWOP, each once, whatever order they were given in."""
    modes = ["ReadWriteOncePod", "ReadWriteMany", "ReadOnlyMany", "ReadWriteOnce", "ReadWriteOnce"]
    volume = {"metadata": {"name": "v"}, "spec": {"accessModes": modes, "capacity": {"storage": "1Gi"}}}
    assert volume_cells(volume, _NOW)[:3] == ["v", "1Gi", "RWO,ROX,RWX,RWOP"]


def test_a_claim_shows_what_it_got() -> None:
    """Capacity and modes are those of the bound volume; before that they are empty."""
    claim: dict[str, Any] = {
        "metadata": {"name": "c"},
        "spec": {"accessModes": ["ReadWriteOnce"], "volumeMode": "Filesystem"},
        "status": {"phase": "Pending"},
    }
    assert claim_cells(claim, _NOW)[:5] == ["c", "Pending", "", "", ""]
    claim["spec"]["volumeName"] = "v"
    claim["status"] = {
        "phase": "Bound",
        "capacity": {"storage": "2Gi"},
        "accessModes": ["ReadWriteMany"],
    }
    assert claim_cells(claim, _NOW)[:5] == ["c", "Bound", "v", "2Gi", "RWX"]
    claim["metadata"]["deletionTimestamp"] = "2024-01-01T00:00:00Z"
    assert claim_cells(claim, _NOW)[1] == "Terminating"


def test_a_default_class_is_marked() -> None:
    """The annotation that makes a class the default one shows behind its name."""
    key = "storageclass.kubernetes.io/is-default-class"
    found = {"metadata": {"name": "s", "annotations": {key: "true"}}, "provisioner": "p"}
    assert storage_class_cells(found, _NOW)[:2] == ["s (default)", "p"]
    found["metadata"] = {"name": "s", "annotations": {key: "false"}}
    assert storage_class_cells(found, _NOW)[0] == "s"


def test_a_quota_shows_requests_and_limits_apart() -> None:
    """Used and hard amounts; those of limits have a column of their own."""
    status = {"hard": {"pods": "10", "limits.cpu": "4"}, "used": {"pods": "1", "limits.cpu": "0"}}
    quota = {"metadata": {"name": "q"}, "status": status}
    cells = quota_cells(quota, _NOW)
    assert [cell for cell in cells if "/" in str(cell)] == ["pods: 1/10", "limits.cpu: 0/4"]
