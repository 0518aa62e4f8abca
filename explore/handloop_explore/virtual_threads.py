"""
Threads that run one at a time in virtual time, so that runs are repeatable and waits take no real time.

    with VirtualThreads(order) as threads:
        Thread(target=...).start()       # threading's names mean virtual ones here
        threads.run_for(60)              # returns when sixty virtual seconds have passed

Each thread is a greenlet. It runs until it waits for a lock, a condition, an event, a thread, or time. Then
another thread runs. If all threads wait, virtual time advances to the end of the first wait. A run therefore
does not depend on the machine's speed.
"""

from __future__ import annotations

import _thread
import asyncio
import heapq
import itertools
import logging
import math
import queue
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from random import Random
from typing import Any, Final, Self, TypeVar

from greenlet import GreenletExit, getcurrent, greenlet

from handloop.seams import locks
from handloop.seams.clock import RealClock
from handloop.seams.logs import get_logger
from handloop.seams.seams import Seams
from handloop.seams.threads import Joinable
from handloop_explore.virtual_locks import (
    VirtualCondition,
    VirtualEvent,
    VirtualLock,
    VirtualRLock,
    Wait,
)
from handloop_explore.virtual_names import VirtualNames

T = TypeVar("T")

EPOCH: Final = 1_700_000_000.0
"""The Unix time at which virtual time begins."""

_READING_SECONDS: Final = 1e-6
_STEPS: Final = 0.05
_STEP_SECONDS: Final = 2.0
"""The share of lock acquisitions that are delayed if `steps` is set, and the longest delay."""
_READINGS: Final = 1000
_SPINNING_SECONDS: Final = 1e-3
"""After `_READINGS` readings of the clock without a wait, each further reading takes this long."""
_REAL_CONDITION: Final = threading.Condition
_REAL: Final[Mapping[Any, Callable[..., Any]]] = {
    type(threading.Lock()): VirtualLock,
    type(threading.RLock()): VirtualRLock,
    _REAL_CONDITION: VirtualCondition,
    queue.SimpleQueue: lambda _: queue.SimpleQueue(),  # in the world, the name means the version in Python
}

log = get_logger("explore")


class DeadlockError(Exception):
    """The main thread waits, and no other thread can wake it."""


class BlockedError(Exception):
    """The main thread would have to wait in the context of VirtualThreads.looking()."""


