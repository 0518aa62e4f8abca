"""Parsers for values on the command line. Each raises ValueError with a message for the user."""

from __future__ import annotations

import difflib
import math
import re
import sys
from collections.abc import Callable, Collection, Sequence
from ipaddress import ip_address
from typing import Final, TypeVar
from urllib.parse import urlsplit

from handloop.apis.grammar.duration import DurationError, parse_duration
from handloop.controller.runtime.serving.bind_address import MAX_PORT, BindAddress

N = TypeVar("N", int, float)

MAX_VERBOSITY: Final = 9
_TRUE: Final = ("true", "True", "TRUE", "t", "T", "1")
_FALSE: Final = ("false", "False", "FALSE", "f", "F", "0")
_MAX_NAME: Final = 253
_MAX_LABEL: Final = 63
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", re.ASCII)


def number(kind: type[N], least: float, most: float, otherwise: str) -> Callable[[str], N]:
    """Return a parser for numbers from least to most. otherwise is the error message for any other number."""

    def parse(text: str) -> N:
        number = kind(text)
        if not least <= number <= most:
            raise ValueError(otherwise)
        return number

    return parse


positive: Final = number(float, sys.float_info.min, sys.float_info.max, "must be more than 0")
not_negative: Final = number(float, 0, sys.float_info.max, "must be 0 or more")
whole: Final = number(int, 0, math.inf, "must be 0 or more")
workers_count: Final = number(int, 1, math.inf, "at least 1 worker is needed")
verbosity_level: Final = number(int, 0, MAX_VERBOSITY, "levels are 0 to 9")
port_number: Final = number(int, 0, MAX_PORT, "ports are 0 to 65535")
"""0 picks a free port."""


def boolean(text: str) -> bool:
    """Parse a boolean as Go's flag package does."""
    if text not in (*_TRUE, *_FALSE):
        raise ValueError(f'"{text}" is neither true nor false')
    return text in _TRUE


def lease_name(text: str) -> str:
    """Parse an object's name, which is a DNS subdomain."""
    if len(text) > _MAX_NAME or not _NAME.fullmatch(text):
        raise ValueError(f'"{text}" is not a name: use lower case letters, digits, "-" and "."')
    return text


def namespace_name(text: str) -> str:
    """Parse a namespace's name, which is a DNS label. "" stays ""."""
    if text and (len(text) > _MAX_LABEL or "." in text or not _NAME.fullmatch(text)):
        raise ValueError(
            f'"{text}" is not a valid name for a namespace: use up to 63 lower case letters, digits and "-"'
        )
    return text


def is_label_selector(text: str) -> bool:
    """Return whether a text is a label selector rather than a list of names."""
    return any(char in text for char in "=!()<>")


def namespaces(text: str) -> str:
    """
    Parse a list such as `a,b` ("" means all), or a selector for namespace labels, such as `team=a`.

    An empty item in a list is an error, because an unset variable may cause it.
    """
    if is_label_selector(text):
        from handloop.apis.grammar.labels import Operator, parse_selector  # noqa: PLC0415 - only for labels

        selector = parse_selector(text)
        names = [str(each) for each in selector.requirements if each.operator == Operator.EXISTS]
        if names:
            raise ValueError(f'"{text}" mixes the name {names[0]} with labels: use either names or labels')
        return str(selector)
    names = [name.strip() for name in text.split(",")] if text else []
    if not all(names):
        raise ValueError(f'"{text}" lacks the name of a namespace; for all namespaces, use -A')
    return ",".join(map(namespace_name, names))


def one_of(*choices: str) -> Callable[[str], str]:
    """Return a parser that accepts only these words."""

    def parse(text: str) -> str:
        if text not in choices:
            raise ValueError(f'"{text}" is not one of {", ".join(choices)}')
        return text

    return parse


def ip_address_text(text: str) -> str:
    """Parse an IP address. A host name is refused, because it may have several addresses."""
    try:
        return str(ip_address(text))
    except ValueError:
        raise ValueError(f'"{text}" is not an IP address such as 127.0.0.1') from None


def duration(text: str) -> float:
    """
    Parse a Go duration such as `1m30s` into seconds, at least 0. "0" needs no unit.

    Raises: ValueError with the message of Go's time.ParseDuration, and an example.
    """
    try:
        seconds = parse_duration(text) / 1e9
    except DurationError as error:
        told = str(error).removeprefix("time: ")
        raise ValueError(f"{told} (write, for example, 30s, 1m30s or 500ms)") from error
    if seconds < 0:
        raise ValueError(f'duration "{text}" must not be negative')
    return seconds


def format_duration(seconds: float) -> str:
    """Format seconds as Go usually does: `30s`, `1m30s`, `500ms`, `0s`. Args: seconds is 0 or more."""
    if 0 < seconds < 1:
        return f"{seconds * 1000:g}ms"
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(int(minutes), 60)
    parts = [f"{hours}h" if hours else "", f"{minutes}m" if minutes else "", f"{rest:g}s" if rest else ""]
    return "".join(parts) or "0s"


def nearest(word: str, known: Collection[str], *, otherwise: str = "") -> str:
    """Return `; did you mean X?` for an error message if a known word is similar to the unknown word."""
    near = difflib.get_close_matches(word, known, n=1)
    return f"; did you mean {near[0]}?" if near else otherwise


METRICS_ADDRESS: Final = BindAddress("127.0.0.1", 8080)
HEALTH_ADDRESS: Final = BindAddress("127.0.0.1", 8081)
LOOPBACK: Final = BindAddress("127.0.0.1", 0)


ALL: Final = "*"


def listed(text: str) -> tuple[str, ...]:
    """Return the words in a list such as `foo,myapp`."""
    return tuple(word.strip() for word in text.split(",") if word.strip())


def controller_names(text: str, names: Sequence[str]) -> tuple[str, ...]:
    """
    Parse a list such as `foo,myapp`, or `*` for all, in the order of names.

    Raises: ValueError for an unknown name, with the nearest existing name.
    """
    wanted = listed(text)
    have = f"; have: {', '.join(names)}"
    for name in wanted:
        if name != ALL and name not in names:
            raise ValueError(f'unknown controller "{name}"{nearest(name, names, otherwise=have)}')
    if not wanted:
        raise ValueError(f"at least 1 controller is needed{have}")
    return tuple(name for name in names if name in wanted or ALL in wanted)


def https_url(text: str) -> str:
    """Return a URL of the form `https://HOST:PORT`. Raises: ValueError for other texts."""
    parts = urlsplit(text)
    place = (parts.hostname, parts.port or 443)  # an invalid port raises ValueError when it is read
    beside = (parts.username, parts.path.rstrip("/"), parts.query, parts.fragment)
    if parts.scheme != "https" or not all(place) or any(beside):
        raise ValueError(f"{text!r} is not https://HOST:PORT")
    return text
