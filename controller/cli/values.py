"""How the words of the command line become values; each raises ValueError with a text for people."""

from __future__ import annotations

import re
from collections.abc import Callable
from ipaddress import ip_address
from typing import Final

from handloop.controller.cli.durations import parse_duration

MAX_VERBOSITY: Final = 9
_TRUE: Final = ("true", "True", "TRUE", "t", "T", "1")
_FALSE: Final = ("false", "False", "FALSE", "f", "F", "0")
_MAX_NAME: Final = 253
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", re.ASCII)
MAX_PORT: Final = 65535


def duration(text: str) -> float:
    """A duration of 0 or more in Go's form, such as `1m30s`, in seconds."""
    seconds = parse_duration(text)
    if seconds < 0:
        raise ValueError(f'duration "{text}" must not be negative')
    return seconds


def workers_count(text: str) -> int:
    """How many workers: 1 or more."""
    workers = int(text)
    if workers < 1:
        raise ValueError("at least 1 worker is needed")
    return workers


def verbosity_level(text: str) -> int:
    """A level of klog, 0 to 9."""
    level = int(text)
    if not 0 <= level <= MAX_VERBOSITY:
        raise ValueError("levels are 0 to 9")
    return level


def boolean(text: str) -> bool:
    """A truth value as Go's flags spell it."""
    if text not in (*_TRUE, *_FALSE):
        raise ValueError(f'"{text}" is neither true nor false')
    return text in _TRUE


def lease_name(text: str) -> str:
    """A name that an object may have."""
    if len(text) > _MAX_NAME or not _NAME.fullmatch(text):
        raise ValueError(f'"{text}" is no name: lower case letters, digits, "-" and "."')
    return text


def one_of(*choices: str) -> Callable[[str], str]:
    """A parser that takes one of some words."""

    def parse(text: str) -> str:
        if text not in choices:
            raise ValueError(f'"{text}" is none of {", ".join(choices)}')
        return text

    return parse


def not_negative(text: str) -> float:
    """A finite number of 0 or more."""
    number = float(text)
    if not 0 <= number < float("inf"):
        raise ValueError("must be 0 or more")
    return number


def whole(text: str) -> int:
    """A whole number of 0 or more."""
    number = int(text)
    if number < 0:
        raise ValueError("must be 0 or more")
    return number


def ip_address_text(text: str) -> str:
    """An IP address, not a name: a name could be several."""
    try:
        return str(ip_address(text))
    except ValueError:
        raise ValueError(f'"{text}" is not an IP address such as 127.0.0.1') from None


def port_number(text: str) -> int:
    """A port; 0 picks a free one."""
    port = int(text)
    if not 0 <= port <= MAX_PORT:
        raise ValueError("ports are 0 to 65535")
    return port
