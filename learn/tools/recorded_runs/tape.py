"""
Records a running program's steps, and its state after each of them.

The thread that executes a step also records the state, as soon as the thread holds no lock. Until the next
step, the state is recorded again every 0.1 s. A recorded state therefore never shows a half-finished
change under a lock, which other threads could not see either.

A tape slows the program by about a millisecond per step. The worker also waits 30 ms after each of its steps,
so that most of the step's consequences precede the next step.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from handloop.picture.explain import document
from handloop.picture.parts import Parts
from handloop.picture.recorder import RING, Batch, Recorder
from handloop.picture.recording import Entry
from handloop.picture.snapshot import snapshot
from handloop.seams.clock import REAL_CLOCK, Clock
from handloop.seams.locks import Lock, set_lock_factory
from tools.recorded_runs.catalog import WORKER

_PAUSE_SECONDS: Final = 0.03
_QUIET_SECONDS: Final = 0.1


class _Held(threading.local):
    """The number of locks that a thread holds, and whether the thread is recording a state."""

    locks = 0
    taking = False


class _WatchedLock:
    """Implements handloop.seams.locks.Lock, and calls a function when a thread has released its last lock."""

    def __init__(self, held: _Held, released: Callable[[], None]) -> None:
        self._lock = threading.Lock()
        self._held = held
        self._released = released

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:  # noqa: FBT001, FBT002 - threading's
        """Acquire the lock."""
        taken = self._lock.acquire(blocking, timeout)
        self._held.locks += taken
        return taken

    def release(self) -> None:
        """Release the lock."""
        self._lock.release()
        self._held.locks -= 1
        if not self._held.locks and not self._held.taking:
            self._released()

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


class Tape:
    """
    Writes the steps and states of one program, which is created and runs in the block of `recording()`.

    State: _cursor, the last step written, under the lock _taking, which threads acquire only while they hold
    no lock of the program; _waited_after, the step after which the worker last waited, which only the worker
    uses; parts, the program's parts, or None until the program's thread has set them.
    Threads: usable from any thread.
    """

    def __init__(self, write: Callable[[Entry], None], clock: Clock = REAL_CLOCK) -> None:
        """Args: write: called with each entry, in order."""
        self.parts: Parts | None = None
        self._write = write
        self._clock = clock
        self._taking = threading.Lock()
        self._held = _Held()
        self._recorder: Recorder | None = None
        self._cursor = self._waited_after = 0

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Return a context manager that records steps, and the state when a thread has released its locks."""
        before = set_lock_factory(self._new_lock)
        recorder = Recorder()
        self._cursor = recorder.join()
        self._recorder = recorder
        ended = threading.Event()
        thread = threading.Thread(target=self._settle, args=(recorder, ended), name="tape")
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
            self._recorder = None
            recorder.close()
            set_lock_factory(before)

    def take(self) -> None:
        """Write the steps since the last call, and then the state. Blocks: the worker, for 30 ms."""
        recorder = self._recorder
        if recorder is None:
            return
        self._held.taking = True
        try:
            with self._taking:
                batch = recorder.after(self._cursor, RING)
                if batch.steps:
                    self._write_down(recorder, batch)
            self._let_others(recorder)
        finally:
            self._held.taking = False

    def _write_down(self, recorder: Recorder, batch: Batch) -> None:
        state = self._state(recorder)
        self._cursor = batch.cursor
        for step in batch.steps:
            self._write(document(step))
        self._write_state(recorder, state)

    def _state(self, recorder: Recorder) -> dict[str, Any]:
        return snapshot(self.parts, recorder.steps, clock=self._clock)

    def _write_state(self, recorder: Recorder, state: dict[str, Any]) -> None:
        # If further steps have followed, this state is outdated, and the next one will be written.
        if not recorder.after(self._cursor, 1).steps:
            self._write({"state": state})

    def _settle(self, recorder: Recorder, ended: threading.Event) -> None:
        """Record the state again while no step occurs, because the last step can still have effects."""
        self._held.taking = True
        seen = self._cursor
        while not ended.wait(_QUIET_SECONDS):
            with self._taking:
                if self._cursor == seen:
                    self._write_state(recorder, self._state(recorder))
                seen = self._cursor

    def _let_others(self, recorder: Recorder) -> None:
        """On the worker's thread, wait after each of its steps."""
        if threading.current_thread().name == WORKER:
            newest = max((step.seq for step in recorder.steps() if step.thread == WORKER), default=0)
            if newest > self._waited_after:
                self._waited_after = newest
                time.sleep(_PAUSE_SECONDS)

    def _new_lock(self, _name: str, _rank: int) -> Lock:
        return _WatchedLock(self._held, self.take)
