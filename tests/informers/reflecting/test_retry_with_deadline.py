from __future__ import annotations

from handloop.informers.reflecting.retry_with_deadline import RetryWithDeadline
from support.fake_lister_watcher import expired, internal_error, too_many_requests
from support.stepping_clock import SteppingClock


def test_window_of_zero_never_allows() -> None:
    """REFL-29: without a window there is no retry."""
    assert not RetryWithDeadline(0, clock=SteppingClock()).should_retry(internal_error())


def test_window_ends_after_its_time_and_opens_again() -> None:
    """REFL-29: with 1 s and an error each second: yes, yes, no; the next error opens a new window."""
    clock = SteppingClock()
    window = RetryWithDeadline(1, clock=clock)
    answers = []
    for _ in range(4):
        answers.append(window.should_retry(internal_error()))
        clock.advance(1)
    assert answers == [True, True, False, True]


def test_other_errors_neither_open_nor_close_the_window() -> None:
    """REFL-29: only internal errors count."""
    clock = SteppingClock()
    window = RetryWithDeadline(2, clock=clock)
    assert not window.should_retry(expired())
    clock.advance(5)
    assert window.should_retry(internal_error())
    clock.advance(1)
    assert not window.should_retry(too_many_requests())
    assert not window.should_retry(ValueError("no API error at all"))
    clock.advance(1)
    assert window.should_retry(internal_error())
    clock.advance(0.5)
    assert not window.should_retry(internal_error())


def test_a_minute_without_internal_errors_opens_a_new_window() -> None:
    """REFL-29: errors a minute apart do not add up."""
    clock = SteppingClock()
    window = RetryWithDeadline(30, clock=clock)
    for _ in range(5):
        assert window.should_retry(internal_error())
        clock.advance(60)
