"""
Virtual threads of which a seed decides, at every lock operation, which one goes on.

The same seed gives the same order of steps, so a race that was found can be looked at again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from random import Random
from typing import Self

import pytest
from greenlet import getcurrent

from handloop.seams.locks import set_lock_factory
from handloop_explore.virtual_locks import VirtualCondition, VirtualLock, Wait
from handloop_explore.virtual_threads import DeadlockError, VirtualClock, VirtualThreads


class Interleaving(VirtualThreads):
    """What is made within its `with` steps by its seed. after_step is called whenever a thread has paused."""

    def __init__(self, seed: int) -> None:
        super().__init__(Random(seed))
        self.seed = seed
        self.clock = VirtualClock(self)
        self.after_step: Callable[[], None] = lambda: None

    def __enter__(self) -> Self:
        super().__enter__()
        set_lock_factory(lambda _name, _rank: SteppedLock(self))
        return self

    def step(self) -> None:
        """Let others run, or this thread again."""
        if not self.current_thread().killed and (current := getcurrent()) in self._threads:
            self._ready.append(current)
            self._hub.switch()

    def run(self, *targets: Callable[[], object]) -> None:
        """Run targets, and all threads that they start, to their end. Raises: what one of them raises."""
        for number, target in enumerate(targets):
            self.spawn(f"task-{number}", partial(_called, target))
        while alive := self.threads():
            if not self._step(math.inf):
                names = ", ".join(thread.name for thread in alive)
                raise DeadlockError(f"seed {self.seed}: each waits for another one: {names}")
            self.after_step()


def _called(target: Callable[[], object]) -> None:
    target()


@pytest.fixture
def interleaving(request: pytest.FixtureRequest) -> Iterator[Interleaving]:
    """One of the seed that the test is parametrized with, indirectly."""
    with Interleaving(request.param) as made:
        yield made


class SteppedLock(VirtualLock):
    """A lock whose every operation is a point where another thread may go on."""

    def __init__(self, threads: Interleaving) -> None:
        super().__init__(threads)
        self.threads = threads

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        self.threads.step()
        return super().acquire(blocking, timeout)

    def release(self) -> None:
        assert self.locked(), "released but not held"
        super().release()
        self.threads.step()

    def new_condition(self) -> SteppedCondition:
        return SteppedCondition(self.threads, self)


class SteppedCondition(VirtualCondition):
    """A condition over it: between the release and the sleep of a wait no other thread runs."""

    def __init__(self, threads: Interleaving, lock: SteppedLock) -> None:
        super().__init__(threads, lock)
        self._stepped = lock

    @property
    def asleep(self) -> int:
        """How many wait to be notified."""
        return sum(not waits.over for waits in self._waiting)

    def wait(self, timeout: float | None = None) -> bool:
        waits = Wait()
        self._waiting.append(waits)
        VirtualLock.release(self._stepped)
        try:
            return self._threads.wait(waits, timeout)
        finally:
            self._stepped.acquire()

    def notify(self, n: int = 1) -> None:
        assert self._stepped.locked(), "notify without the lock"
        super().notify(n)
