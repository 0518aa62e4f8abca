"""The exercise of chapter 2: keep a store up to date with the server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from handloop.client.errors import Gone
from handloop.client.errors.status import Status
from handloop_learn.exercise import Exercise, Load, WrongError, expect

START: Final = '''\
"""Chapter 2: list, watch, and list again only when the log is lost."""

from handloop.client.errors import Gone


def reflect(server, store, stopped, wait):
    """
    server   list() returns (things, version).
             watch(version) yields (type, thing, version) for each event after a version. type is ADDED,
             MODIFIED, DELETED, or BOOKMARK, whose thing is None. watch ends when the connection breaks, and
             raises Gone (a 410) if the log no longer reaches back to that version.
    store    store.replace(things), store.put(thing), store.remove(thing)
    stopped  stopped() is True when you should return
    wait     call wait(seconds) before you reopen a broken watch, so that a failing server can recover
    """
    things, version = server.list()
    store.replace(things)
    for kind, thing, version in server.watch(version):
        store.put(thing)
'''

_FROM: Final = "Watch from the last version that you saw, in the list or in an event."
_STORE: Final = "DELETED removes a thing from the store; ADDED and MODIFIED put it into the store."
_CUT: Final = (
    "A watch that ends without Gone has lost nothing, so watch again, from the last version that you saw."
)
_BOOKMARK: Final = (
    "A BOOKMARK contains no thing. You have seen all changes up to its version, so keep that version."
)
_GONE: Final = "After Gone, only a list helps: store.replace(things) also removes what was deleted."
_PAUSE: Final = (
    "Call wait(1) before the next watch. Otherwise you send endless requests to a server that is down."
)
_STOP: Final = "Check stopped() before each list and each watch."
_MOST_CALLS: Final = 30


class _Thing(NamedTuple):
    name: str
    value: int


class _Event(NamedTuple):
    type: str
    thing: _Thing | None
    version: int


class _Scene(NamedTuple):
    """
    What happens during one watch.

    live = the events that the watch delivers; missed = the events after its connection breaks; oldest = the
    first version from which the next watch can start.
    """

    live: tuple[_Event, ...] = ()
    missed: tuple[_Event, ...] = ()
    oldest: int = 0


class _Watch(NamedTuple):
    """
    A call to watch: its version, the store's things at that time, the number of lists so far, and whether the
    reader has waited since the previous watch.
    """

    version: int
    stored: dict[str, int]
    lists: int
    waited: bool


class _EndlessError(BaseException):
    """Raised if the reader's code does not return. `except Exception` does not catch it."""


class _Store:
    """A store for the reader's function. State: things maps each name to its value."""

    def __init__(self) -> None:
        self.things: dict[str, int] = {}

    def replace(self, things: Iterable[_Thing]) -> None:
        self.things = dict(things)

    def put(self, thing: _Thing | None) -> None:
        if thing is None:
            raise WrongError("you put None into the store", _BOOKMARK)
        self.things[thing.name] = thing.value

    def remove(self, thing: _Thing) -> None:
        self.things.pop(thing.name, None)


class _Server:
    """
    A server that plays one scene for each watch. It has no threads: each of the reader's calls advances it.

    State: log contains all events so far; oldest is the first version from which a watch can start;
    list_count and watch_calls record the calls to list and watch; _waited is whether the reader has waited
    since the last watch; _calls counts all calls.
    """

    def __init__(self, store: _Store) -> None:
        self.log = [_Event("DELETED", _Thing("b", 1), 11)]  # happens between the list and the watch
        self.oldest = 0
        self.list_count = 0
        self.watch_calls: list[_Watch] = []
        self._scenes = [
            _Scene(
                (_Event("ADDED", _Thing("c", 1), 12), _Event("MODIFIED", _Thing("a", 2), 13)),
                (_Event("DELETED", _Thing("c", 1), 14),),
            ),
            _Scene((_Event("BOOKMARK", None, 15),), oldest=15),
            _Scene(
                (), (_Event("DELETED", _Thing("a", 2), 16), _Event("ADDED", _Thing("d", 1), 17)), oldest=17
            ),
            _Scene((_Event("ADDED", _Thing("e", 1), 18),)),
        ]
        self._store = store
        self._waited = False
        self._calls = 0

    def list(self) -> tuple[list[_Thing], int]:
        self._called()
        self.list_count += 1
        if self.list_count == 1:
            return [_Thing("a", 1), _Thing("b", 1)], 10
        things = {"a": 1, "b": 1}
        for kind, thing, _ in self.log:
            if thing is not None:
                things[thing.name] = thing.value
                if kind == "DELETED":
                    del things[thing.name]
        return [_Thing(*each) for each in things.items()], self.log[-1].version

    def watch(self, version: int) -> Iterator[_Event]:
        self._called()
        watch = _Watch(version, dict(self._store.things), self.list_count, self._waited)
        self.watch_calls.append(watch)
        self._waited = False
        if version < self.oldest:
            raise Gone(Status(code=410, reason="Expired", message=f"too old resource version: {version}"))
        return self._events(version)

    def _events(self, version: int) -> Iterator[_Event]:
        yield from [event for event in self.log if event.version > version]
        if self._scenes:
            scene = self._scenes.pop(0)
            self.log += scene.live + scene.missed
            self.oldest = scene.oldest
            yield from scene.live

    def stopped(self) -> bool:
        self._called()
        return not self._scenes

    def wait(self, seconds: float) -> None:
        self._called()
        self._waited = self._waited or seconds > 0

    def _called(self) -> None:
        self._calls += 1
        if self._calls > _MOST_CALLS:
            raise _EndlessError


