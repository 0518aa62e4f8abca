from __future__ import annotations

from typing import Any

import pytest

from handloop.apis.meta import FrozenMap, ObjectMeta
from handloop.client.errors import AlreadyExists, NotFound
from handloop.client.options import ListOptions
from handloop.client.resource_client import PatchType
from handloop.controller.runtime.reconciling.context import Context
from handloop.kinds.core_v1 import ConfigMap, Node, NodeStatus
from handloop.testing import FakeRecorder, RecordedWrites, caches

A = ConfigMap(metadata=ObjectMeta(name="a", namespace="default"), data=FrozenMap({"x": "1"}))
PATH = "/api/v1/namespaces/default/configmaps"


def test_a_reconciler_runs_without_a_server() -> None:
    """An apply of a missing or different object is kept; for an equal one no request is made."""
    writes, filled = RecordedWrites(A), caches(A)
    context = Context(client=writes.client(), listers=filled, recorder=FakeRecorder())
    context.apply(A)
    assert writes.writes == []
    changed = context.apply(ConfigMap(metadata=A.metadata, data=FrozenMap({"y": "2"})))
    context.apply(ConfigMap(metadata=ObjectMeta(name="b", namespace="default")))
    assert [(each.verb, each.path) for each in writes.writes] == [
        ("patch", f"{PATH}/a"),
        ("patch", f"{PATH}/b"),
    ]
    assert writes.writes[0].body["data"] == {"y": "2"}
    assert changed is not None
    assert dict(changed.data or {}) == {"x": "1", "y": "2"}


def test_writes_change_what_reads_see() -> None:
    """Create, merge patch, update and delete, each with its verb."""
    recorded = RecordedWrites()
    maps: Any = recorded.client().resource(ConfigMap)
    made = maps.create(A)
    assert made.metadata.resource_version == "1"
    patched = maps.patch("a", {"data": {"x": None, "y": "2"}}, namespace="default")
    assert dict(patched.data) == {"y": "2"}
    maps.update(made)
    assert dict(maps.get("a", namespace="default").data) == {"x": "1"}
    maps.delete("a", namespace="default")
    with pytest.raises(NotFound):
        maps.get("a", namespace="default")
    assert [each.verb for each in recorded.writes] == ["create", "patch", "update", "delete"]


def test_an_update_of_the_status_changes_nothing_else() -> None:
    """Nor does a patch of it."""
    node = Node(metadata=ObjectMeta(name="n", labels=FrozenMap({"a": "b"})))
    recorded = RecordedWrites(node)
    nodes = recorded.client().resource(Node)
    after = nodes.update_status(Node(metadata=ObjectMeta(name="n"), status=NodeStatus(phase="Running")))
    assert after.status.phase == "Running"
    assert dict(after.metadata.labels) == {"a": "b"}
    patch = {"status": {"phase": "Terminated"}}
    assert nodes.patch("n", patch, subresource="status").status.phase == "Terminated"
    assert [each.path for each in recorded.writes] == ["/api/v1/nodes/n/status"] * 2


def test_what_a_server_would_refuse_is_refused() -> None:
    """An object that is there is not created, one that is not there is not patched or deleted."""
    maps = RecordedWrites(A).client().resource(ConfigMap)
    with pytest.raises(AlreadyExists):
        maps.create(A)
    with pytest.raises(NotFound):
        maps.patch("b", {}, namespace="default")
    with pytest.raises(NotFound):
        maps.delete("b", namespace="default")


def test_what_it_cannot_do_fails() -> None:
    """A JSON patch, and a watch."""
    maps = RecordedWrites(A).client().resource(ConfigMap)
    with pytest.raises(AssertionError, match="a JSON patch needs a server"):
        maps.patch("a", [], namespace="default", patch_type=PatchType.JSON)
    with pytest.raises(AssertionError, match="reads from caches"):
        maps.watch("default", options=ListOptions())
