"""examples/plain: ConfigMaps by name through a queue, five retries, and an end in order."""

from __future__ import annotations

import threading
from typing import Final

from examples.plain.controller import MOST_RETRIES, Controller, set_up
from handloop.controller.runtime.manager import Manager
from handloop.controller.runtime.rbac.access import Access
from handloop.kinds.core_v1 import ConfigMap
from support.checks.output import Printed
from support.rigs.example_cluster import ExampleCluster

KINDS: Final = ()


def test_a_life(cluster: ExampleCluster, printed: Printed) -> None:
    """Printed, given up, printed again when it is mended, and gone, with any fault of the watch."""
    name = f"{cluster.namespace}/settings"

    def wait_for(line: str) -> None:
        def is_last() -> bool:
            ours = [each for each in printed.lines() if each.startswith(name)]
            return bool(ours) and ours[-1].startswith(line)

        cluster.eventually(is_last, line)

    cluster.create(ConfigMap.named("settings", data={"a.json": "{}"}))
    with cluster.operator(set_up):
        wait_for(f"{name}: a.json")
        cluster.patch(ConfigMap, "settings", data={"a.json": "{"})
        wait_for(f"{name}: given up after 5 retries: Expecting property name")
        cluster.watches.hold("configmaps")
        cluster.patch(ConfigMap, "settings", data={"a.json": "1", "b": "2"})
        cluster.watches.drop()
        cluster.watches.hold()
        wait_for(f"{name}: a.json, b")
        cluster.watches.hold("configmaps")
        cluster.delete(ConfigMap, "settings")
        cluster.watches.drop()
        cluster.watches.hold()
        wait_for(f"{name} is gone")
    assert len([line for line in printed.lines() if line.startswith(name)]) == 4


class Watched(Controller):
    """Fails each check, and notes it; the check `slow` ends after the stop only."""

    def __init__(self, manager: Manager) -> None:
        super().__init__(manager)
        self.begun: list[str] = []
        self.ended: list[str] = []
        self._stopping = threading.Event()

    def run(self, stop: threading.Event) -> None:
        """Know the stop."""
        self._stopping = stop
        super().run(stop)

    def _check(self, key: str) -> None:
        self.begun.append(key)
        if key.endswith("/slow"):
            assert self._stopping.wait(60)
        self.ended.append(key)
        raise ValueError("never")


def add_watched(manager: Manager) -> None:
    """As set_up."""
    manager.declare(Access(resource=ConfigMap.resource, verbs=("list", "watch")))
    manager.add(Watched(manager))


def test_a_key_is_tried_again_five_times(sandbox: ExampleCluster, printed: Printed) -> None:
    """And then not before its next change, although resyncs repeat it."""
    sandbox.create(ConfigMap.named("bad"))
    with sandbox.operator(add_watched) as running:
        assert isinstance(running, Watched)
        given_up = "default/bad: given up after 5 retries: never"
        sandbox.eventually(lambda: printed.lines().count(given_up) == 1, given_up)
        assert running.begun.count("default/bad") == 1 + MOST_RETRIES
        sandbox.patch(ConfigMap, "bad", data={"a": "b"})
        sandbox.eventually(lambda: printed.lines().count(given_up) == 2, "given up again")
        assert running.begun.count("default/bad") == 2 * (1 + MOST_RETRIES)


def test_a_stop_waits_for_a_check_that_runs(sandbox: ExampleCluster) -> None:
    """A worker ends what it has begun."""
    sandbox.create(ConfigMap.named("slow"))
    with sandbox.operator(add_watched) as running:
        assert isinstance(running, Watched)
        sandbox.eventually(lambda: "default/slow" in running.begun, "begun")
        assert "default/slow" not in running.ended
    assert "default/slow" in running.ended
