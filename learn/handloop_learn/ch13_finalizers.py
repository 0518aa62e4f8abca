"""Chapter 13: a finalizer keeps a deleted object until its controller has cleaned up outside the cluster."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final, NamedTuple

from handloop.client.errors import Invalid
from handloop.client.resource_client import ResourceClient
from handloop.controller.foo.types import Foo
from handloop.controller.runtime.children.finalizers import add_finalizer, is_being_deleted, remove_finalizer
from handloop_learn.prediction import NO
from handloop_learn.screen import Screen
from handloop_learn.source import whole
from handloop_learn.stage import FOOS, Stage

FINALIZER: Final = "example.org/bucket"
PATH: Final = f"{FOOS}/example-foo"
RECAP: Final = (
    (
        "Add the finalizer before you create an external object. Delete that object before you remove the "
        "finalizer."
    ),
    "The process can crash after any step, so each step must also succeed if it is repeated.",
    "An object with a finalizer is never deleted if its controller is gone.",
)


class CrashError(Exception):
    """A simulated crash of the process."""


class Cloud:
    """
    A simulated cloud, outside the cluster.

    State: buckets contains the uids of the Foos that have a bucket; asked counts the calls by name;
    crash_after names the call after which the process crashes, or is empty.
    """

    def __init__(self) -> None:
        self.buckets: set[str] = set()
        self.asked: Counter[str] = Counter()
        self.crash_after = ""

    def create(self, uid: str) -> None:
        """Create a bucket, unless it exists."""
        self.buckets.add(uid)
        self._called("create")

    def delete(self, uid: str) -> None:
        """Delete a bucket, if it exists."""
        self.buckets.discard(uid)
        self._called("delete")

    def _called(self, name: str) -> None:
        self.asked[name] += 1
        if self.crash_after == name:
            self.crash_after = ""
            raise CrashError(f"after the {name}")


def sync(foo: Foo, foos: ResourceClient[Foo], cloud: Cloud) -> None:
    """Create a Foo's bucket, or delete it with the Foo."""
    if is_being_deleted(foo):
        cloud.delete(foo.metadata.uid)
        remove_finalizer(foos, foo, FINALIZER)
        return
    add_finalizer(foos, foo, FINALIZER)
    cloud.create(foo.metadata.uid)


class State(NamedTuple):
    """Whether the Foo exists; whether it is being deleted; its finalizers; the number of buckets."""

    exists: bool
    deleted: bool
    finalizers: tuple[str, ...]
    buckets: int


class End(NamedTuple):
    """
    The chapter's results.

    states = the state after each step; asked = the number of calls to the cloud, by name; refusal = the
    server's error for a late finalizer; alone = the state after the controller was uninstalled.
    """

    states: list[State]
    asked: dict[str, int]
    refusal: str
    alone: State


def chapter(screen: Screen) -> End:
    """Run the chapter."""
    with Stage(lifelike=False) as stage:
        world = _World(screen, stage)
        screen.tell(
            "Owner references handle cleanup inside the cluster. For anything outside, such as a cloud "
            "bucket, a controller adds a finalizer to its object. This sync manages a bucket for each Foo:"
        )
        screen.code(whole(sync))
        stage.apply()
        screen.tell("A Foo is created:")
        states = [world.sync("the first sync")]
        screen.ask("kubectl deletes the Foo. Is the Foo gone then?")
        stage.send("DELETE", PATH)
        states.append(world.show("after the DELETE"))
        screen.reveal(
            "No. The server has only set its deletionTimestamp, and reports that as a change. The object "
            "stays until its last finalizer is removed. Until then, no new finalizer can be added:",
            NO,
        )
        screen.line(refusal := world.late_finalizer())
        states += _crash(screen, world)
        stage.apply()
        alone = _alone(screen, stage, world)
    return End(states, dict(world.cloud.asked), refusal, alone)


class _World:
    """A server with one Foo, and a cloud. Threads: only the chapter's thread uses it."""

    def __init__(self, screen: Screen, stage: Stage) -> None:
        self.cloud = Cloud()
        self._screen = screen
        self._stage = stage
        self._foos = stage.client.resource(Foo)

    def sync(self, what: str) -> State:
        """Read the Foo from the server, sync it once, and show what exists afterwards."""
        try:
            sync(self._foos.get("example-foo", namespace="default"), self._foos, self.cloud)
        except CrashError as crash:
            what += f", which crashes {crash}"
        return self.show(what)

    def show(self, when: str) -> State:
        """Show which objects exist now."""
        foo: dict[str, Any] = self._stage.send("GET", PATH)
        metadata = foo.get("metadata", {})
        exists, kept = foo["kind"] == "Foo", tuple(metadata.get("finalizers", ()))
        state = State(exists, "deletionTimestamp" in metadata, kept, len(self.cloud.buckets))
        foo_is = "is gone" if not exists else "is being deleted" if state.deleted else "exists"
        finalizers = ", ".join(state.finalizers) or "none"
        self._screen.line(f"{when}: the Foo {foo_is}; finalizers: {finalizers}; buckets: {state.buckets}")
        return state

    def late_finalizer(self) -> str:
        """Add a finalizer while the Foo is being deleted. Returns: the server's error."""
        body = {"metadata": {"finalizers": [FINALIZER, "example.org/late"]}}
        try:
            self._foos.patch("example-foo", body, namespace="default")
        except Invalid as error:
            return str(error)
        return "accepted"


def _crash(screen: Screen, world: _World) -> list[State]:
    screen.break_it(
        "the controller deletes the bucket, and crashes before it removes the finalizer. A new process "
        "starts.",
        "How many times is cloud.delete() called in total?",
    )
    world.cloud.crash_after = "delete"
    states = [world.sync("a sync"), world.sync("the sync of the next process")]
    deletions = world.cloud.asked["delete"]
    screen.reveal(
        f"{deletions}, because the second process cannot know what the first one did. So deleting a bucket "
        "that is already gone must succeed. In the opposite order, a crash would leave a bucket that no "
        "process remembers.",
        deletions,
    )
    return states


def _alone(screen: Screen, stage: Stage, world: _World) -> State:
    screen.break_it(
        "the Foo is created again and synced. Then the controller is uninstalled, and the Foo is deleted "
        "twice.",
        "Is the Foo gone in the end?",
    )
    world.sync("the last sync")
    for _ in range(2):
        stage.send("DELETE", PATH)
    alone = world.show("now")
    screen.reveal(
        "No, and its namespace cannot be deleted, either. Delete the objects first, and then the "
        "controller. Otherwise you have to remove the finalizers with `kubectl patch`, and the bucket stays "
        "in the cloud.",
        NO,
    )
    return alone