class VirtualThreads:
    """
    A world with virtual threads. Inside its `with` block, threading's names create virtual threads and locks,
    and time and randomness are the world's own; see virtual_names.py.

    Fields: now, the virtual seconds since the beginning; epoch, the Unix time at the beginning; switches, how
    often a thread was given its turn; order, a generator that chooses the next of the runnable threads, or
    None for first come, first served; steps, a generator that chooses lock acquisitions at which a
    reconciling thread is delayed, or None for no delays.
    Threads: applies to the real thread that created it. Other real threads still create real locks and
    threads.
    """

    def __init__(self, order: Random | None = None, *, seed: int = 1, epoch: float = EPOCH) -> None:
        """Args: order, epoch: see the fields; seed: the seed of all randomness in the world."""
        self.now = 0.0
        self.epoch = epoch
        self.seed = seed
        self.switches = 0
        self.order = order
        self.steps: Random | None = None
        self._hub = getcurrent()
        self._real = threading.get_ident()
        self._ready: deque[greenlet] = deque()
        self._timers: list[tuple[float, int, Wait]] = []
        self._count = itertools.count(1)
        self._threads: dict[greenlet, VirtualThread] = {}
        self._calls: list[Callable[[], None]] = []
        self._paused: dict[object, float] = {}
        self._main = VirtualThread(self, name="MainThread")
        self._readings = 0
        self._names = self._new_names(seed)
        self._is_looking = False
        self._factory: locks.LockFactory | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def __enter__(self) -> Self:
        # Hide an asyncio loop that runs in this real thread, such as playwright's, from the world.
        self._loop = asyncio._get_running_loop()  # noqa: SLF001 - for authors of loops
        asyncio._set_running_loop(None)  # noqa: SLF001
        self._names.enter()
        self._factory = real = locks.set_lock_factory(
            lambda name, rank: VirtualLock(self) if self.is_here() else real(name, rank)
        )
        return self

    def __exit__(self, *_: object) -> None:
        self.kill(list(self._threads.values()))
        self._leave()
        # Otherwise, Python would wait at its exit for these pool threads, which were not real threads.
        pools: Any = sys.modules.get("concurrent.futures.thread")
        for thread in [*pools._threads_queues] if pools else ():  # noqa: SLF001
            if "virtual" in vars(thread):
                pools._threads_queues.pop(thread, None)  # noqa: SLF001

    def outside(self, call: Callable[[], T]) -> T:
        """Call a function while all names are real. The function must not wait for a virtual thread."""
        running = asyncio._get_running_loop()  # noqa: SLF001
        self._leave()
        try:
            return call()
        finally:
            self.__enter__()
            asyncio._set_running_loop(running)  # noqa: SLF001

    def _leave(self) -> None:
        self._names.leave()
        assert self._factory is not None
        locks.set_lock_factory(self._factory)
        asyncio._set_running_loop(self._loop)  # noqa: SLF001

    def _new_names(self, seed: int) -> VirtualNames:
        real = threading.Thread
        join, is_alive = real.join, real.is_alive

        def begin(thread: Any) -> None:
            """Start an author's thread, a threading.Thread or an instance of a subclass, as a virtual one."""
            if "virtual" in vars(thread):
                raise RuntimeError("threads can only be started once")
            thread.virtual = VirtualThread(self, target=partial(_survived, thread.run), name=thread.name)
            thread.virtual.face = thread
            thread.virtual.start()

        def of(thread: Any, real: Callable[..., Any], *arguments: Any) -> Any:
            virtual = vars(thread).get("virtual")
            return getattr(virtual, real.__name__)(*arguments) if virtual else real(thread, *arguments)

        made: Mapping[str, Callable[..., Any]] = {
            "Lock": lambda: VirtualLock(self),
            "RLock": lambda: VirtualRLock(self),
            "Condition": lambda lock=None: VirtualCondition(self, lock),
            "Event": lambda: VirtualEvent(self),
            "Thread.start": begin,
            "Thread.join": lambda thread, timeout=None: of(thread, join, timeout),
            "Thread.is_alive": lambda thread: of(thread, is_alive),
            "current_thread": lambda: self.current_thread().face,
            "get_ident": lambda: self.current_thread().ident,
            "enumerate": lambda: [one.face for one in (self._main, *self._threads.values())],
        }
        return VirtualNames(self, made, seed)

    @property
    def seams(self) -> Seams:
        """The world's clock, randomness and threads, for objects that are created in it."""
        return Seams(clock=VirtualClock(self), random=Random(0).random, spawn=self.spawn)

    def spawn(self, name: str, target: Callable[[], None]) -> Joinable:
        """Start a thread; see handloop.seams.threads.Spawn."""
        thread = VirtualThread(self, target=target, name=name)
        thread.start()
        return thread

    def current_thread(self) -> VirtualThread:
        """Return the running thread."""
        return self._threads.get(getcurrent(), self._main)

    def is_here(self) -> bool:
        """Return whether the caller runs in the world's real thread, and not in another real thread."""
        return _thread.get_ident() == self._real

    def new_number(self) -> int:
        """Return a new number for a thread."""
        return next(self._count)

    @contextmanager
    def looking(self) -> Iterator[None]:
        """
        Return a context in which the main thread acquires only free locks, and no time passes.

        Raises: BlockedError if the main thread would have to wait.
        """
        self._is_looking, now = True, self.now
        try:
            yield
        finally:
            self._is_looking, self.now = False, now

    @contextmanager
    def interrupted_in_main(self) -> Iterator[None]:
        """Return a context in which Ctrl-C is raised in the main thread. A worker could swallow it."""
        before = signal.getsignal(signal.SIGINT)
        is_ours = before is signal.default_int_handler and self._real == threading.main_thread().ident
        if is_ours:
            signal.signal(signal.SIGINT, lambda *_: self._hub.throw(KeyboardInterrupt))
        try:
            yield
        finally:
            if is_ours:
                signal.signal(signal.SIGINT, before)

    def in_main(self, call: Callable[[], None]) -> None:
        """Call a function in the main thread as soon as the running thread waits or ends."""
        self._calls.append(call)

    def read(self) -> float:
        """
        Return the current virtual time. It advances if a thread keeps reading it without a wait.

        A single reading does not advance it. Otherwise, a process that logs for the first time would fall
        behind other processes.
        """
        self._readings += 1
        if self._readings > _READINGS:
            self.now += _SPINNING_SECONDS
        return self.now

    def virtual(self) -> Callable[[Any], Any]:
        """Return a function that replaces a real lock, condition or SimpleQueue with a virtual one."""
        made: dict[int, Any] = {}

        def convert(value: Any) -> Any:
            kind = next((one for one in _REAL if isinstance(value, one)), None)
            if kind is None:
                return value
            if id(value) not in made:
                arguments = (self, convert(value._lock)) if kind is _REAL_CONDITION else (self,)  # noqa: SLF001
                made[id(value)] = _REAL[kind](*arguments)
            return made[id(value)]

        return convert

    def new_event(self) -> Any:
        """Return a threading.Event of this world."""
        return VirtualEvent(self)

    def sleep(self, seconds: float) -> None:
        """Block the running thread for some virtual seconds."""
        self.wait(Wait(), seconds)

    def park(self) -> None:
        """Block the running thread forever."""
        self.wait(Wait(), None)

    def pause(self, seconds: float) -> None:
        """Stop all threads of the running thread's process for some seconds, as SIGSTOP would."""
        self._paused[self.current_thread().process] = self.now + seconds
        self.sleep(seconds)

    def threads(self) -> list[VirtualThread]:
        """Return the threads that were started and have not ended."""
        return list(self._threads.values())

    def run_for(self, seconds: float) -> None:
        """Run the other threads until some virtual seconds have passed. Only for the main thread."""
        until = self.now + seconds
        while self._step(until):
            pass

    def kill(self, threads: Iterable[VirtualThread]) -> None:
        """
        End threads at once, as the end of their process would.

        Their `finally` blocks still run, so these must no longer be able to reach the server.
        """
        before = logging.root.manager.disable
        logging.disable()  # because a pool thread would log its end as an error
        for thread in threads:
            found = thread.greenlet
            if found is not None and not found.dead:
                self._ready = deque(one for one in self._ready if one is not found)
                thread.killed = True
                # If a `finally` block tries to wait, end that wait, too.
                while not found.dead:
                    with suppress(BaseException):
                        found.throw(GreenletExit)
                # A thread that has not begun to run has no `finally` block that would remove it.
                self._threads.pop(found, None)
        logging.disable(before)

    def begin(self, thread: VirtualThread, run: Callable[[], None]) -> greenlet:
        """Add a thread that is ready to run. Only for VirtualThread."""
        made = greenlet(run, parent=self._hub)
        self._threads[made] = thread
        self._ready.append(made)
        return made

    def ended(self, thread: greenlet) -> None:
        """Remove a thread. Only for VirtualThread."""
        self._threads.pop(thread, None)

    def wait(self, waits: Wait, seconds: float | None) -> bool:
        """
        Block the running thread until it is woken or the timeout passes. A timeout of None never passes.

        Returns: whether the thread was woken. Raises: DeadlockError in the main thread if no other thread can
        wake it; BlockedError in the context of looking().
        """
        current = getcurrent()
        self._readings = 0
        if self._is_looking:
            waits.over = True
            raise BlockedError
        if current is self._hub:
            return self._run_until(waits, seconds)
        thread = self._threads[current]
        if thread.killed:
            raise GreenletExit
        if thread.on_wait:
            thread.on_wait()
            if waits.over:
                return waits.woken
        waits.thread = current
        if seconds is not None:
            heapq.heappush(self._timers, (self.now + max(0.0, seconds), next(self._count), waits))
        # asyncio's running loop belongs to the real thread. Hide it, because another virtual thread can run
        # one.
        running = asyncio._get_running_loop()  # noqa: SLF001
        if running:
            asyncio._set_running_loop(None)  # noqa: SLF001
        traced = sys.gettrace() if thread.on_wait else None
        if traced:
            sys.settrace(None)
        self._hub.switch()
        if traced:
            sys.settrace(traced)
        if running:
            asyncio._set_running_loop(running)  # noqa: SLF001
        return waits.woken

    def step(self) -> None:
        """At random, delay a reconciling thread before it acquires a lock."""
        thread = self._threads.get(getcurrent())
        if thread and thread.on_wait and self.steps and self.steps.random() < _STEPS:
            on_wait, thread.on_wait = thread.on_wait, None  # this delay is not the reconcile's own wait
            self.sleep(self.steps.random() * _STEP_SECONDS)
            thread.on_wait = on_wait

    def wake(self, waits: Wait) -> bool:
        """End a wait. Returns: whether the thread was still waiting."""
        if waits.over:
            return False
        waits.woken = waits.over = True
        if waits.thread is not None:
            self._ready.append(waits.thread)
        return True

    def _run_until(self, waits: Wait, seconds: float | None) -> bool:
        until = math.inf if seconds is None else self.now + max(0.0, seconds)
        while not waits.over:
            if not self._step(until):
                if seconds is None:
                    raise DeadlockError("the main thread waits forever, because no other thread can run")
                waits.over = True
        return waits.woken

    def _step(self, until: float) -> bool:
        """Run one thread, or advance time to a wait's end. Returns: False if all waits end after `until`."""
        if self._ready:
            self.switches += 1
            found = self._ready.popleft() if self.order is None else self._chosen(self.order)
            if self._paused:
                self._give_turn(found)
            else:
                found.switch()
            while self._calls:
                self._calls.pop(0)()
            return True
        while self._timers:
            at, _, waits = self._timers[0]
            if at > until:
                break
            heapq.heappop(self._timers)
            if not waits.over and waits.thread is not None:
                self.now = max(self.now, at)
                waits.over = True
                self._ready.append(waits.thread)
                return True
        if until < math.inf:
            self.now = max(self.now, until)
        return False

    def _give_turn(self, found: greenlet) -> None:
        thread = self._threads.get(found, self._main)
        until = self._paused.get(thread.process, self.now)
        if until <= self.now:
            found.switch()
        else:
            waits = Wait()
            waits.thread = found
            heapq.heappush(self._timers, (until, next(self._count), waits))

    def _chosen(self, order: Random) -> greenlet:
        chosen = order.randrange(len(self._ready)) if len(self._ready) > 1 else 0
        thread = self._ready[chosen]
        del self._ready[chosen]
        return thread


