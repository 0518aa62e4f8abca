"""
File descriptors: raise their limit, and reserve one for probes.

Many container runtimes set the soft limit to 1,024, because select() supports no more. This program waits
with poll and epoll, like Go's runtime, which also raises the limit when it starts. A program that has used up
all descriptors must still answer its probes, or it is killed and restarted.
"""

from __future__ import annotations

import os
import resource
from contextlib import suppress

from handloop.seams.locks import new_lock


def raise_open_files() -> None:
    """Raise the soft limit of open files to the hard limit, if the system allows it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


class SpareDescriptor:
    """
    A reserved file descriptor, which is closed when the process has used up all others.

    State, under _lock: _file, None while it is closed; _ended, set when the server ends. Threads: a server's
    thread closes it; the threads of its connections open it again.
    """

    def __init__(self) -> None:
        self._lock = new_lock("SpareDescriptor._lock", 95)
        self._file: int | None = None
        self._ended = False
        self.refill()

    def give_up(self) -> bool:
        """Close the descriptor. Returns: whether it was open."""
        with self._lock:
            file, self._file = self._file, None
        if file is not None:
            os.close(file)
        return file is not None

    def refill(self) -> None:
        """Open the descriptor again, if the system allows it."""
        with self._lock, suppress(OSError):
            if self._file is None and not self._ended:
                self._file = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)

    def end(self) -> None:
        """Close the descriptor. A connection that ends later does not open it again."""
        with self._lock:
            self._ended = True
        self.give_up()
