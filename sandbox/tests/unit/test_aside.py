from __future__ import annotations

import asyncio
import threading

import pytest

from handloop_sandbox.aside import aside


def test_the_loop_goes_on() -> None:
    """The work ends because of what the loop does meanwhile."""
    released = threading.Event()

    async def run() -> str:
        waiting = asyncio.ensure_future(aside(lambda: str(released.wait(10)), late=lambda _: None))
        await asyncio.sleep(0)
        released.set()
        return await waiting

    assert asyncio.run(run()) == "True"


def test_what_work_raises_is_raised() -> None:
    """In the one who waits."""

    def fail() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        asyncio.run(aside(fail, late=lambda _: None))


def test_a_result_that_comes_too_late_is_handed_over() -> None:
    """To be tidied away."""

    async def run() -> str:
        released, late = threading.Event(), asyncio.get_running_loop().create_future()
        waiting = asyncio.ensure_future(aside(lambda: str(released.wait(10)), late=late.set_result))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        released.set()
        result: str = await late
        return result

    assert asyncio.run(run()) == "True"
