"""
The first SIGINT or SIGTERM asks for a graceful stop, the second ends the process at once; SIGUSR1 raises the
log level.

A handler interrupts the main thread wherever it is, perhaps under a lock that the reaction needs: inside
`stop.wait()`, or in the middle of a log line. So every reaction has a thread of its own.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from functools import partial
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
        _react(partial(ask, name))

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, handle)


def setup_level_signal(cycle: Callable[[], None]) -> None:
    """Call cycle on every SIGUSR1, where the system has that. Call from the main thread."""
    if hasattr(signal, "SIGUSR1"):
        signal.signal(signal.SIGUSR1, lambda _number, _frame: _react(cycle))


def _react(reaction: Callable[[], None]) -> None:
    threading.Thread(target=reaction, name="signal", daemon=True).start()
