"""The annotations of namespaces: on a sandbox without sockets, in the caches of a manager."""

from __future__ import annotations

from typing import Any

from handloop.apis.core_v1 import Namespace
from handloop.apis.meta import FrozenMap, ObjectMeta
from handloop.controller.runtime.caching.namespace_annotations import NamespaceAnnotations
from handloop.controller.runtime.manager import Manager
from handloop.testing.eventually import eventually
from support.checks.captured_logs import captured_logs
from support.doubles.runnables import Worker
from support.rigs.managed_sandbox import ManagedSandbox

KEY = "example.org/paused"


def new(name: str, **annotations: str) -> Namespace:
    return Namespace(metadata=ObjectMeta(name=name, annotations=FrozenMap(annotations)))


def test_each_change_of_a_key_is_told_and_no_other() -> None:
    """A change of anything else is none."""
    cluster = ManagedSandbox()
    namespaces = cluster.client.resource(Namespace)
    namespaces.create(new("team", **{KEY: "true"}))
    manager: Manager = cluster.manager()
    story: list[str] = []
    manager.add(Worker(story, "worker"))
    told: list[tuple[str, str | None]] = []
    seen = manager.namespace_annotations
    seen.follow(KEY, lambda name: told.append((name, seen.get(name, KEY))))
    assert (seen.get("team", KEY), seen.troubles()) == (None, [])
    with captured_logs(), cluster.running(manager):
        eventually(lambda: story, "running")
        seen.start()
        seen.start()
        eventually(lambda: told == [("team", "true")], "listed")
        assert (seen.troubles(), seen.get("", KEY), seen.get("none", KEY)) == ([], None, None)
        namespaces.patch("team", {"metadata": {"labels": {"a": "b"}}})
        namespaces.patch("team", {"metadata": {"annotations": {KEY: "no"}}})
        eventually(lambda: told[1:] == [("team", "no")], "changed")


class _Informer:
    """Of one namespace, which goes."""

    def __init__(self) -> None:
        self.handlers: list[Any] = []
        self.add_event_handler = self.handlers.append

    def get_by_key(self, _key: str) -> None:
        return None


def test_a_namespace_that_goes_has_no_annotations() -> None:
    """One that is made anew has others. Of a tombstone without a state the annotations are not known."""
    informer = _Informer()
    told: list[str] = []
    seen = NamespaceAnnotations(lambda _kind: informer)  # type: ignore[arg-type, return-value]
    seen.follow(KEY, told.append)
    seen.start()
    (handler,) = informer.handlers
    handler.on_delete(new("team", **{KEY: "true"}))
    handler.on_delete(new("other"))
    assert told == ["team"]


def test_a_program_of_named_namespaces_watches_none() -> None:
    """Its roles are of these namespaces: a watch of all would be refused, again and again."""
    cluster = ManagedSandbox()
    manager = cluster.manager(namespaces=("default",))
    manager.add(Worker([], "worker"))
    with captured_logs(), cluster.running(manager):
        manager.namespace_annotations.start()
        assert manager.namespace_annotations.troubles() == []
        assert manager.namespace_annotations.get("default", KEY) is None


def test_without_room_for_a_watch_nothing_is_known() -> None:
    """A process without a free thread goes on."""
    seen = NamespaceAnnotations(lambda _kind: None)
    seen.start()
    assert (seen.get("default", KEY), seen.troubles()) == (None, [])
