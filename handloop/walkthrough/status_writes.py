"""Writes of a status: changes that lead to one, and a controller that always writes."""

from __future__ import annotations

import time
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from handloop.apis.apps_v1 import Deployment
from handloop.client.resource_client import Client
from handloop.controller.foo.controller import FooController
from handloop.controller.foo.runnable import FooRunnable
from handloop.controller.foo.types import Foo, FooStatus
from handloop.controller.myapp.types import MyApp
from handloop.walkthrough.screen import Screen
from handloop.walkthrough.stage import FOOS, Stage
from handloop.walkthrough.waiting import until

ENOUGH_WRITES: Final = 30
FOO: Final = f"{FOOS}/example-foo"
EVENTS: Final = "/api/v1/namespaces/default/events"
MYAPPS: Final = MyApp.resource.path(namespace="default")
MYAPP: Final[dict[str, Any]] = {
    "apiVersion": "example.com/v1",
    "kind": "MyApp",
    "metadata": {"name": "example-app"},
    "spec": {"image": "nginx:1.27"},
}
_LINGER_SECONDS: Final = 0.3


class Loop(NamedTuple):
    """What one small change led to: status writes, and in how many seconds."""

    writes: int
    seconds: float


class Loops(NamedTuple):
    """Without the comparison: where each status is the same, and where each is another."""

    same: Loop
    other: Loop


class CarelessStatus:
    """
    Takes the place of update_foo_status: it writes always.

    State: writes so far. Threads: the only worker's; the chapter reads.
    """

    def __init__(self, client: Client, *, count: bool) -> None:
        """Args: count = each write has another number; else the true number."""
        self.writes = 0
        self._foos = client.resource(Foo)
        self._count = count

    def __call__(self, foo: Foo, deployment: Deployment, *, wrote_deployment: bool) -> bool:
        """Write the status. Raises: as update_status."""
        del wrote_deployment
        number = self.writes if self._count else deployment.status.available_replicas
        self._foos.update_status(replace(foo, status=FooStatus(available_replicas=number)))
        self.writes += 1
        return True


def careless(stage: Stage, controller: FooController, *, count: bool) -> Loop:
    """
    Let a controller write without comparing, and touch its Foo once.

    Blocks: until it was written thirty times, or once and then not again for a moment.
    """
    status = CarelessStatus(stage.client, count=count)
    own = controller.update_foo_status
    controller.update_foo_status = status  # type: ignore[method-assign] # on purpose: the bug
    try:
        began = time.monotonic()
        touch(stage)
        until(lambda: status.writes >= (ENOUGH_WRITES if count else 1), "the writes")
        seconds = time.monotonic() - began
        if not count:
            time.sleep(_LINGER_SECONDS)
        return Loop(status.writes, seconds)
    finally:
        controller.update_foo_status = own  # type: ignore[method-assign]


def without_comparison(screen: Screen, stage: Stage, controller: FooController) -> Loops:
    """Tell what happens if a sync writes its status without a look at the one that is there."""
    screen.break_it("leave the comparison out. Each sync writes the status, which is the same each time.")
    same = careless(stage, controller, count=False)
    screen.show(status_writes=same.writes)
    screen.tell("No loop: the server saw that nothing was new, kept the version, and sent no event.")
    screen.break_it("each sync writes a status that is new, such as a counter, or the time.")
    other = careless(stage, controller, count=True)
    screen.show(status_writes=other.writes, per_second=round(other.writes / other.seconds))
    screen.tell("Now each write wakes the next sync. One Foo keeps a worker and the server busy for ever.")
    return Loops(same, other)


def available(stage: Stage) -> int | None:
    """The available replicas in the Foo's status; None without a status."""
    replicas: int | None = stage.send("GET", FOO).get("status", {}).get("availableReplicas")
    return replicas


def touch(stage: Stage) -> None:
    """Change an annotation of the Foo, and nothing that matters to its controller."""
    stage.send("PATCH", FOO, {"metadata": {"annotations": {"touched": str(time.monotonic())}}})


def started(stage: Stage, runnable: FooRunnable) -> FooController:
    """The controller of a runnable that runs. Blocks: until it has nothing left to do for the first Foo."""
    stage.apply()
    until(lambda: available(stage) == 1, "the status")
    assert runnable.controller is not None
    settle(stage, runnable.controller)
    return runnable.controller


def settle(stage: Stage, controller: FooController) -> None:
    """Block until the Foo has a status, and no sync has come for a moment."""
    until(lambda: available(stage) is not None, "the status")
    seen = -1
    while seen != (seen := controller.outcomes.statistics().synced):
        time.sleep(_LINGER_SECONDS)


def scale(stage: Stage, replicas: int) -> None:
    """Scale the Foo. Blocks: until its status shows so many available replicas."""
    stage.send("PATCH", FOO, {"spec": {"replicas": replicas}})
    until(lambda: available(stage) == replicas, f"{replicas} replicas")


def event_count(stage: Stage, *, at_least: int) -> int:
    """The count of the Foo's Event `Synced`. Blocks: until it has reached a number."""

    def counts() -> list[int]:
        return [event["count"] for event in stage.send("GET", EVENTS)["items"] if event["reason"] == "Synced"]

    until(lambda: sum(counts()) >= at_least, "the Events")
    (count,) = counts()
    return count


def versions(stage: Stage) -> list[tuple[int, int, int]]:
    """
    Create a MyApp, and scale it when its controller has seen it.

    Returns: resource version, generation and observed generation (0 = none) of each state, from a watch.
    Blocks: until the controller has seen the second generation.
    """
    rows: list[tuple[int, int, int]] = []
    created = stage.send("POST", MYAPPS, MYAPP)
    before = str(int(created["metadata"]["resourceVersion"]) - 1)
    with stage.watch(MYAPPS, before) as events:
        for event in events:
            metadata, status = event["object"]["metadata"], event["object"].get("status", {})
            rows.append(
                (
                    int(metadata["resourceVersion"]),
                    metadata["generation"],
                    status.get("observedGeneration", 0),
                )
            )
            if rows[-1][1:] == (1, 1) and rows[-2][1:] != (1, 1):
                stage.send("PATCH", f"{MYAPPS}/example-app", {"spec": {"replicas": 2}})
            if rows[-1][1:] == (2, 2):
                break
    return rows
