"""Chapter 9: a controller's writes come back to it as events. That ends, as it writes only differences."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from handloop.apis.apps_v1 import Deployment
from handloop.apis.meta import FrozenMap, ObjectMeta
from handloop.client.errors import Conflict
from handloop.client.resource_client import Client, PatchType
from handloop.controller.foo.production import ProductionFooController
from handloop.controller.foo.runnable import FooRunnable, add_foo
from handloop.controller.foo.types import Foo, FooStatus
from handloop.controller.myapp.reconciler import add_myapp
from handloop.controller.myapp.types import MyApp
from handloop.kinds.core_v1 import Service, ServicePort, ServiceSpec
from handloop.walkthrough.prediction import NO, YES
from handloop.walkthrough.program import run_alone
from handloop.walkthrough.screen import Screen
from handloop.walkthrough.source import cut
from handloop.walkthrough.stage import FOOS, Stage
from handloop.walkthrough.waiting import until

NAME: Final = "shared"
MANAGER: Final = "our-controller"
PATH: Final = f"/api/v1/namespaces/default/services/{NAME}"
LABELS: Final = FrozenMap({"tier": "web"})
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

RECAP: Final = (
    "Say which version you read: then nobody's write is lost, and a 409 tells to read again.",
    "Or apply: only your own fields are sent, and the server knows whose they are.",
    "A controller wakes itself by its writes. It comes to rest because equal writes are none.",
)


class End(NamedTuple):
    """Versions of a MyApp; ways to write; syncs and writes by a touch; refusals; an Event's count; loops."""

    versions: list[tuple[int, int, int]]
    ways: list[tuple[str, str, str]]
    touched: tuple[int, int]
    refused: int
    event_count: int
    loops: Loops


def chapter(screen: Screen) -> End:
    """Tell the chapter."""
    with Stage() as stage:
        screen.tell("A MyApp is created, then scaled; its controller writes the status. A watch shows:")
        with stage.running(add_myapp):
            rows = versions(stage)
        screen.table(("resourceVersion", "generation", "status.observedGeneration"), rows)
        screen.tell(
            "Each write raises the version, only a new spec raises the generation. The status says which "
            "generation its writer had seen: if the numbers differ, it speaks of an older spec; -1 is none."
        )
        screen.ask("You read a Service, another writer changes it, you update it. What of that change?")
        ways = two_writers(stage)
        screen.table(("we add a label by", "answer", "the other's sessionAffinity"), ways)
        screen.reveal(
            "An update sends all that we know. With a version it is refused, without one it erases. An apply "
            "sends only our fields, and the server notes whose they are: so a MyApp's children are written."
        )
        runnables: list[FooRunnable] = []
        with stage.running(lambda manager: runnables.append(add_foo(manager, workers=1))):
            touched, refused, count = _foo(screen, stage, controller := started(stage, runnables[0]))
            return End(rows, ways, touched, refused, count, without_comparison(screen, stage, controller))


def _foo(
    screen: Screen, stage: Stage, controller: ProductionFooController
) -> tuple[tuple[int, int], int, int]:
    screen.ask("A Foo's controller writes its status. The write wakes it again. Why does that ever end?")
    before, writes = controller.outcomes.statistics(), stage.counts["PUT"]
    touch(stage)
    settle(stage, controller)
    touched = controller.outcomes.statistics().synced - before.synced, stage.counts["PUT"] - writes
    screen.show(syncs_after_an_event=touched[0], status_writes=touched[1])
    screen.reveal("A sync that finds no difference writes nothing. Without a write, no event comes:")
    screen.code(cut(ProductionFooController._sync_status, "status == foo.status", "return False"))
    screen.tell("Now the Foo is scaled to 2, then to 3; the server refuses one status write with 409.")
    stage.sandbox.faults.conflict(verbs=["update"], resources=["foos/status"], count=1)
    scale(stage, 2)
    scale(stage, 3)
    refused = controller.outcomes.statistics().failed - before.failed
    count = event_count(stage, at_least=2)
    screen.show(syncs_that_failed=refused, available=available(stage), Events=f"1, count {count}")
    screen.tell("409: that write was based on an old Foo; the retry read the new one. Equal Events are one.")
    return touched, refused, count


