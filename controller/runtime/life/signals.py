"""
Shut down gracefully at the first SIGINT or SIGTERM, and end the process at the second. SIGUSR1 changes the
log level.

A Python signal handler runs in the main thread, between two of its instructions. It does not run while that
thread blocks in `stop.wait()`, and it may interrupt the thread while it holds a lock that the handler needs.
Therefore the interpreter only writes the signal's number into a pipe (`signal.set_wakeup_fd`), and the thread
`signals` handles the signal. Another thread, `signal-reports`, logs the messages. Logging blocks while the
terminal is paused or the log is not read, and the next signal must still be handled.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from types import FrameType
from typing import Final, Self

from handloop.seams.threads import Joinable, spawn_thread

HARD_EXIT_CODE: Final = 1
_STOPS: Final = (signal.SIGINT, signal.SIGTERM)
_USR1: Final[signal.Signals | None] = getattr(signal, "SIGUSR1", None)
_END: Final = 0
_READ_BYTES: Final = 64


class SignalHandler:
    """
    Handles signals while its `with` block runs in the main thread. Afterwards it restores the old handlers.

    Follows: sample-controller pkg/signals.
    State: _asked, True once a stop was requested. Only the thread `signals` uses it.
    """

    def __init__(
        self,
        stop: threading.Event,
        *,
        on_stop: Callable[[str], None],
        on_usr1: Callable[[], None] | None = None,
    ) -> None:
        """
        Prepare the handler.

        Args: on_stop is called with the name of the first signal, after stop is set. on_usr1 is called for
        every SIGUSR1; if it is None, this signal is not handled. Both run on the thread `signal-reports`, and
        may block.
        """
        self._stop = stop
        self._on_stop = on_stop
        self._on_usr1 = on_usr1
        self._asked = False
        self._reports: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._threads: list[Joinable] = []

    def __enter__(self) -> Self:
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._writer, False)
        self._fd_before = signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        handled = _STOPS if _USR1 is None or self._on_usr1 is None else (*_STOPS, _USR1)
        self._before = {number: signal.signal(number, _left_to_the_thread) for number in handled}
        self._threads = [spawn_thread("signals", self._run), spawn_thread("signal-reports", self._report)]
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._fd_before)
        os.write(self._writer, bytes([_END]))
        for thread in self._threads:
            thread.join()
        os.close(self._writer)
        os.close(self._reader)

    def _run(self) -> None:
        while True:
            for number in os.read(self._reader, _READ_BYTES):
                if number == _END:
                    self._reports.put(None)
                    return
                self._react(number)

    def _react(self, number: int) -> None:
        if number == _USR1 and self._on_usr1 is not None:
            self._reports.put(self._on_usr1)
        elif number in _STOPS:
            if self._asked:
                os._exit(HARD_EXIT_CODE)
            self._asked = True
            self._stop.set()
            self._reports.put(partial(self._on_stop, signal.Signals(number).name))

    def _report(self) -> None:
        while (report := self._reports.get()) is not None:
            report()


def _left_to_the_thread(_number: int, _frame: FrameType | None) -> None:
    """
    Do nothing, because the thread `signals` handles the signal.

    Without a Python handler, the interpreter would not write the signal to the pipe.
    """
