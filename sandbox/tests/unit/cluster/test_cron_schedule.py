from __future__ import annotations

from datetime import UTC, datetime

import pytest

from handloop_sandbox.cluster.cron_schedule import parsed


def _at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def _next(schedule: str, since: str, zone: str | None = None) -> str:
    found = parsed(schedule, zone).next_after(_at(since))
    return "" if found is None else datetime.fromtimestamp(found, UTC).strftime("%Y-%m-%d %H:%M:%S")


@pytest.mark.parametrize(
    ("schedule", "since", "then"),
    [
        ("* * * * *", "2026-03-01 10:00:00", "2026-03-01 10:01:00"),
        ("*/15 * * * *", "2026-03-01 10:46:00", "2026-03-01 11:00:00"),
        ("5/20 * * * *", "2026-03-01 10:26:00", "2026-03-01 10:45:00"),
        ("0 8-17/3 * * *", "2026-03-01 14:00:00", "2026-03-01 17:00:00"),
        ("0,30 3 * * *", "2026-03-01 03:00:00", "2026-03-01 03:30:00"),
        ("0 0 31 * *", "2026-04-01 00:00:00", "2026-05-31 00:00:00"),
        ("0 0 29 feb ?", "2026-01-01 00:00:00", "2028-02-29 00:00:00"),
        ("0 0 * * mon-tue", "2026-03-01 00:00:00", "2026-03-02 00:00:00"),
        ("0 0 13 * fri", "2026-03-07 00:00:00", "2026-03-13 00:00:00"),
        ("0 0 20 * fri", "2026-03-07 00:00:00", "2026-03-13 00:00:00"),
        ("0 0 */2 * fri", "2026-03-07 00:00:00", "2026-03-13 00:00:00"),
        ("@weekly", "2026-03-03 00:00:00", "2026-03-08 00:00:00"),
        ("@hourly", "2026-12-31 23:00:00", "2027-01-01 00:00:00"),
        ("@every 1h30m", "2026-03-01 10:00:20", "2026-03-01 11:30:20"),
        ("0 0 30 2 *", "2026-01-01 00:00:00", ""),
    ],
)
def test_the_next_time(schedule: str, since: str, then: str) -> None:
    """Fields with ranges, steps, lists and names; of two restricted days either will do."""
    assert _next(schedule, since) == then


def test_a_time_zone() -> None:
    """The clock of the zone counts, in summer and in winter; a time that it skips is left out."""
    assert _next("0 9 * * *", "2026-01-10 00:00:00", "Europe/Berlin") == "2026-01-10 08:00:00"
    assert _next("0 9 * * *", "2026-07-10 00:00:00", "Europe/Berlin") == "2026-07-10 07:00:00"
    assert _next("30 2 * * *", "2026-03-28 12:00:00", "Europe/Berlin") == "2026-03-30 00:30:00"


def test_the_latest_time() -> None:
    """The last one up to now, and none that is not later than the one before."""
    schedule = parsed("*/10 * * * *", None)
    assert schedule.latest(_at("2026-03-01 10:39:00"), _at("2026-03-01 08:00:00")) == _at(
        "2026-03-01 10:30:00"
    )
    assert schedule.latest(_at("2026-03-01 00:05:00"), _at("2026-02-27 08:00:00")) == _at(
        "2026-03-01 00:00:00"
    )
    assert schedule.latest(_at("2026-03-01 10:39:00"), _at("2026-03-01 10:30:00")) is None
    interval = parsed("@every 20s", None)
    assert interval.latest(105.0, 10.0) == 90.0
    assert interval.latest(29.0, 10.0) is None


_WRONG = ("* * * *", "60 * * * *", "x * * * *", "* * 0 * *", "5-1 * * * *", "@every soon")


@pytest.mark.parametrize("text", _WRONG)
def test_no_schedule(text: str) -> None:
    """Too few fields, numbers out of their bounds, other words."""
    with pytest.raises(ValueError, match=r".+"):
        parsed(text, None)