def two_writers(stage: Stage) -> list[tuple[str, str, str]]:
    """
    Label a Service in three ways; each time another writer has set its session affinity since we read it.

    Returns: the request, the answer, and the affinity afterwards.
    """
    services = stage.client.resource(Service)

    def update(read: Service) -> object:
        return services.update(replace(read, metadata=replace(read.metadata, labels=LABELS)))

    def blind_update(read: Service) -> object:
        return update(replace(read, metadata=replace(read.metadata, resource_version="")))

    def apply(_read: Service) -> object:
        wanted = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": NAME, "labels": dict(LABELS)}}
        return services.patch(
            NAME, wanted, namespace="default", patch_type=PatchType.APPLY, field_manager=MANAGER
        )

    return [
        ("update, with the version that was read", *_beside_another(stage, update)),
        ("update, without a version", *_beside_another(stage, blind_update)),
        ("apply of the label alone", *_beside_another(stage, apply)),
    ]


def _beside_another(stage: Stage, write: Callable[[Service], object]) -> tuple[str, str]:
    services = stage.client.resource(Service)
    metadata = ObjectMeta(name=NAME, namespace="default")
    read = services.create(Service(metadata=metadata, spec=ServiceSpec(ports=(ServicePort(port=80),))))
    stage.send("PATCH", PATH, {"spec": {"sessionAffinity": "ClientIP"}})
    try:
        write(read)
        answer = "accepted"
    except Conflict:
        answer = "409 Conflict"
    left: dict[str, Any] = stage.send("GET", PATH)
    services.delete(NAME, namespace="default")
    return answer, left["spec"]["sessionAffinity"]


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
    Takes the place of _sync_status: it writes always.

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


def careless(stage: Stage, controller: ProductionFooController, *, count: bool) -> Loop:
    """
    Let a controller write without comparing, and touch its Foo once.

    Blocks: until it was written thirty times, or once and then not again for a moment.
    """
    status = CarelessStatus(stage.client, count=count)
    own = controller._sync_status
    controller._sync_status = status  # type: ignore[method-assign] # on purpose: the bug
    try:
        began = time.monotonic()
        touch(stage)
        until(lambda: status.writes >= (ENOUGH_WRITES if count else 1), "the writes")
        seconds = time.monotonic() - began
        if not count:
            time.sleep(_LINGER_SECONDS)
        return Loop(status.writes, seconds)
    finally:
        controller._sync_status = own  # type: ignore[method-assign]


def without_comparison(screen: Screen, stage: Stage, controller: ProductionFooController) -> Loops:
    """Tell what happens if a sync writes its status without a look at the one that is there."""
    screen.break_it(
        "leave the comparison out. Each sync writes the status, which is the same each time.",
        "Does it ever end now?",
    )
    same = careless(stage, controller, count=False)
    screen.show(status_writes=same.writes)
    screen.reveal("Yes: the server saw that nothing was new, kept the version, and sent no event.", YES)
    screen.break_it("each sync writes a status that is new, such as a counter, or the time.", "Does it end?")
    other = careless(stage, controller, count=True)
    screen.show(status_writes=other.writes, per_second=round(other.writes / other.seconds))
    screen.reveal(
        "No: each write wakes the next sync. One Foo keeps a worker and the server busy for ever.", NO
    )
    return Loops(same, other)


def available(stage: Stage) -> int | None:
    """The available replicas in the Foo's status; None without a status."""
    replicas: int | None = stage.send("GET", FOO).get("status", {}).get("availableReplicas")
    return replicas


def touch(stage: Stage) -> None:
    """Change an annotation of the Foo, and nothing that matters to its controller."""
    stage.send("PATCH", FOO, {"metadata": {"annotations": {"touched": str(time.monotonic())}}})


def started(stage: Stage, runnable: FooRunnable) -> ProductionFooController:
    """The controller of a runnable that runs. Blocks: until it has nothing left to do for the first Foo."""
    stage.apply()
    until(lambda: available(stage) == 1, "the status")
    assert runnable.controller is not None
    settle(stage, runnable.controller)
    return runnable.controller


def settle(stage: Stage, controller: ProductionFooController) -> None:
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


if __name__ == "__main__":
    run_alone(__file__)
