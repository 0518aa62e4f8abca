"""
Runs threads one at a time and lets a seed decide, at every lock operation, which one goes on.

The same seed gives the same order of steps, so a race that was found can be looked at again. Time moves only
when every thread waits: then to the earliest point that one of them waits for. When none waits for a time
either, the threads have deadlocked (or lost a wake-up), and `Scheduler.run` lists who waits for what.

Use: `set_lock_factory(scheduler.lock)` (the `_lock_ranks` fixture puts the old one back), make the objects
under test with `clock=scheduler.clock, spawn=scheduler.spawn`, then `scheduler.run(...)`.
"""

from __future__ import annotations

import math
import random
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Final

from handloop.seams.seams import Seams

_HARD_LIMIT_SECONDS: Final = 30.0


class DeadlockError(AssertionError):
    """Every thread waits for another one."""


class _Aborted(BaseException):
    """Ends the threads that are left when a run has failed."""


class Task:
    """
    One thread under the scheduler. It runs from one `pause` to the next, while everything else stands still.

    State: `can_run` shows whether its wait has ended; `wakes_at` is when that happens by itself.
    """

    def __init__(self, scheduler: Scheduler, name: str, target: Callable[[], object]) -> None:
        self.name = name
        self.can_run: Callable[[], bool] = lambda: True
        self.waits_for = ""
        self.wakes_at = math.inf
        self.ended = False
        self.error: BaseException | None = None
        self._scheduler = scheduler
        self._target = target
        self._turn = threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def step(self) -> None:
        """Main thread: let it run up to its next pause."""
        self._turn.release()
        if not self._scheduler.main_turn.acquire(timeout=_HARD_LIMIT_SECONDS):
            raise TimeoutError(f"{self.name} ran for more than 30 real seconds without a lock operation")

    def pause(self, waits_for: str, can_run: Callable[[], bool], wakes_at: float = math.inf) -> None:
        """Stop here until the scheduler picks this task, once can_run() or wakes_at is reached."""
        self.waits_for, self.can_run, self.wakes_at = waits_for, can_run, wakes_at
        self._scheduler.main_turn.release()
        self._await_turn()

    def join(self, timeout: float | None = None) -> None:
        """Wait for its end; handloop.seams.threads.Joinable."""
        me = self._scheduler.current()
        if me is None:
            self._thread.join(_HARD_LIMIT_SECONDS)
        else:
            me.pause(f"end of {self.name}", lambda: self.ended)

    def is_alive(self) -> bool:
        """Whether it still runs; handloop.seams.threads.Joinable."""
        return not self.ended

    def _await_turn(self) -> None:
        self._turn.acquire()
        if self._scheduler.aborted:
            raise _Aborted

    def _run(self) -> None:
        self._scheduler.register(self)
        try:
            self._await_turn()
            self._target()
        except _Aborted:
            pass
        except BaseException as err:
            self.error = err
        self.ended = True
        self._scheduler.main_turn.release()


class Scheduler:
    """Decides by seed who runs next. Methods without another note belong to the test's thread."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = random.Random(seed)
        self.clock = SteppedClock(self)
        self.seams = Seams(clock=self.clock, random=self.random.random, spawn=self.spawn)
        self.main_turn = threading.Semaphore(0)
        self.aborted = False
        self.now = 0.0
        self.after_step: Callable[[], None] = lambda: None
        self._tasks: list[Task] = []
        self._local = threading.local()

    def lock(self, name: str, rank: int) -> SteppedLock:
        """A handloop.seams.locks.LockFactory."""
        return SteppedLock(self, name)

    def spawn(self, name: str, target: Callable[[], object]) -> Task:
        """A handloop.seams.threads.Spawn; any thread."""
        task = Task(self, name, target)
        self._tasks.append(task)
        return task

    def current(self) -> Task | None:
        """The task of the calling thread; None for the test's own."""
        task: Task | None = self._local.__dict__.get("task")
        return task

    def register(self, task: Task) -> None:
        """Called by a new task's thread."""
        self._local.task = task

    def run(self, *targets: Callable[[], object]) -> None:
        """Run targets, and all threads that they spawn, to their end. Raises what one of them raised."""
        for number, target in enumerate(targets):
            self.spawn(f"task-{number}", target)
        try:
            while not all(task.ended for task in self._tasks):
                self._pick().step()
                self.after_step()
                for task in self._tasks:
                    if task.error is not None:
                        raise task.error
        finally:
            self._abort()

    def _pick(self) -> Task:
        alive = [task for task in self._tasks if not task.ended]
        ready = [task for task in alive if task.can_run() or task.wakes_at <= self.now]
        if not ready:
            self.now = min(task.wakes_at for task in alive)
            if self.now == math.inf:
                waits = ", ".join(f"{task.name} for {task.waits_for}" for task in alive)
                raise DeadlockError(f"seed {self.seed}: every task waits: {waits}")
            ready = [task for task in alive if task.wakes_at <= self.now]
        return self.random.choice(ready)

    def _abort(self) -> None:
        self.aborted = True
        for task in self._tasks:
            while not task.ended:
                task.step()


