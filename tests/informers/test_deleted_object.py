from __future__ import annotations

import pytest

from handloop.apis.apps_v1 import Deployment
from handloop.informers.deleted_object import DeletedObject
from handloop.informers.keys import DeletedFinalStateUnknown, ObjectName
from support.deployments import deployment

FOO = deployment("foo", namespace="ns")


@pytest.mark.parametrize(
    ("deleted", "key", "name"),
    [
        (DeletedObject.of(FOO), "ns/foo", ObjectName("ns", "foo")),
        (DeletedObject.of(deployment("foo", namespace="")), "foo", ObjectName("", "foo")),
        (DeletedObject.of(DeletedFinalStateUnknown("ns/a", FOO)), "ns/a", ObjectName("ns", "a")),
        (DeletedObject.of(DeletedFinalStateUnknown("ns/a/b", None)), "ns/a/b", ObjectName("ns", "a/b")),
        (DeletedObject.of(DeletedFinalStateUnknown("a", None)), "a", ObjectName("", "a")),
        (DeletedObject(), "", ObjectName("", "")),
    ],
    ids=["object", "cluster-scoped object", "tombstone", "two slashes", "no slash", "neither"],
)
def test_key_and_name(deleted: DeletedObject[Deployment], key: str, name: ObjectName) -> None:
    """STO-26: from the tombstone's key, split at its first slash. Follows TestDeletedObjectGetKey."""
    assert deleted.key == key
    assert deleted.name == name


def test_the_object_of_a_tombstone() -> None:
    """The last known state, None when there is none."""
    tombstone = DeletedFinalStateUnknown("ns/foo", FOO)
    deleted: DeletedObject[Deployment] = DeletedObject.of(tombstone)
    assert (deleted.obj, deleted.tombstone) == (FOO, tombstone)
    assert DeletedObject.of(FOO).tombstone is None
