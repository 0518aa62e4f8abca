"""The start of threads, and the wait for their end."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from contextvars import Context
from typing import Protocol, TypeVar

from handloop.seams.clock import Clock

K = TypeVar("K")


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
    # a free-threaded Python would hand on the context variables of the thread that happens to start it
    thread = threading.Thread(target=Context().run, args=(target,), name=name, daemon=True)
    thread.start()
    return thread


def join_all(threads: Mapping[K, Joinable], seconds: float, clock: Clock) -> list[K]:
    """
    Wait until all have ended, together at most so long; infinity = as long as it takes.

    Returns: the keys of those that have not.
    """
    deadline = clock.now() + seconds
    for thread in threads.values():
        thread.join(None if deadline == math.inf else max(0.0, deadline - clock.now()))
    return [key for key, thread in threads.items() if thread.is_alive()]
