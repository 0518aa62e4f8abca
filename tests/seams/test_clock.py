from __future__ import annotations

import math
import re
import threading
import time
from pathlib import Path

import pytest

from handloop.seams.clock import REAL_CLOCK
from support.checks.threads import Background, Waits

ROOT = Path(__file__).parents[2]


def wait_until_notified(
    condition: threading.Condition, wait: str, argument: float | None
) -> Background[bool]:
    """A thread in that wait of the real clock."""

    def run() -> bool:
        with condition:
            result: bool = getattr(REAL_CLOCK, wait)(condition, argument)
            return result

    return Background(run)


def test_the_real_clock_is_the_machines() -> None:
    """Now never goes back, time is unix."""
    before = REAL_CLOCK.now(), time.time()
    now, unix = REAL_CLOCK.now(), REAL_CLOCK.time()

    assert before[0] <= now <= REAL_CLOCK.now()
    assert before[1] - 1 <= unix <= time.time() + 1


def test_wall_time_is_read_in_one_place() -> None:
    """Besides log lines: so a jump of the time of day can end no wait and no lease."""
    packages = ("apis", "client", "workqueue", "informers", "controller", "handloop/seams")
    readers = {
        str(path.relative_to(ROOT))
        for package in packages
        for path in (ROOT / package).rglob("*.py")
        if re.search(r"\b(time\.time(_ns)?|datetime\.(now|utcnow|today))\(", path.read_text("utf-8"))
    }
    assert readers == {"handloop/seams/clock.py", "controller/cli/logs.py"}


@pytest.mark.skipif(not hasattr(time, "CLOCK_BOOTTIME"), reason="no clock here counts sleep")
def test_now_counts_what_the_machine_slept() -> None:
    """A leader whose machine was suspended must not think that its lease is fresh."""
    before = time.clock_gettime(time.CLOCK_BOOTTIME)
    assert before <= REAL_CLOCK.now() <= time.clock_gettime(time.CLOCK_BOOTTIME)


def test_waits_end_when_their_time_has_passed() -> None:
    """A timeout that is over and a point in the past return False; a stop that is set ends a sleep."""
    condition = threading.Condition()
    stop = threading.Event()
    with condition:
        assert not REAL_CLOCK.wait(condition, 0)
        assert not REAL_CLOCK.wait(condition, -1)
        assert not REAL_CLOCK.wait_until(condition, REAL_CLOCK.now() - 1)
        assert not REAL_CLOCK.wait_until(condition, REAL_CLOCK.now() + 0.001)
    assert not REAL_CLOCK.sleep(-1, stop)
    assert not REAL_CLOCK.sleep(0.001, stop)
    stop.set()

    assert REAL_CLOCK.sleep(math.inf, stop)


@pytest.mark.parametrize("wait", ["wait", "wait_until"])
@pytest.mark.parametrize("argument", [None, math.inf, 1e12])
def test_long_waits_end_when_notified(
    monkeypatch: pytest.MonkeyPatch, wait: str, argument: float | None
) -> None:
    """Waits for ever, and longer than the standard library can count, end by a notification."""
    condition = threading.Condition()
    waits = Waits(monkeypatch, condition)
    thread = wait_until_notified(condition, wait, argument)
    waits.wait_for()
    with condition:
        condition.notify()

    assert thread.result()
