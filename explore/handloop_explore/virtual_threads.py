"""
Threads that run one at a time in virtual time, so that each run is the same and thousands of waits are quick.

    with VirtualThreads(order) as threads:
        Thread(target=...).start()       # threading's names mean virtual ones here
        threads.run_for(60)              # sixty seconds pass as soon as no thread can run before

A thread is a greenlet. It runs until it waits for a lock, a condition, an event, a thread, or time. Then the
next thread that can run does so; if none can, time moves on to the end of the first wait. So nothing depends
on the machine, and a wait costs nothing.
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
"""The share of lock acquisitions before which a thread is slow, and the longest delay."""
_READINGS: Final = 1000
_SPINNING_SECONDS: Final = 1e-3
"""After this many readings of the clock without a wait, each further one takes this long."""
_REAL_CONDITION: Final = threading.Condition
_REAL: Final[Mapping[Any, Callable[..., Any]]] = {
    type(threading.Lock()): VirtualLock,
    type(threading.RLock()): VirtualRLock,
    _REAL_CONDITION: VirtualCondition,
    queue.SimpleQueue: lambda _: queue.SimpleQueue(),  # in the world, this is the one written in Python
}

log = get_logger("explore")


class DeadlockError(Exception):
    """The main thread waits, and no other thread can ever wake it."""


class BlockedError(Exception):
    """The main thread is only looking, and would have to wait."""


class VirtualThreads:
    """
    A world of threads. Inside its `with` block, threading's names make virtual threads and locks in this
    thread, and time and randomness are the world's own; see virtual_names.py.

    Fields: now, virtual seconds since the beginning; epoch, the Unix time at the beginning; switches, how
    often a thread was given the processor; order, which chooses the next of the runnable threads, None =
    first come, first served; steps, which chooses the locks before which a reconciling thread is slow, None =
    no lock.
    Threads: one real thread. The process's other real threads still get real locks and threads.
    """

    def __init__(self, order: Random | None = None, *, seed: int = 1, epoch: float = EPOCH) -> None:
        """Args: order, epoch: see the fields; seed: for randomness."""
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
        # A loop that runs in this real thread, such as playwright's, is hidden from the world.
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
        # On exit, Python would wait for pool threads, which were never real.
        pools: Any = sys.modules.get("concurrent.futures.thread")
        for thread in [*pools._threads_queues] if pools else ():  # noqa: SLF001
            if "virtual" in vars(thread):
                pools._threads_queues.pop(thread, None)  # noqa: SLF001

    def outside(self, call: Callable[[], T]) -> T:
        """Call something while all names are real; it must not wait for a virtual thread."""
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
            """Start an author's thread, which may be of a subclass; its run() runs in a virtual thread."""
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
        """The clock, randomness and threads of this world, for objects made in it."""
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
        """Return whether this is the world's real thread. Others, such as a server's, may also run."""
        return _thread.get_ident() == self._real

    def new_number(self) -> int:
        """Return a number that no thread has had yet."""
        return next(self._count)

    @contextmanager
    def looking(self) -> Iterator[None]:
        """In this context the main thread takes only free locks, and no time passes. Raises: BlockedError."""
        self._is_looking, now = True, self.now
        try:
            yield
        finally:
            self._is_looking, self.now = False, now

    @contextmanager
    def interrupted_in_main(self) -> Iterator[None]:
        """In this context Ctrl-C always reaches the main thread, because a worker would survive it."""
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
        """Have the main thread call something as soon as the running thread waits or ends."""
        self._calls.append(call)

    def read(self) -> float:
        """
        Return the current time. It passes for a thread that reads it again and again without a wait.

        A single reading takes no time, because otherwise a process that logs for the first time would fall
        behind others.
        """
        self._readings += 1
        if self._readings > _READINGS:
            self.now += _SPINNING_SECONDS
        return self.now

    def virtual(self) -> Callable[[Any], Any]:
        """Return a function that maps a lock, condition or queue made outside to its virtual counterpart."""
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
        """Let the running thread wait for seconds."""
        self.wait(Wait(), seconds)

    def park(self) -> None:
        """Wait forever."""
        self.wait(Wait(), None)

    def pause(self, seconds: float) -> None:
        """Stop all threads of the running thread's process for seconds, as by SIGSTOP."""
        self._paused[self.current_thread().process] = self.now + seconds
        self.sleep(seconds)

    def threads(self) -> list[VirtualThread]:
        """Return the threads that were started and have not ended."""
        return list(self._threads.values())

    def run_for(self, seconds: float) -> None:
        """Let seconds pass. Only for the main thread."""
        until = self.now + seconds
        while self._step(until):
            pass

    def kill(self, threads: Iterable[VirtualThread]) -> None:
        """
        End threads where they are, as the end of their process would.

        Their `finally` blocks run, so everything that these use must be out of reach by then.
        """
        before = logging.root.manager.disable
        logging.disable()  # a pool thread would log its end as an error
        for thread in threads:
            found = thread.greenlet
            if found is not None and not found.dead:
                self._ready = deque(one for one in self._ready if one is not found)
                thread.killed = True
                # A `finally` may try to wait, but gets no time for it.
                while not found.dead:
                    with suppress(BaseException):
                        found.throw(GreenletExit)
                # A thread that never started runs no `finally`.
                self._threads.pop(found, None)
        logging.disable(before)

    def begin(self, thread: VirtualThread, run: Callable[[], None]) -> greenlet:
        """Make a thread ready to run; for VirtualThread."""
        made = greenlet(run, parent=self._hub)
        self._threads[made] = thread
        self._ready.append(made)
        return made

    def ended(self, thread: greenlet) -> None:
        """Forget a thread; for VirtualThread."""
        self._threads.pop(thread, None)

    def wait(self, waits: Wait, seconds: float | None) -> bool:
        """
        Block the running thread until it is woken, for at most seconds; None = forever.

        Returns: whether it was woken. Raises: DeadlockError in the main thread.
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
        # A running loop is the real thread's, so hide it while another thread of ours may run one.
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
        """Now and then, delay a reconciling thread before it takes a lock."""
        thread = self._threads.get(getcurrent())
        if thread and thread.on_wait and self.steps and self.steps.random() < _STEPS:
            on_wait, thread.on_wait = thread.on_wait, None  # the delay is not one of the thread's own waits
            self.sleep(self.steps.random() * _STEP_SECONDS)
            thread.on_wait = on_wait

    def wake(self, waits: Wait) -> bool:
        """End a wait. Returns: whether it was still waiting."""
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
                    raise DeadlockError("no thread is left that could continue")
                waits.over = True
        return waits.woken

    def _step(self, until: float) -> bool:
        """Run one thread, or advance time. Returns: False if nothing happens before `until`."""
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
    threading.Thread, as far as this project uses it.

    Fields: process, the process with which it ends, by default that of the thread that starts it; face, what
    threading.current_thread() returns; on_wait, called before each wait.
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
        """Start the thread, which runs when its turn comes."""
        if self.process is None:
            self.process = self._threads.current_thread().process
        self._ended = VirtualEvent(self._threads)
        self.greenlet = self._threads.begin(self, self._run)

    def join(self, timeout: float | None = None) -> None:
        """Wait for the thread's end."""
        assert self._ended is not None, "not started"
        self._ended.wait(timeout)

    def is_alive(self) -> bool:
        """Return whether the thread was started and has not ended."""
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
    """Run an author's thread. An error ends only that thread, and is logged."""
    try:
        run()
    except Exception:
        log.exception("A thread ended by an error")


class VirtualClock(RealClock):
    """A world's time, as handloop's Clock and as the sandbox's."""

    def __init__(self, threads: VirtualThreads) -> None:
        self._threads = threads

    def now(self) -> float:
        """
        Return the seconds since the beginning. A reading takes a microsecond.

        Otherwise a thread could wait forever, if its wait is too short to change a float of this size.
        """
        self._threads.now += _READING_SECONDS
        return self._threads.now

    def time(self) -> float:
        """Return Unix seconds."""
        return self._threads.epoch + self._threads.now

    def wait_until(self, condition: threading.Condition, at: float | None) -> bool:
        """Wait once on a condition, at most until now() reaches at; None = forever."""
        if at is None or at == math.inf:
            return condition.wait()
        condition.wait(max(0.0, at - self._threads.now))
        return self._threads.now < at
