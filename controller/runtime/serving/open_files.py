"""
File descriptors: as many as the system allows, and one in reserve for probes.

Many container runtimes set the soft limit to 1,024, for programs that use select(). We wait with poll and
epoll, like Go's runtime, which also raises the limit when it starts. A program that has used up all
descriptors must still answer its probes, or it is killed and restarted.
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
    A descriptor to give up when no other is left.

    State, under _lock: _file, None while it is given up. Threads: a server's thread gives it up; the threads
    of its connections take it back.
    """

    def __init__(self) -> None:
        self._lock = new_lock("SpareDescriptor._lock", 95)
        self._file: int | None = None
        self.refill()

    def give_up(self) -> bool:
        """Close the descriptor. Returns: whether there was one."""
        with self._lock:
            file, self._file = self._file, None
        if file is not None:
            os.close(file)
        return file is not None

    def refill(self) -> None:
        """Open a descriptor again, if the process may."""
        with self._lock, suppress(OSError):
            if self._file is None:
                self._file = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
