"""Runs blocking work outside the loop, in a separate thread that is not joined when the process ends."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def in_thread(work: Callable[[], object]) -> None:
    """Run work in a separate thread without waiting for it."""
    threading.Thread(target=work, name="sandbox-aside", daemon=True).start()


async def aside(work: Callable[[], T], *, late: Callable[[T], object]) -> T:
    """
    Run work in a separate thread, and wait for its result.

    Args: late receives the result if the caller is cancelled before the work is done.
    Raises: the same errors as work.
    """
    loop = asyncio.get_running_loop()
    waiting: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: BaseException | None) -> None:
        if waiting.done():
            if error is None:
                late(result)  # type: ignore[arg-type]
        elif error is not None:
            waiting.set_exception(error)
        else:
            waiting.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        result, failure = None, None
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001 - raised in the waiting task
            failure = error
        with contextlib.suppress(RuntimeError):  # the loop may be closed
            loop.call_soon_threadsafe(settle, result, failure)

    in_thread(run)
    return await waiting
