"""The exercise of chapter 13: a sync that uses a finalizer and can crash anywhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

from handloop.controller.foo.types import Foo
from handloop_learn.exercise import Exercise, Load, WrongError, expect
from handloop_learn.stage import FOOS, Stage

START: Final = '''\
"""Chapter 13: a bucket for each Foo, and none for a deleted Foo."""

from handloop import add_finalizer, has_finalizer, is_being_deleted, remove_finalizer
from handloop_learn.ex13_finalizers import NoBucketError

FINALIZER = "example.org/bucket"


def sync(foo, foos, cloud):
    """
    foo    as the server has it; foo.metadata.uid names its bucket
    foos   needed by add_finalizer(foos, foo, FINALIZER) and remove_finalizer(foos, foo, FINALIZER)
    cloud  cloud.create(uid) accepts an existing bucket; cloud.delete(uid) raises NoBucketError without one

    The process can crash after any line. Another sync then begins at the top. Raise to retry later.
    """
    cloud.create(foo.metadata.uid)
'''

FINALIZER: Final = "example.org/bucket"
_FOREIGN: Final = "example.org/another"
_FIRST: Final = "Call add_finalizer before cloud.create, because a Foo can be deleted at any moment."
_LAST: Final = (
    "Call cloud.delete before remove_finalizer. When the finalizer is removed, the Foo and its uid are gone."
)
_TWICE: Final = (
    "The process crashed after cloud.delete. NoBucketError means that the bucket is already deleted, so "
    "continue."
)
_OURS: Final = "Clean up only if has_finalizer(foo, FINALIZER). Otherwise there is nothing to clean up."


class NoBucketError(Exception):
    """There is no such bucket."""


class _CrashError(BaseException):
    """A simulated crash of the process."""


class _Cloud:
    """
    A simulated cloud.

    State: buckets contains the buckets' uids. calls contains the names of the calls so far. fails is the name
    of the call that fails, or "". crash_after is the name of the call after which the process crashes, or "".
    """

    def __init__(self) -> None:
        self.buckets: set[str] = set()
        self.calls: list[str] = []
        self.fails = self.crash_after = ""

    def create(self, uid: str) -> None:
        self._begin("create")
        self.buckets.add(uid)
        self._end("create")

    def delete(self, uid: str) -> None:
        self._begin("delete")
        if uid not in self.buckets:
            raise NoBucketError(uid)
        self.buckets.remove(uid)
        self._end("delete")

    def _begin(self, name: str) -> None:
        self.calls.append(name)
        if self.fails == name:
            raise ConnectionError("the cloud does not answer")

    def _end(self, name: str) -> None:
        if self.crash_after == name:
            self.crash_after = ""
            raise _CrashError


class _World:
    """A server with one Foo, a cloud, and the reader's sync."""

    def __init__(self, stage: Stage, load: Load) -> None:
        self.cloud = _Cloud()
        self._stage = stage
        self._foos = stage.client.resource(Foo)
        self._load = load

    def sync(self) -> None:
        foo = self._foos.get("foo", namespace="default")
        with suppress(_CrashError):
            self._load().sync(foo, self._foos, self.cloud)

    def finalizers(self) -> list[str] | None:
        answer: dict[str, Any] = self._stage.send("GET", f"{FOOS}/foo")
        return answer["metadata"].get("finalizers", []) if answer["kind"] == "Foo" else None

    def begin(self, *finalizers: str) -> None:
        self.force_away()
        self.cloud = _Cloud()
        self._stage.apply("foo")
        self.set_finalizers(*finalizers)

    def set_finalizers(self, *finalizers: str) -> None:
        self._stage.send("PATCH", f"{FOOS}/foo", {"metadata": {"finalizers": list(finalizers)}})

    def delete(self) -> None:
        self._stage.send("DELETE", f"{FOOS}/foo")

    def force_away(self) -> None:
        self.delete()
        self.set_finalizers()


def check(load: Load) -> Iterator[str]:
    """See Check."""
    with Stage(lifelike=False) as stage:
        world = _World(stage, load)
        yield from _made(world)
        yield from _deleted(world)
        yield from _crashed(world)
        yield from _unanswered(world)
        yield from _of_another(world)


def _made(world: _World) -> Iterator[str]:
    world.begin()
    world.cloud.crash_after = "create"
    world.sync()
    expect(world.cloud.buckets, "there is a new Foo, but no bucket", "cloud.create(foo.metadata.uid)")
    happened = "the process crashed after cloud.create: there is a bucket, and the Foo has no finalizer"
    expect(world.finalizers() == [FINALIZER], happened, _FIRST)
    world.sync()
    expect(world.finalizers() == [FINALIZER], f"after another sync, the Foo has {world.finalizers()}", _FIRST)
    yield "the Foo has the finalizer before it has a bucket"


def _deleted(world: _World) -> Iterator[str]:
    world.delete()
    world.sync()
    expect(
        "delete" in world.cloud.calls,
        "the Foo is being deleted, and you did not delete its bucket",
        "is_being_deleted",
    )
    expect(
        not world.cloud.buckets,
        "the Foo is being deleted, but its bucket exists after the sync",
        "After the cleanup, return.",
    )
    expect(
        world.finalizers() is None, "the bucket is gone, but the finalizer is not", "remove_finalizer(...)"
    )
    yield "a deleted Foo's bucket is deleted, too"


def _crashed(world: _World) -> Iterator[str]:
    world.begin()
    world.sync()
    world.delete()
    world.cloud.crash_after = "delete"
    world.sync()
    expect(world.finalizers() is not None, "the finalizer was removed before the bucket", _LAST)
    try:
        world.sync()
    except NoBucketError as error:
        raise WrongError("after a crash, the next sync raised NoBucketError", _TWICE) from error
    expect(world.finalizers() is None, "after the crash, the Foo is never deleted", _TWICE)
    yield "a crash between the two steps does no harm"


def _unanswered(world: _World) -> Iterator[str]:
    world.begin()
    world.sync()
    world.delete()
    world.cloud.fails = "delete"
    try:
        world.sync()
    except ConnectionError:
        expect(
            world.finalizers() is not None,
            "the cloud did not answer, and the Foo is gone, so its bucket is lost",
            _LAST,
        )
    else:
        hint = "Catch only NoBucketError. Other errors must reach the worker, which retries later."
        raise WrongError("the cloud did not answer, but your sync did not raise", hint)
    yield "the Foo keeps its finalizer while the cloud does not answer"


def _of_another(world: _World) -> Iterator[str]:
    world.begin(_FOREIGN)
    world.sync()
    world.delete()
    world.sync()
    left = world.finalizers()
    expect(
        left == [_FOREIGN],
        f"the Foo had another controller's finalizer, and now it has {left}",
        "Remove only yours.",
    )
    before = len(world.cloud.calls)
    world.sync()
    expect(
        len(world.cloud.calls) == before,
        "only another controller's finalizer is left, and you called the cloud",
        _OURS,
    )
    yield "another controller's finalizer stays, and the cleanup does not run twice"


EXERCISE: Final = Exercise(
    "write sync(), which creates a bucket for a Foo and deletes it with the Foo.", START, check
)
