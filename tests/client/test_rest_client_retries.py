from __future__ import annotations

import pytest

from handloop.client.errors import (
    APIError,
    BadAnswer,
    ConnectionBroken,
    ConnectionRefused,
    DeadlineExceeded,
    TransportError,
    error_from_status,
)
from handloop.client.errors.status import Status, StatusCause, StatusDetails
from handloop.client.rest_client import retry_after_seconds, wait_before_retry


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("5", 5.0),
        (" 7 ", 7.0),
        ("0", 0.0),
        ("", None),
        ("Wed, 21 Oct 2026 07:28:00 GMT", None),
        ("-1", None),
        ("1.5", None),
        ("1e3", None),
        ("soon", None),
        ("٣", None),
        ("9" * 30, None),
    ],
)
def test_only_whole_seconds_count(value: str, seconds: float | None) -> None:
    """T21: an HTTP date or garbage in Retry-After is no wait."""
    assert retry_after_seconds({"Retry-After": value}) == seconds


def test_no_header_is_no_wait() -> None:
    """T21: without Retry-After nothing is waited for."""
    assert retry_after_seconds({}) is None


def failed(code: int, wait: float | None) -> APIError:
    return error_from_status(Status(code=code), retry_after_seconds=wait)


@pytest.mark.parametrize(
    ("error", "read", "wait"),
    [
        (failed(429, 3), True, 3.0),
        (failed(429, 3), False, 3.0),
        (failed(429, None), True, None),
        (failed(503, 3), True, 3.0),
        (failed(500, 3), True, 3.0),
        (failed(504, 3), True, 3.0),
        (failed(503, 3), False, None),
        (failed(503, None), True, None),
        (failed(409, 3), True, None),
        (failed(404, 3), True, None),
        (failed(429, 5000), True, 120.0),
        (ConnectionBroken("reset"), True, 1.0),
        (ConnectionBroken("reset"), False, None),
        (ConnectionRefused("refused"), True, None),
        (DeadlineExceeded("slow"), True, None),
        (BadAnswer("html"), True, None),
    ],
    ids=repr,
)
def test_what_is_repeated_and_when(error: APIError | TransportError, read: bool, wait: float | None) -> None:
    """T21, T23: 429 repeats anything, 5xx and a lost answer repeat reads, all else is the caller's."""
    assert wait_before_retry(error, read=read, uniform=0.0) == wait


def test_waits_are_spread_but_never_shorter() -> None:
    """T21: clients that were told the same wait come back at different times, none too early."""
    assert wait_before_retry(failed(429, 10), read=True, uniform=0.5) == pytest.approx(10.5)


def test_a_version_from_the_future_is_not_waited_for() -> None:
    """T32: the reflector has a better answer than to wait for a server that lags."""
    details = StatusDetails(causes=(StatusCause("ResourceVersionTooLarge"),), retry_after_seconds=1)
    error = error_from_status(Status(code=504, reason="Timeout", details=details))
    assert error.retry_after_seconds == 1.0
    assert wait_before_retry(error, read=True, uniform=0.0) is None
