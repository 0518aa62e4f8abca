"""How threads are started: the seam that lets a test run them itself."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol


class Joinable(Protocol):
    """A started thread."""

    def join(self, timeout: float | None = None) -> None:
        """Wait for its end."""

    def is_alive(self) -> bool:
        """Whether it still runs."""


Spawn = Callable[[str, Callable[[], None]], Joinable]
"""Start a thread: (name, target) -> handle. Names are `<role>-<resource or index>`."""


def spawn_thread(name: str, target: Callable[[], None]) -> Joinable:
    """Start a daemon thread: an interpreter that exits does not wait for a stuck one."""
    thread = threading.Thread(target=target, name=name, daemon=True)
    thread.start()
    return thread
