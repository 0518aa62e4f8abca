from __future__ import annotations

import pytest

from handloop_sandbox.kinds import formats


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("date-time", "2020-01-01T00:00:00Z", "x"),
        ("date", "2020-01-01", "2020-13-01"),
        ("duration", "5s", "x"),
        ("byte", "YQ==", "%"),
        ("ipv4", "10.0.0.1", "::1"),
        ("ipv6", "::1", "10.0.0.1"),
        ("cidr", "10.0.0.0/8", "10.0.0.1"),
        ("mac", "01:23:45:67:89:ab", "01:23"),
        ("email", "a@b.c", "a"),
        ("hostname", "a.example.com", "a_b"),
        ("uri", "http://a/b", "a b"),
        ("uuid", "12345678-1234-1234-1234-123456789abc", "1234"),
        ("uuid4", "12345678-1234-4234-1234-123456789abc", "12345678-1234-1234-1234-123456789abc"),
        ("isbn10", "0306406152", "03"),
        ("isbn", "9780306406157", "x"),
        ("creditcard", "4111 1111 1111 1111", "4111"),
        ("ssn", "111-11-1111", "111"),
        ("hexcolor", "#ff0000", "red"),
        ("rgbcolor", "rgb(1,2,3)", "1,2,3"),
    ],
)
def test_formats_separate_good_from_bad(name: str, good: str, bad: str) -> None:
    """Each format takes its own and refuses others."""
    assert formats.matches(name, good)
    assert not formats.matches(name, bad)


def test_an_unknown_format_allows_everything() -> None:
    """An unknown format is no rule."""
    assert formats.matches("whatever", "x")


@pytest.mark.parametrize(
    "text", ["0", "-1.5h", "1 week", "2 Days", "5hours", "--1s", "in 3 min", "1\u03bcs", "1h-5m"]
)
def test_many_texts_are_durations(text: str) -> None:
    """What Go parses, and whole numbers with units anywhere in a text. Follows strfmt.ParseDuration."""
    assert formats.matches("duration", text)


@pytest.mark.parametrize(
    "text", ["", "1", "s", ".s", "1x", "1" * 20 + "x", "1" * 20 + "sec", "1" * 200_000], ids=len
)
def test_texts_that_are_no_durations(text: str) -> None:
    """Numbers or units alone, numbers beyond 64 bits; a long text is no trouble."""
    assert not formats.matches("duration", text)
