"""Words of the command line become values, or an error with the reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from handloop.controller.cli.flags import UsageError
from handloop.controller.cli.values import (
    controller_names,
    duration,
    format_duration,
    ip_address_text,
    not_negative,
    one_of,
    port_number,
    verbosity_level,
    whole,
    workers_count,
)
from handloop.controller.program import NAMES
from support.builders.options import parse_options


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
    ("seconds", "text"),
    [
        (30, "30s"),
        (90, "1m30s"),
        (0.5, "500ms"),
        (3600, "1h"),
        (0, "0s"),
        (3661.5, "1h1m1.5s"),
    ],
)
def test_durations_are_written_as_people_write_them(seconds: float, text: str) -> None:
    """The shortest spelling comes out, and reads back as the same."""
    assert format_duration(seconds) == text
    assert duration(text) == pytest.approx(seconds)


def test_all_run_by_default() -> None:
    """Foo and MyApp, in one process."""
    assert parse_options([], {}).controllers == NAMES == ("foo", "myapp")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("foo", ("foo",)),
        ("myapp,foo", ("foo", "myapp")),
        (" myapp , foo ,", ("foo", "myapp")),
        ("foo,foo", ("foo",)),
        ("*", ("foo", "myapp")),
        ("foo,*", ("foo", "myapp")),
    ],
)
def test_a_list_selects(text: str, names: tuple[str, ...]) -> None:
    """In any order of names, each once, * for all; by its variable as by its flag."""
    assert controller_names(text, NAMES) == names
    assert parse_options([f"--controllers={text}"], {}).controllers == names
    assert parse_options([], {"CONTROLLER_CONTROLLERS": text}).controllers == names


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fo", '--controllers: unknown controller "fo"; did you mean foo?'),
        ("foo,my-app", '--controllers: unknown controller "my-app"; did you mean myapp?'),
        ("xyz", '--controllers: unknown controller "xyz"; have: foo, myapp'),
        (",", "--controllers: at least 1 controller is needed; have: foo, myapp"),
    ],
)
def test_an_unknown_name_is_a_usage_error(text: str, message: str) -> None:
    """With the nearest name that exists."""
    with pytest.raises(UsageError) as caught:
        parse_options([f"--controllers={text}"], {})
    assert str(caught.value) == message
