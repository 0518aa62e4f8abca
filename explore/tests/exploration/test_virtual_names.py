"""Names of the standard library in a world: its time, its threads, its chance."""

from __future__ import annotations

import asyncio
import os
import queue
import random
import secrets
import sys
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from os import urandom
from secrets import token_hex
from time import monotonic
from types import ModuleType
from typing import Any

import pytest

from handloop_explore.virtual_threads import EPOCH, VirtualThreads

CHANCE: dict[str, Callable[[], Any]] = {
    "secrets.token_urlsafe": secrets.token_urlsafe,
    "secrets.choice": lambda: [secrets.choice(range(1000)) for _ in range(9)],
    "secrets.randbelow": lambda: secrets.randbelow(10**9),
    "from secrets import token_hex": lambda: token_hex(9),
    "from os import urandom": lambda: urandom(8),
    "os.urandom": lambda: os.urandom(8),
    "uuid1": uuid.uuid1,
    "uuid4": uuid.uuid4,
    "random.random": random.random,
    "random.sample": lambda: random.sample(range(1000), 9),
    "random.Random": lambda: random.Random().random(),
    "random.SystemRandom": lambda: random.SystemRandom().randint(1, 10**9),
}
CLOCKS: dict[str, Callable[[], float]] = {
    "time.time": lambda: +time.time(),
    "time.time_ns": lambda: time.time_ns() / 1e9,
    "time.monotonic": lambda: +time.monotonic(),
    "time.monotonic_ns": lambda: time.monotonic_ns() / 1e9,
    "time.perf_counter": lambda: +time.perf_counter(),
    "from time import monotonic": lambda: +monotonic(),
    "time.gmtime": lambda: float(time.gmtime().tm_min * 60 + time.gmtime().tm_sec),
    "time.strftime": lambda: float(time.strftime("%M")) * 60 + float(time.strftime("%S")),
}


def drawn(draw: Callable[[], Any], seed: int = 1) -> list[Any]:
    """Three values of a world."""
    with VirtualThreads(seed=seed):
        return [draw() for _ in range(3)]


@pytest.mark.parametrize("name", CHANCE)
def test_chance_follows_from_the_seed(name: str) -> None:
    """Three values that differ; the same ones in another world, others for another seed."""
    values = drawn(CHANCE[name])
    assert values == drawn(CHANCE[name]) != drawn(CHANCE[name], seed=2)
    assert len(set(map(str, values))) == 3


def test_chance_outside_is_as_before() -> None:
    """Within a call outside of the world, too; and the world goes on where it was."""
    random.seed(7)
    expected, _ = random.random(), random.seed(7)
    with VirtualThreads() as threads:
        first = random.random()
        assert threads.outside(random.random) == expected
        second = random.random()
    assert [first, second] == drawn(random.random)[:2]
    assert os.urandom(8) != os.urandom(8)


@pytest.mark.parametrize("name", CLOCKS)
def test_clocks_are_of_the_world(name: str) -> None:
    """Two minutes pass in a moment."""
    before = time.monotonic()
    with VirtualThreads():
        began = CLOCKS[name]()
        time.sleep(120)
        assert CLOCKS[name]() - began == pytest.approx(120, abs=0.01)
    assert time.monotonic() - before < 60


def test_a_loop_on_a_clock_ends() -> None:
    """Also one that does not sleep."""
    with VirtualThreads() as threads:
        end = time.monotonic() + 2
        while time.monotonic() < end:
            time.sleep(0.2)
        assert threads.now == pytest.approx(2, abs=0.3)
        end = time.time() + 0.01
        while time.time() < end:
            pass


def empty(items: Any) -> None:
    with pytest.raises(queue.Empty):
        items.get(timeout=3)


def waits_for(condition: threading.Condition) -> None:
    with condition:
        condition.wait_for(lambda: False, timeout=3)


def taken(lock: Any) -> Any:
    lock.acquire()
    return lock


class Sleeper(threading.Thread):
    """Sleeps for three seconds."""

    def run(self) -> None:
        assert threading.current_thread() is self
        time.sleep(3)


def ended(thread: threading.Thread) -> None:
    thread.start()
    assert thread.is_alive()
    thread.join()
    assert not thread.is_alive()


def two_loops() -> None:
    with ThreadPoolExecutor() as pool:
        for asked in [pool.submit(asyncio.run, asyncio.sleep(3)) for _ in range(2)]:
            asked.result()


def asked_from_a_loop() -> None:
    """A loop in a thread, which is asked from another one."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    asyncio.run_coroutine_threadsafe(asyncio.sleep(3), loop).result()
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


WAITS: dict[str, Callable[[], Any]] = {
    "queue.Queue": lambda: empty(queue.Queue()),
    "queue.SimpleQueue": lambda: empty(queue.SimpleQueue()),
    "threading.Event": lambda: threading.Event().wait(3),
    "threading.Semaphore": lambda: threading.Semaphore(0).acquire(timeout=3),
    "threading.Condition": lambda: waits_for(threading.Condition()),
    "threading.Lock": lambda: taken(threading.Lock()).acquire(timeout=3),
    "threading.Timer": lambda: ended(threading.Timer(3, list)),
    "a thread of a class of its own": lambda: ended(Sleeper()),
    "ThreadPoolExecutor": lambda: ThreadPoolExecutor().submit(time.sleep, 3).result(),
    "asyncio.run": lambda: asyncio.run(asyncio.sleep(3)),
    "two loops at once": two_loops,
    "a loop of its own": asked_from_a_loop,
}


@pytest.mark.parametrize("name", WAITS)
def test_a_wait_takes_virtual_time(name: str) -> None:
    """Three seconds, and a loop may look a second later."""
    with VirtualThreads() as threads:
        WAITS[name]()
        assert 2.9 < threads.now < 5.5


def test_an_error_ends_a_thread_alone(capsys: pytest.CaptureFixture[str]) -> None:
    """It is logged; the others go on."""
    with VirtualThreads() as threads:
        thread = threading.Thread(target=lambda: 1 / 0)
        thread.start()
        threads.run_for(1)
        assert not thread.is_alive()


def test_a_module_that_is_imported_meanwhile_is_of_the_next_world_too() -> None:
    """It keeps a name of the first one, which means the real thing outside."""
    module: Any = ModuleType("imported_meanwhile")
    with VirtualThreads():
        exec("from time import time", module.__dict__)  # noqa: S102
    sys.modules["imported_meanwhile"] = module
    try:
        assert module.time() > EPOCH + 1e7
        with VirtualThreads():
            assert module.time() == pytest.approx(EPOCH, abs=1)
    finally:
        del sys.modules["imported_meanwhile"]
