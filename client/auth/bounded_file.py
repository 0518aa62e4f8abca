"""
Reads a kubeconfig and the files to which it refers, within limits on size and time.

An endless file (`/dev/zero`) does not fill the memory, and a pipe without a writer does not block the thread.
"""

from __future__ import annotations

import errno
import os
import select
import stat
import threading
import time
from typing import BinaryIO, Final

FILE_BYTES: Final = 1 << 20
_LOOK_SECONDS: Final = 0.1


def read_file(path: str) -> bytes:
    """
    Return the content of a regular file. Symbolic links are followed.

    Raises: OSError if the file cannot be read, is not a regular file (a pipe, for example), or is larger than
    FILE_BYTES.
    """
    with _opened(path) as file:
        if not _is_regular(file):
            raise OSError(errno.EINVAL, "not a regular file")
        return _within_limit(file.read(FILE_BYTES + 1))


def read_bounded(path: str, *, seconds: float, stop: threading.Event) -> bytes:
    """
    Return the content of a file of any kind, even of a pipe (`<(...)`, `/dev/stdin`).

    Args: seconds limits the time, except for a regular file.
    Raises: OSError if the file cannot be read or is larger than FILE_BYTES; TimeoutError after the given
    seconds; InterruptedError once stop is set.
    Blocks: until the end of the file. Checks stop every 0.1 s.
    """
    with _opened(path) as file:
        content = file.read(FILE_BYTES + 1) if _is_regular(file) else _read_pipe(file, seconds, stop)
    return _within_limit(content)


def _opened(path: str) -> BinaryIO:
    """Open without blocking. Without O_NONBLOCK, opening a pipe would wait for a writer."""
    return open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK))


def _is_regular(file: BinaryIO) -> bool:
    return stat.S_ISREG(os.fstat(file.fileno()).st_mode)


def _read_pipe(file: BinaryIO, seconds: float, stop: threading.Event) -> bytes:
    deadline = time.monotonic() + seconds
    poll = select.poll()
    poll.register(file, select.POLLIN)
    content = bytearray()
    while len(content) <= FILE_BYTES:
        if poll.poll(1000 * _LOOK_SECONDS):
            block = os.read(file.fileno(), FILE_BYTES + 1 - len(content))
            if not block:
                break
            content += block
        if stop.is_set():
            raise InterruptedError(errno.EINTR, "stopped before its end came")
        if time.monotonic() > deadline:
            raise TimeoutError(errno.ETIMEDOUT, f"it did not end within {seconds:g} s")
    return bytes(content)


def _within_limit(content: bytes) -> bytes:
    if len(content) > FILE_BYTES:
        raise OSError(errno.EFBIG, f"larger than {FILE_BYTES >> 20} MiB")
    return content
