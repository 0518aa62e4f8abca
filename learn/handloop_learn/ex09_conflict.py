"""The exercise of chapter 9: change a Foo while others write to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from handloop.client.errors import Conflict, Invalid, NotFound
from handloop.controller.foo.types import Foo
from handloop_learn.exercise import Exercise, Load, WrongError, expect
from handloop_learn.stage import FOOS, Stage

START: Final = '''\
"""Chapter 9: add replicas to a Foo, while others write it."""

from handloop import Conflict, evolve  # evolve(foo, "spec.replicas", 3) is a changed copy


def add_replicas(foos, foo, number):
    """
    foos    foos.get("foo", namespace="default") reads the Foo from the server;
            foos.update(foo) writes it if its version is still current, and otherwise raises Conflict
    foo     the cached Foo, perhaps an old one; if it is current, no read is needed
    number  how many replicas to add

    Returns: the updated Foo. Raises: Conflict after five refused updates in a row; any other error at once.
    """
    return foos.update(evolve(foo, "spec.replicas", foo.spec.replicas + number))
'''

TRIES: Final = 5
_MOST_CALLS: Final = 20
_AGAIN: Final = "Catch Conflict, read the Foo from the server, and start again with that one."
_WHOLE: Final = "Compute the change again from the Foo that you have just read, because it may have changed."
_BOUND: Final = (
    "Count the updates. If the fifth is refused, raise the Conflict, so that the worker retries later."
)
_OTHERS: Final = "Catch only Conflict. A retry cannot fix other errors."


class _EndlessError(BaseException):
    """Raised if the reader's code does not return. `except Exception` does not catch it."""


class _Foos:
    """
    A server's Foos, for the reader's function.

    State: get_count and update_count count the calls; before is called before each update.
    """

    def __init__(self, stage: Stage) -> None:
        self.get_count = self.update_count = 0
        self.before: Callable[[], object] = lambda: None
        self._foos = stage.client.resource(Foo)

    def get(self, name: str, *, namespace: str = "default") -> Foo:
        self.get_count += 1
        self._bounded()
        return self._foos.get(name, namespace=namespace)

    def update(self, foo: Foo) -> Foo:
        self.update_count += 1
        self._bounded()
        self.before()
        return self._foos.update(foo)

    def _bounded(self) -> None:
        if self.get_count + self.update_count > _MOST_CALLS:
            raise _EndlessError


class _World:
    """A server with one Foo, the reader's function, and other writers."""

    def __init__(self, stage: Stage, reader: Any) -> None:
        self.foos = _Foos(stage)
        self._stage = stage
        self._reader = reader
        self._touches = 0
        stage.apply("foo", replicas=1)

    def add(self, foo: Foo, number: int) -> Any:
        self.foos.get_count = self.foos.update_count = 0
        try:
            return self._reader.add_replicas(self.foos, foo, number)
        except Invalid as error:
            hint = "The version shows which state you read. Do not remove it: read again."
            raise WrongError(f"the server refused your update: {error.status.message}", hint) from error

    def cached(self) -> Foo:
        return self._stage.client.resource(Foo).get("foo", namespace="default")

    def replicas(self) -> int:
        replicas: int = self._stage.send("GET", f"{FOOS}/foo")["spec"]["replicas"]
        return replicas

    def other_adds(self, number: int) -> None:
        body = {"spec": {"replicas": self.replicas() + number}}
        self._stage.send("PATCH", f"{FOOS}/foo", body)

    def other_touches(self) -> None:
        self._touches += 1
        body = {"metadata": {"annotations": {"touched": str(self._touches)}}}
        self._stage.send("PATCH", f"{FOOS}/foo", body)

    def delete(self) -> None:
        self._stage.send("DELETE", f"{FOOS}/foo")


def check(load: Load) -> Iterator[str]:
    """See Check."""
    with Stage(lifelike=False) as stage:
        world = _World(stage, load())
        written = world.add(world.cached(), 1)
        expect(
            world.replicas() == 2,
            f"the Foo had 1 replica, you added 1, and now it has {world.replicas()}",
            "foos.update(evolve(...)).",
        )
        expect(isinstance(written, Foo), f"you returned {written!r}", "Return what update returned.")
        expect(
            not world.foos.get_count,
            "the cached Foo was current, but you read it again",
            "Use the cached one.",
        )
        yield "an up-to-date Foo is updated at once, without another read"
        yield from _beside_another(world)
        yield from _never(world)
        yield from _gone(world)


def _beside_another(world: _World) -> Iterator[str]:
    old = world.cached()
    world.other_adds(3)
    try:
        world.add(old, 1)
    except Conflict as error:
        raise WrongError("another writer wrote first, and your function raised Conflict", _AGAIN) from error
    except _EndlessError as error:
        raise WrongError("you sent the same old Foo again and again", _AGAIN) from error
    found = world.replicas()
    expect(
        found == 6,
        f"the Foo had 2 replicas, another writer added 3 and you added 1: that is 6, not {found}",
        _WHOLE,
    )
    yield "another writer's change is kept, and yours is added to it"


def _never(world: _World) -> Iterator[str]:
    world.foos.before = world.other_touches
    try:
        world.add(world.cached(), 1)
    except Conflict:
        updates = world.foos.update_count
        expect(
            updates == TRIES,
            f"each update was refused, and you stopped after {updates}",
            f"Send {TRIES} updates.",
        )
    except _EndlessError as error:
        raise WrongError("each update was refused, and you never stopped", _BOUND) from error
    else:
        raise WrongError("each update was refused, but you did not raise", _BOUND)
    yield "after five conflicts in a row, the worker gets the error"


def _gone(world: _World) -> Iterator[str]:
    world.foos.before = lambda: None
    old = world.cached()
    world.delete()
    try:
        world.add(old, 1)
    except NotFound:
        calls = world.foos.get_count + world.foos.update_count
        expect(calls == 1, f"the Foo is gone, and you sent {calls} requests", _OTHERS)
        yield "a deleted Foo is an error that no retry can fix"
    except _EndlessError as error:
        raise WrongError("the Foo is gone, and you never stopped sending requests", _OTHERS) from error
    except Conflict as error:
        raise WrongError("the Foo is gone, and you raised a Conflict", _OTHERS) from error
    else:
        raise WrongError("the Foo is gone, but you did not raise", _OTHERS)


EXERCISE: Final = Exercise(
    "write add_replicas(), which changes a Foo without losing another writer's change.", START, check
)
