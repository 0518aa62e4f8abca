from __future__ import annotations

import pytest

from handloop_sandbox.wire import go_time


@pytest.mark.parametrize(
    ("text", "micros", "expected"),
    [
        ("2026-01-02T03:04:05Z", False, "2026-01-02T03:04:05Z"),
        ("2026-01-02T03:04:05.9Z", False, "2026-01-02T03:04:05Z"),
        ("2026-01-02T03:04:05+01:00", False, "2026-01-02T02:04:05Z"),
        ("2026-01-02T03:04:05.000001Z", True, "2026-01-02T03:04:05.000001Z"),
    ],
)
def test_the_form_a_time_is_written_in(text: str, micros: bool, expected: str) -> None:
    """Times are written in UTC, with seconds or with microseconds."""
    assert go_time.canonical(text, micros=micros) == expected


@pytest.mark.parametrize(
    ("text", "micros", "message"),
    [
        ("x", False, 'parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"'),
        (
            "2026-01-02T03:04:05Z",
            True,
            (
                'parsing time "2026-01-02T03:04:05Z" as "2006-01-02T15:04:05.000000Z07:00": '
                'cannot parse "Z" as ".000000"'
            ),
        ),
        ("2026-13-02T03:04:05Z", False, 'parsing time "2026-13-02T03:04:05Z": month out of range'),
        ("2026-02-30T03:04:05Z", False, 'parsing time "2026-02-30T03:04:05Z": day out of range'),
        ("2026-01-02T03:04:05Zx", False, 'parsing time "2026-01-02T03:04:05Zx": extra text: "x"'),
    ],
)
def test_gos_words_for_what_is_no_time(text: str, micros: bool, message: str) -> None:
    """Errors have the words of Go's parser."""
    with pytest.raises(go_time.TimeError) as raised:
        go_time.canonical(text, micros=micros)
    assert str(raised.value) == message


def test_unix_seconds_and_back() -> None:
    """A moment survives being written, to the second."""
    assert go_time.from_unix(1_700_000_000.5) == "2023-11-14T22:13:20Z"
    assert go_time.from_unix(1_700_000_000.5, micros=True) == "2023-11-14T22:13:20.500000Z"
    assert go_time.to_unix("2023-11-14T22:13:20Z") == 1_700_000_000.0
