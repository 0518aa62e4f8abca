"""A Foo that is created, scaled and deleted, for explorations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from handloop.controller.foo.runnable import add_foo
from handloop.controller.foo.types import Foo
from handloop.controller.runtime.manager import Manager
from handloop.testing.explore.workload import Step, Workload, applied, changed, deleted, settled

FOO: Final[dict[str, Any]] = {
    "apiVersion": Foo.resource.api_version,
    "kind": "Foo",
    "metadata": {"name": "a"},
    "spec": {"deploymentName": "a", "replicas": 1},
}
LIFE: Final = (applied(FOO), changed(FOO, {"spec": {"replicas": 3}}), settled(), deleted(FOO))


def foo_workload(*steps: Step, add: Callable[..., object] = add_foo) -> Workload:
    """A workload of the Foo controller; no steps = LIFE. Args: add adds a controller of Foos."""

    def set_up(manager: Manager) -> None:
        manager.declare_reconciled(Foo)
        add(manager, workers=2)

    return Workload(set_up, steps or LIFE, settle_seconds=180)
