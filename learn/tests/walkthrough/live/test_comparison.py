"""The caches against the server."""

from __future__ import annotations

import json
from typing import Any

from handloop.controller.foo.types import Foo
from handloop.informers.reflector import State
from handloop.informers.shared_informer import SharedIndexInformer
from handloop.picture.parts import Parts
from handloop.testing.eventually import eventually
from handloop_learn.live.comparison import compare
from support.rigs.managed_sandbox import ManagedSandbox

PATH = Foo.resource.path(namespace="default")


def unchanged(obj: Any) -> Any:
    return obj


def watches(informer: SharedIndexInformer[Any]) -> bool:
    reflector = informer.statistics().reflector
    return informer.has_synced() and reflector is not None and reflector.state == State.WATCHING


def test_equal_caches_have_no_difference_and_a_lagging_one_has_each() -> None:
    """While the watch is held back one Foo is changed, one deleted, one made: paths are shown, no values."""
    cluster = ManagedSandbox(Foo)
    manager = cluster.manager()
    manager.informer_for(Foo)
    parts = Parts(manager, {})
    for name in ("changed", "deleted"):
        cluster.foo(name, deployment="secret-text")
    with cluster.running(manager):
        (informer,) = parts.informers()
        eventually(lambda: watches(informer), "the first list, and a watch")
        (equal,) = compare(parts, unchanged)
        assert (equal["served"], equal["missing"], equal["only"], equal["changed"]) == (2, [], [], [])

        cluster.sandbox.faults.delay_watches(resources=["foos"])
        cluster.foo("made", deployment="secret-text")
        headers = {"Content-Type": "application/merge-patch+json"}
        body = json.dumps({"spec": {"replicas": 3}}).encode()
        cluster.transport().request("PATCH", f"{PATH}/changed", headers=headers, body=body)
        cluster.transport().request("DELETE", f"{PATH}/deleted")
        (lagging,) = compare(parts, unchanged)
        assert (lagging["missing"], lagging["only"]) == (["default/made"], ["default/deleted"])
        (change,) = lagging["changed"]
        assert (change["key"], change["cache"] < change["server"]) == ("default/changed", True)
        assert "spec.replicas" in change["fields"]
        assert "secret-text" not in json.dumps(lagging)


def test_a_list_that_fails_is_reported() -> None:
    """The other kinds are compared all the same."""
    cluster = ManagedSandbox(Foo)
    manager = cluster.manager()
    manager.informer_for(Foo)
    cluster.sandbox.faults.error(403, verbs=["list"], resources=["foos"])
    (row,) = compare(Parts(manager, {}), unchanged)
    assert "403" in row["error"] or "Forbidden" in row["error"]
