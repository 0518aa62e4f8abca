"""A thread of the machine beside a virtual world, such as that of a server which tests share."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Run = Callable[[Callable[[], object]], None]


@contextmanager
def real_thread() -> Iterator[Run]:
    """A function that has the thread call something, and waits for it: by pipes, as locks may be virtual."""
    asked, answered = os.pipe(), os.pipe()
    calls: list[Callable[[], object]] = []

    def serve() -> None:
        while os.read(asked[0], 1) == b".":
            calls.pop()()
            os.write(answered[1], b".")

    def run(call: Callable[[], object]) -> None:
        calls.append(call)
        os.write(asked[1], b".")
        os.read(answered[0], 1)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield run
    finally:
        os.write(asked[1], b"!")
        thread.join()
        for end in (*asked, *answered):
            os.close(end)