class SteppedLock:
    """Implements handloop.seams.locks.Lock; every operation is a point where another task may go on."""

    def __init__(self, scheduler: Scheduler, name: str) -> None:
        self.name = name
        self.scheduler = scheduler
        self.held = False

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        task = self.scheduler.current()
        if task is None or self.scheduler.aborted:
            self.held = True
            return True
        task.pause(self.name, lambda: True)
        while self.held:
            if not blocking:
                return False
            task.pause(self.name, lambda: not self.held)
        self.held = True
        return True

    def release(self) -> None:
        assert self.held, f"{self.name} released but not held"
        self.held = False
        task = self.scheduler.current()
        if task is not None and not self.scheduler.aborted:
            task.pause("nothing", lambda: True)

    def new_condition(self) -> SteppedCondition:
        """What handloop.seams.locks.condition_over asks for."""
        return SteppedCondition(self)

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


class SteppedCondition(threading.Condition):
    """A condition whose waiters the scheduler knows."""

    def __init__(self, lock: SteppedLock) -> None:
        super().__init__(lock)  # type: ignore[arg-type]
        self._stepped = lock
        self._asleep: list[Task] = []

    def wait(self, timeout: float | None = None) -> bool:
        """Wait once; a timeout is virtual seconds."""
        scheduler = self._stepped.scheduler
        return self.wait_until(math.inf if timeout is None else scheduler.now + timeout)

    def wait_until(self, at: float) -> bool:
        """Wait once, at most until virtual time is at; False when it is."""
        scheduler = self._stepped.scheduler
        task = scheduler.current()
        assert task is not None, "only tasks may wait"
        self._asleep.append(task)
        # one step: between the release and the sleep no other thread runs
        self._stepped.held = False
        task.pause(f"{self._stepped.name} to be notified", lambda: task not in self._asleep, at)
        if task in self._asleep:
            self._asleep.remove(task)
        self._stepped.acquire()
        return scheduler.now < at

    def notify(self, n: int = 1) -> None:
        """End the wait of the first n."""
        assert self._stepped.held, "notify without the lock"
        del self._asleep[:n]

    def notify_all(self) -> None:
        """End the wait of all."""
        self.notify(len(self._asleep))


class SteppedClock:
    """Implements handloop.seams.clock.Clock on the scheduler's time."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler

    def now(self) -> float:
        return self._scheduler.now

    def time(self) -> float:
        return 1_700_000_000.0 + self._scheduler.now

    def wait(self, condition: threading.Condition, timeout_seconds: float | None) -> bool:
        return condition.wait(timeout_seconds)

    def wait_until(self, condition: threading.Condition, at: float | None) -> bool:
        assert isinstance(condition, SteppedCondition)
        return condition.wait_until(math.inf if at is None else at)

    def sleep(self, seconds: float, stop: threading.Event) -> bool:
        task = self._scheduler.current()
        assert task is not None, "only tasks may sleep"
        task.pause("time to pass", stop.is_set, self._scheduler.now + seconds)
        return stop.is_set()