class VirtualThread:
    """
    A virtual threading.Thread, with the methods that this project uses.

    Fields: process, the operator's process to which the thread belongs, by default that of the thread that
    starts it; face, the object that threading.current_thread() returns in it; on_wait, a function that is
    called before each wait.
    """

    def __init__(
        self,
        threads: VirtualThreads,
        *,
        target: Callable[..., object] | None = None,
        name: str | None = None,
        args: Iterable[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        daemon: bool | None = None,
    ) -> None:
        self.name = name or "thread"
        self.daemon = daemon
        self.killed = False
        self.greenlet: greenlet | None = None
        self.ident = threads.new_number()
        self.process: object = None
        self.face: Any = self
        self.on_wait: Callable[[], None] | None = None
        self._threads = threads
        self._target, self._args, self._kwargs = target, tuple(args), dict(kwargs or {})
        self._ended: VirtualEvent | None = None

    def start(self) -> None:
        """Start the thread. It runs when the scheduler chooses it."""
        if self.process is None:
            self.process = self._threads.current_thread().process
        self._ended = VirtualEvent(self._threads)
        self.greenlet = self._threads.begin(self, self._run)

    def join(self, timeout: float | None = None) -> None:
        """Wait for the thread's end."""
        assert self._ended is not None, "not started"
        self._ended.wait(timeout)

    def is_alive(self) -> bool:
        """Return whether the thread has started and has not ended."""
        return self._ended is not None and not self._ended.is_set()

    def _run(self) -> None:
        try:
            assert self._target is not None
            self._target(*self._args, **self._kwargs)
        finally:
            assert self._ended is not None
            self._ended.set()
            self._threads.ended(getcurrent())


def _survived(run: Callable[[], object]) -> None:
    """Run an author's thread. If it raises an error, log the error and end only this thread."""
    try:
        run()
    except Exception:
        log.exception("An error ended a thread")


class VirtualClock(RealClock):
    """A clock that reads a world's time, for handloop and the sandbox."""

    def __init__(self, threads: VirtualThreads) -> None:
        self._threads = threads

    def now(self) -> float:
        """
        Return the virtual seconds since the beginning. Each reading advances time by a microsecond.

        Otherwise, a thread could forever repeat a wait that is too short to change a float of this size.
        """
        self._threads.now += _READING_SECONDS
        return self._threads.now

    def time(self) -> float:
        """Return Unix seconds."""
        return self._threads.epoch + self._threads.now

    def wait_until(self, condition: threading.Condition, at: float | None) -> bool:
        """
        Wait once on a condition, until it is notified or now() reaches `at`. None means no limit.

        Returns: False if the limit was reached.
        """
        if at is None or at == math.inf:
            return condition.wait()
        condition.wait(max(0.0, at - self._threads.now))
        return self._threads.now < at
