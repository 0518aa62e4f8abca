from __future__ import annotations

import json

from handloop_sandbox.storage.stored import Change, ChangeType, Stored, head_of, object_key, tail_of
from handloop_sandbox.wire.resource import GroupResource

_OBJECT = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "n"}, "spec": {"x": 1}}


def test_a_head_and_a_tail_are_an_object() -> None:
    """Any head joined to the tail is the object in that version."""
    joined = head_of("Pod", "v9") + tail_of(_OBJECT)
    assert json.loads(joined) == {**_OBJECT, "apiVersion": "v9"}
    assert json.loads(b"{" + tail_of(_OBJECT)) == {"metadata": _OBJECT["metadata"], "spec": {"x": 1}}


def test_keys_name_objects_in_their_collection() -> None:
    """A key is namespace and name, or the name alone."""
    assert object_key("n", "p") == "n/p"
    assert object_key("", "p") == "p"
    change = Change(ChangeType.ADDED, GroupResource("", "pods"), new=Stored(_OBJECT, 5), old=None)
    assert (change.key, change.rv, change.namespace, change.name) == ("n/p", 5, "n", "p")
    assert repr(change) == "Change(ADDED pods n/p @5)"