def check(load: Load) -> Iterator[str]:
    """See Check."""
    store = _Store()
    server = _Server(store)
    reflect = load().reflect
    returned, lost = True, ""
    try:
        reflect(server, store, server.stopped, server.wait)
    except _EndlessError:
        returned = False
    except Gone as error:
        lost = f"the 410 ended your function: {error}"
    watches = server.watch_calls
    expect(watches, "you never called server.watch", "List, then watch.")
    yield from _first(watches[0])
    yield from _after_a_cut(watches, store.things)
    yield from _after_a_bookmark(watches, lost)
    expect(not lost, lost, _GONE)
    yield from _after_gone(watches, server.list_count)
    expect(returned, "stopped() was True, and you did not return", _STOP)
    expect(store.things == {"d": 1, "e": 1}, f"at the end, the store has {store.things}", _STORE)
    yield "your function returns once stopped() is True"


def _first(watch: _Watch) -> Iterator[str]:
    expect(
        watch.stored == {"a": 1, "b": 1},
        f"after the first list, the store has {watch.stored}",
        "store.replace(things)",
    )
    expect(watch.version == 10, f"the list had version 10, and you watched from {watch.version}", _FROM)
    yield "the list filled the store, and the watch continued from its version"


def _after_a_cut(watches: list[_Watch], stored: dict[str, int]) -> Iterator[str]:
    is_on = len(watches) > 1
    expect(not is_on or watches[1].lists == 1, "the connection broke, and you listed everything again", _CUT)
    stored, wanted = watches[1].stored if is_on else stored, {"a": 2, "c": 1}
    expect(stored == wanted, f"after the first watch, the store has {stored}, not {wanted}", _STORE)
    expect(is_on, "the connection broke, and you returned", _CUT)
    came = watches[1].version
    expect(came == 13, f"you had seen version 13, the connection broke, and you watched from {came}", _FROM)
    expect(watches[1].waited, "the connection broke, and you opened the next watch at once", _PAUSE)
    yield "after a broken connection, you waited and watched again, and lost nothing"


def _after_a_bookmark(watches: list[_Watch], lost: str) -> Iterator[str]:
    expect(watches[2:], "the second connection broke, and you returned", _CUT)
    came = watches[2].version
    expect(came == 15, f"a BOOKMARK had version 15, and you watched from {came}: {lost}", _BOOKMARK)
    yield "a bookmark advanced your version"


def _after_gone(watches: list[_Watch], lists: int) -> Iterator[str]:
    expect(lists > 1, "watch raised Gone, and you did not list again", _GONE)
    expect(watches[4:], "after the second list, you did not watch again", "Start again: list, then watch.")
    stored = watches[4].stored
    expect(stored == {"d": 1}, f"after the second list, the store has {stored}, but `a` was deleted", _GONE)
    expect(
        lists == 2,
        f"you listed {lists} times in all, but watch raised Gone only once",
        "List only after Gone.",
    )
    came = watches[4].version
    expect(came == 17, f"the second list had version 17, and you watched from {came}", _FROM)
    yield "after the 410 you listed once, which also removed the deleted thing"


EXERCISE: Final = Exercise(
    "write reflect(), which keeps a store up to date with as few requests as possible.", START, check
)
