"""What a manager knows of names, on a sandbox without sockets, as its page tells it."""

from __future__ import annotations

import threading

import msgspec

from handloop.controller.foo.runnable import add_foo
from handloop.controller.foo.types import Foo
from handloop.controller.runtime.builder import controller_for
from handloop.controller.runtime.reconcile import ReconcileError, TerminalError
from handloop.controller.runtime.reconciling.context import Context
from handloop.controller.runtime.reconciling.explainer import Why
from handloop.testing.eventually import eventually
from support.checks.captured_logs import captured_logs
from support.rigs.managed_sandbox import ManagedSandbox


class Asked:
    """A manager with a controller of Foos that does what `do` does, and what its page says."""

    def __init__(self, cluster: ManagedSandbox, namespaces: tuple[str, ...] = ()) -> None:
        self.manager = cluster.manager(namespaces=namespaces)
        self.errors: dict[str, Exception] = {}
        self.running, self.go_on = threading.Event(), threading.Event()
        controller_for(self.manager, "watcher").for_(Foo).complete(self.reconcile)

    def reconcile(self, foo: Foo, _context: Context) -> None:
        if foo.metadata.name == "slow":
            self.running.set()
            self.go_on.wait(20)
        if foo.metadata.name in self.errors:
            raise self.errors[foo.metadata.name]

    def get(self, **query: str) -> tuple[int, str]:
        status, _, body = self.manager.why_page()({key: [value] for key, value in query.items()})
        return status, body.decode()

    def why(self, name: str, **query: str) -> Why:
        return msgspec.json.decode(self.get(name=name, o="json", **query)[1], type=Why)

    def says(self, name: str) -> list[str]:
        (explanation,) = self.why(name).explanations
        return list(explanation.says)


def test_each_name_is_explained() -> None:
    """One that is settled, one that fails, one that has given up, and one that is under way."""
    cluster = ManagedSandbox(Foo)
    asked = Asked(cluster)
    later = ReconcileError("no answer\nof the API")
    later.retry_seconds = 600
    asked.errors = {"fails": later, "gave-up": TerminalError("no such image")}
    with captured_logs(), cluster.running(asked.manager):
        for name in ("settled", "fails", "gave-up", "slow"):
            cluster.foo(name)
        assert asked.running.wait(20)
        assert asked.says("default/slow")[0].startswith("has been in its reconcile for 0.")
        asked.go_on.set()
        eventually(lambda: asked.says("default/slow")[0].startswith("nothing to do"), "settled")
        first = {name: asked.says(f"default/{name}")[0] for name in ("settled", "fails", "gave-up")}
        assert first["settled"] == "nothing to do: the last reconcile wrote nothing"
        assert first["fails"] == "waits 10 min more after 1 failure, the last: no answer\nof the API"
        assert (
            "failed permanently: no such image (`kubectl annotate ... samplecontroller.k8s.io/rec"
            in first["gave-up"]
        )
        status, text = asked.get(name="default/fails")
        assert (status, text.splitlines()[0]) == (200, "watcher: Foo default/fails")
        assert "no answer\\nof the API" in text.splitlines()[1]


def test_an_unknown_name_has_its_neighbours() -> None:
    """And a name that is none is refused in words."""
    cluster = ManagedSandbox(Foo)
    asked = Asked(cluster)
    with captured_logs(), cluster.running(asked.manager):
        cluster.foo("web")
        eventually(lambda: asked.says("default/web")[0].startswith("nothing to do"), "known")
        assert asked.get(name="default/wep")[1].splitlines() == [
            "watcher: Foo default/wep",
            "  nobody knows this name",
            "  did you mean default/web?",
        ]
        assert asked.get(name="web")[1].splitlines()[1] == "  a Foo has a namespace"
        assert asked.get(name="default/web", controller="other")[1] == (
            "no controller that can explain a name runs in this process\n"
        )
        assert asked.get(name="a/b/c")[0] == asked.get()[0] == 400


def test_a_namespace_that_is_not_watched_is_told() -> None:
    """Another process may know."""
    cluster = ManagedSandbox(Foo)
    asked = Asked(cluster, namespaces=("default",))
    with captured_logs(), cluster.running(asked.manager):
        assert (
            asked.get(name="other/web")[1].splitlines()[1] == "  its namespace is not watched by this process"
        )


def test_the_foo_controller_by_hand_is_asked_alike() -> None:
    """It has no queue of causes, and says what its syncs came to."""
    cluster = ManagedSandbox(Foo)
    asked = Asked(cluster)
    add_foo(asked.manager, workers=1)
    with captured_logs(), cluster.running(asked.manager):
        cluster.foo("a")

        def by_hand() -> list[str]:
            return [
                line for each in asked.why("default/a", controller="foo").explanations for line in each.says
            ]

        eventually(lambda: any("deployments.apps default/a created" in line for line in by_hand()), "told")
        annotations = {"annotations": {"samplecontroller.k8s.io/paused": "true"}}
        cluster.client.resource(Foo).patch("a", {"metadata": annotations}, namespace="default")
        paused = "is paused by its annotation samplecontroller.k8s.io/paused"
        eventually(lambda: by_hand()[:1] == [paused], "paused")
        assert cluster.metric("handloop_paused_objects", controller="foo") == 1
