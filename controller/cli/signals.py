"""
The first SIGINT or SIGTERM asks for a graceful stop, the second ends the process at once; SIGUSR1 raises the
log level.

A Python signal handler runs in the main thread, between two of its instructions: never once that thread has
begun to block in `stop.wait()`, and perhaps under a lock that the reaction needs. So the interpreter only
writes the number into a pipe (`signal.set_wakeup_fd`), and a thread `signals` reacts.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Final, Self

from workqueue.spawn import Joinable, Spawn, spawn_thread

HARD_EXIT_CODE: Final = 1
_STOPS: Final = (signal.SIGINT, signal.SIGTERM)
_USR1: Final[signal.Signals | None] = getattr(signal, "SIGUSR1", None)
_END: Final = 0
_READ_BYTES: Final = 64


class SignalHandler:
    """
    Handles signals while its `with` block runs, which must be in the main thread; then all is as before.

    Follows: sample-controller pkg/signals.
    """

    def __init__(
        self,
        stop: threading.Event,
        *,
        on_stop: Callable[[str], None],
        on_usr1: Callable[[], None],
        spawn: Spawn = spawn_thread,
    ) -> None:
        """Args: on_stop gets the name of the first signal, before stop is set; on_usr1 is called on each."""
        self._stop = stop
        self._on_stop = on_stop
        self._on_usr1 = on_usr1
        self._spawn = spawn
        self._thread: Joinable | None = None

    def __enter__(self) -> Self:
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._writer, False)
        self._fd_before = signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        self._before = {number: signal.signal(number, _left_to_the_thread) for number in _handled()}
        self._thread = self._spawn("signals", self._run)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._fd_before)
        os.write(self._writer, bytes([_END]))
        assert self._thread is not None
        self._thread.join()
        os.close(self._writer)
        os.close(self._reader)

    def _run(self) -> None:
        asked = False
        while True:
            for number in os.read(self._reader, _READ_BYTES):
                if number == _END:
                    return
                if number == _USR1:
                    self._on_usr1()
                elif number in _STOPS:
                    if asked:
                        os._exit(HARD_EXIT_CODE)
                    asked = True
                    self._on_stop(signal.Signals(number).name)
                    self._stop.set()


def _handled() -> tuple[signal.Signals, ...]:
    return _STOPS if _USR1 is None else (*_STOPS, _USR1)


def _left_to_the_thread(_number: int, _frame: FrameType | None) -> None:
    """Without a handler of its own the interpreter would not write to the pipe."""
