"""Starts threads and waits until they end."""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import Context
from typing import Any, Protocol, TypeVar

from handloop.seams.clock import Clock
from handloop.seams.logs import in_words

K = TypeVar("K")


class AuthorExit(Exception):  # noqa: N818 - it is named after what happened
    """An author's function raised SystemExit or a similar error, which must not end handloop's thread."""


def as_error(error: BaseException) -> Exception:
    """Return the error, or an AuthorExit in its place if `except Exception` would not catch the error."""
    return error if isinstance(error, Exception) else AuthorExit(in_words(error, repr))


@contextmanager
def outliving(log: Any, event: str, **facts: Any) -> Iterator[None]:
    """
    Run one iteration of a loop. An error is logged and the loop continues, even if logging fails.

    All our loops use this function, so that an author's SystemExit, for example, does not end a thread that
    others need.
    """
    try:
        yield
    except BaseException as error:  # noqa: BLE001 - see above
        with suppress(BaseException):
            log.error(event, err=in_words(error, repr), **facts)  # noqa: TRY400 - no traceback


R = TypeVar("R")


class Joinable(Protocol):
    """A started thread."""

    def join(self, timeout: float | None = None) -> None:
        """Wait for the thread's end."""

    def is_alive(self) -> bool:
        """Return whether the thread is still running."""


Spawn = Callable[[str, Callable[[], None]], Joinable]
"""Starts a thread: (name, target) -> handle. Names are `<role>-<resource or index>`."""


def spawn_thread(name: str, target: Callable[[], None]) -> Joinable:
    """Start a daemon thread. The interpreter does not wait for it on exit."""
    # Start with an empty context, because a free-threaded Python would inherit the starting thread's
    # variables.
    thread = threading.Thread(target=Context().run, args=(target,), name=name, daemon=True)
    thread.start()
    return thread


def side_by_side(name: str, calls: Sequence[Callable[[], R]], spawn: Spawn, *, at_once: int) -> list[R]:
    """
    Return the results of calls, in order. Up to at_once calls run in parallel, on this thread and on
    `<name>-<i>`.

    Calls start in order. After an error, no further call starts.

    Raises: the error of the failed call, or of the first one in the sequence if several calls fail.
    Blocks: until all started calls have ended.
    """
    waiting = deque(enumerate(calls))
    results: dict[int, R] = {}
    errors: dict[int, Exception] = {}

    def work() -> None:
        while not errors:
            try:
                index, call = waiting.popleft()
            except IndexError:
                return
            try:
                results[index] = call()
            except Exception as error:  # noqa: BLE001 - it is raised below
                errors[index] = error

    threads = [spawn(f"{name}-{number}", work) for number in range(1, min(at_once, len(calls)))]
    work()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[min(errors)]
    return [results[index] for index in range(len(calls))]


def join_within(thread: Joinable, seconds: float) -> None:
    """Wait until the thread has ended, for at most the given seconds. Infinity means no limit."""
    thread.join(None if seconds == math.inf else min(max(0.0, seconds), threading.TIMEOUT_MAX))


def join_all(threads: Mapping[K, Joinable], seconds: float, clock: Clock) -> list[K]:
    """
    Wait until all threads have ended, for at most the given seconds in total. Infinity means no limit.

    Returns: the keys of the threads that are still running.
    """
    deadline = clock.now() + seconds
    for thread in threads.values():
        join_within(thread, deadline - clock.now())
    return [key for key, thread in threads.items() if thread.is_alive()]
