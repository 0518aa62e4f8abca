"""Words of the command line become values, or a text that says why not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from handloop.controller.cli.values import (
    duration,
    ip_address_text,
    not_negative,
    one_of,
    port_number,
    verbosity_level,
    whole,
    workers_count,
)


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (duration, "1m30s", 90.0),
        (duration, "0", 0.0),
        (workers_count, "1", 1),
        (verbosity_level, "9", 9),
        (one_of("a", "b"), "b", "b"),
        (not_negative, "0.5", 0.5),
        (whole, "0", 0),
        (port_number, "65535", 65535),
        (ip_address_text, "127.0.0.1", "127.0.0.1"),
        (ip_address_text, "::1", "::1"),
    ],
)
def test_a_good_word_is_its_value(parse: Callable[[str], Any], text: str, value: object) -> None:
    """Each parser takes the ends of its range."""
    assert parse(text) == value


@pytest.mark.parametrize(
    ("parse", "text", "message"),
    [
        (duration, "-1s", "must not be negative"),
        (workers_count, "0", "at least 1 worker"),
        (verbosity_level, "10", "levels are 0 to 9"),
        (one_of("a", "b"), "c", '"c" is none of a, b'),
        (not_negative, "nan", "must be 0 or more"),
        (whole, "-1", "must be 0 or more"),
        (port_number, "65536", "ports are 0 to 65535"),
        (ip_address_text, "localhost", "is not an IP address"),
    ],
)
def test_a_bad_word_is_refused(parse: Callable[[str], Any], text: str, message: str) -> None:
    """Beyond the range there is an error with a text for people."""
    with pytest.raises(ValueError, match=message):
        parse(text)
