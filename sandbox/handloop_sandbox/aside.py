"""Work outside the loop that may block. It has a thread of its own, which nobody waits for at the end."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def in_thread(work: Callable[[], object]) -> None:
    """Have work done, and do not wait for it."""
    threading.Thread(target=work, name="sandbox-aside", daemon=True).start()


async def aside(work: Callable[[], T], *, late: Callable[[T], object]) -> T:
    """
    The result of work, or what it raises.

    Args: late gets a result that nobody waits for any more.
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
        except BaseException as error:  # noqa: BLE001 - handed to the one that waits
            failure = error
        with contextlib.suppress(RuntimeError):  # the loop has closed
            loop.call_soon_threadsafe(settle, result, failure)

    in_thread(run)
    return await waiting
