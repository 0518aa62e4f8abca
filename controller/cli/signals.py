"""The first SIGINT or SIGTERM asks for a graceful stop; the second ends the process at once."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Final

HARD_EXIT_CODE: Final = 1


def setup_signal_handler(stop: threading.Event, on_signal: Callable[[str], None]) -> None:
    """
    Set stop on the first signal; on the second exit with code 1, as sample-controller's signals package.

    Call once, from the main thread. on_signal gets the signal's name and must not block.
    """
    asked = threading.Event()

    def ask(name: str) -> None:
        on_signal(name)
        stop.set()

    def handle(number: int, _frame: FrameType | None) -> None:
        if asked.is_set():
            os._exit(HARD_EXIT_CODE)
        asked.set()
        name = signal.Signals(number).name
        # this interrupts the main thread, which may hold the lock inside `stop.wait()` that `stop.set()`
        # needs: a thread of its own sets it
        threading.Thread(target=ask, args=(name,), name="signal", daemon=True).start()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, handle)
