from __future__ import annotations

from structlog.testing import capture_logs

from handloop.informers.processor import ResyncPeriods

_HOUR = 3600.0


def test_short_periods_shorten_the_check_period_before_the_start() -> None:
    """INF-04: check 12 h; adding 0, 1 min, 55 s, 5 s makes it 12 h, 1 min, 55 s, 5 s."""
    periods = ResyncPeriods(12 * _HOUR)
    checks, admitted = [], []
    for requested in (0, 60, 55, 5):
        admitted.append(periods.admit(requested, started=False))
        checks.append(periods.check_seconds)
    assert checks == [12 * _HOUR, 60, 55, 5]
    assert [periods.effective(one) for one in admitted] == [0, 60, 55, 5]


def test_period_under_a_second_is_raised() -> None:
    """INF-32: 500 ms become 1 s, with a warning."""
    periods = ResyncPeriods(1)
    with capture_logs() as logs:
        assert periods.admit(0.5, started=False) == 1
    assert [entry["log_level"] for entry in logs] == ["warning"]


def test_short_period_after_the_start_is_raised_to_the_check_period() -> None:
    """A running informer's check period stays."""
    periods = ResyncPeriods(30)
    with capture_logs() as logs:
        assert periods.admit(5, started=True) == 30
    assert (periods.check_seconds, len(logs)) == (30, 1)


def test_informer_that_does_not_resync_has_no_handler_that_does() -> None:
    """INF-32: informer period 0, handler 1 min after the start: effectively 0, with a warning."""
    periods = ResyncPeriods(0)
    with capture_logs() as logs:
        admitted = periods.admit(60, started=True)
        assert periods.effective(admitted) == 0
    assert [entry["log_level"] for entry in logs] == ["warning"]


def test_handler_that_asks_for_nothing_gets_the_default() -> None:
    """None is the informer's own period, 0 is never."""
    periods = ResyncPeriods(30)
    assert periods.effective(periods.admit(None, started=False)) == 30
    assert periods.effective(periods.admit(0, started=False)) == 0


def test_long_period_stays() -> None:
    """A handler may ask for less than the informer offers."""
    periods = ResyncPeriods(30)
    assert periods.effective(periods.admit(45, started=True)) == 45
