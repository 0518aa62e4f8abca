"""What an operator remembers outside of its set-up."""

from __future__ import annotations

import itertools
import threading
from collections import Counter, deque
from collections.abc import Callable
from functools import lru_cache
from queue import Queue
from typing import Any, ClassVar

import pytest

from handloop import Context, FrozenMap, Manager, controller_for
from handloop.kinds.core_v1 import ConfigMap
from handloop_explore import Workload, applied, invariant, settled
from handloop_explore.memory import Memory
from handloop_explore.oracles import verdicts
from handloop_explore.plan import Plan
from handloop_explore.play import play
from handloop_explore.virtual_threads import VirtualThreads
from support.builders.greetings import HELLO, Greeting

MADE: set[str] = set()
COUNT = 0
NUMBERS = itertools.count(1)
CLOUD: dict[str, str] = {}
SEEN: FrozenMap = FrozenMap({"a": "1"})
LOCK = threading.Lock()
SLOTS = threading.Semaphore(1)
WORK: Queue[int] = Queue()


class Store:
    names: ClassVar[Counter[str]] = Counter()

    def __init__(self) -> None:
        self.last: deque[str] = deque()


STORE = Store()


def in_a_set() -> int:
    MADE.add(f"{len(MADE)}")
    return len(MADE)


def by_a_name() -> int:
    global COUNT  # noqa: PLW0603 - what an author may do
    COUNT += 1
    return COUNT


def by_a_counter() -> int:
    return next(NUMBERS)


def in_an_object() -> int:
    STORE.last.append("a")
    return len(STORE.last)


def in_a_class() -> int:
    Store.names["a"] += 1
    return Store.names["a"]


def in_a_default(seen: list[int] = []) -> int:  # noqa: B006 - a usual mistake
    seen.append(1)
    return len(seen)


@lru_cache
def cached(_: int) -> list[int]:
    return []


def in_a_cache() -> int:
    cached(1).append(1)
    return len(cached(1))


def in_a_closure() -> Callable[[], int]:
    seen: dict[int, int] = {}

    def count() -> int:
        seen[len(seen)] = 1
        return len(seen)

    return count


COUNTS: dict[str, Callable[[], int]] = {
    "set": in_a_set,
    "name": by_a_name,
    "counter": by_a_counter,
    "object": in_an_object,
    "class": in_a_class,
    "default": in_a_default,
    "cache": in_a_cache,
    "closure": in_a_closure(),
}


@pytest.mark.parametrize("where", COUNTS)
def test_it_is_as_it_was(where: str) -> None:
    """As often as that is asked for; what others refer to stays, unless that is asked for, too."""
    count = COUNTS[where]
    memory, shared = Memory(count), Memory(count, [count])
    assert [count(), count()] == [1, 2]
    shared.restore()
    assert count() == 3
    shared.restore(lasting=True)
    for _ in range(2):
        assert [count(), count()] == [1, 2]
        memory.restore()


def test_what_code_does_not_mention_is_let_alone() -> None:
    """Neither is what cannot change."""
    memory = Memory(lambda: (by_a_counter, SEEN))
    assert in_a_set() == 1
    memory.restore()
    assert (in_a_set(), dict(SEEN)) == (2, {"a": "1"})
    MADE.clear()


def test_locks_are_virtual_within_a_run() -> None:
    """Those within semaphores and queues, too, and real ones after it."""

    def code() -> Any:
        return LOCK, SLOTS, WORK

    memory = Memory(code)
    with VirtualThreads() as threads:
        memory.restore(threads.virtual())
        assert type(LOCK).__name__ == "VirtualLock"
        threading.Thread(target=LOCK.acquire).start()
        threading.Thread(target=SLOTS.acquire).start()
        threads.run_for(1)
        assert (LOCK.acquire(timeout=5), SLOTS.acquire(timeout=5)) == (False, False)
        assert threads.now > 10
        memory.restore(threads.virtual())
        assert (LOCK.acquire(timeout=5), SLOTS.acquire(timeout=5)) == (True, True)
        threading.Timer(3, WORK.put, [1]).start()
        assert WORK.get() == 1
        memory.restore()
    assert type(LOCK).__name__ != "VirtualLock"
    assert (LOCK.acquire(), SLOTS.acquire()) == (True, True)
    LOCK.release()
    SLOTS.release()


def once(greeting: Greeting, context: Context) -> None:
    """Makes a ConfigMap unless its process has."""
    if greeting.metadata.uid not in MADE:
        CLOUD[greeting.metadata.uid] = str(len(MADE))
        context.apply(ConfigMap.named(greeting), owner=greeting)
        MADE.add(greeting.metadata.uid)


def set_up(manager: Manager) -> None:
    builder = controller_for(manager, "greeter").for_(Greeting).owns(ConfigMap)
    builder.writes(ConfigMap, "create", "patch").complete(once)


WORKLOAD = Workload(set_up, [applied(HELLO), settled()], settle_seconds=180)


def test_it_ends_with_a_process_and_with_a_run() -> None:
    """The next process makes again what it does not know of, and the next run begins with nothing."""
    CLOUD.clear()
    good = play(WORKLOAD, Plan())
    assert "ConfigMap default/hello" in good.states[0].objects
    assert verdicts(good, play(WORKLOAD, Plan.parse("1:crash-before"))) == []
    assert verdicts(good, play(WORKLOAD, Plan())) == []
    assert not MADE
    assert not CLOUD


def test_what_plays_a_system_outside_outlives_a_process() -> None:
    """If it is said to, or if an invariant looks at it."""
    clouds = []

    def look_at_it(_: object) -> bool:
        clouds.append(dict(CLOUD))
        return True

    look = invariant(look_at_it)
    plan = Plan.parse("1:crash-before")
    for workload, invariants in (
        (WORKLOAD, [look]),
        (Workload(set_up, WORKLOAD.steps, outside=[CLOUD], settle_seconds=180), []),
    ):
        CLOUD.clear()
        play(workload, plan, invariants)
        assert len(CLOUD) == 1
    assert [len(cloud) for cloud in clouds] == [1]


def test_what_plays_the_operator_is_not_followed() -> None:
    """Neither handloop nor exploration: only the operator's own code is looked through."""

    def set_up() -> tuple[object, ...]:
        return play, applied, controller_for

    assert Memory(set_up).codes == {set_up.__code__}
