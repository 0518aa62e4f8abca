"""
The target of an HTTP request: its host, path and query parameters.

Follows: RFC 9112 section 3.2; Go's net/http (Request.Host, url.Parse).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple
from urllib.parse import parse_qsl


class Query:
    """The query parameters of a request. If a name occurs more than once, get() returns its first value."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, list[str]]) -> None:
        self._values = values

    @classmethod
    def parse(cls, text: str) -> Query:
        """Parse the part of a URL after the question mark."""
        values: dict[str, list[str]] = {}
        for name, value in parse_qsl(text, keep_blank_values=True):
            values.setdefault(name, []).append(value)
        return cls(values)

    def get(self, name: str) -> str | None:
        """Return a parameter's first value, or None if it is absent."""
        values = self._values.get(name)
        return values[0] if values else None

    def all(self, name: str) -> list[str]:
        """Return all values of a parameter."""
        return list(self._values.get(name, ()))


EMPTY_QUERY = Query({})


_ABSOLUTE: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://(?:[^/?#@]*@)?([^/?#]*)(.*)", re.DOTALL)
_BAD_ESCAPE: Final = re.compile("%(?![0-9A-Fa-f]{2})")


class Target(NamedTuple):
    """The parts of a request target. path and query are still percent-encoded."""

    authority: str
    path: str
    query: str


def target_of(text: str, host: str) -> Target:
    """
    Parse the target in a request line.

    Proxies receive the absolute form, whose host takes precedence over the Host header.
    """
    absolute = None if text.startswith("/") else _ABSOLUTE.fullmatch(text)
    authority, rest = (absolute[1], absolute[2]) if absolute else (host, text)
    path, _, query = rest.partition("?")
    return Target(authority, path or "/", query)


def is_escaped(path: str) -> bool:
    """Return whether every percent sign in a path starts a valid escape."""
    return _BAD_ESCAPE.search(path) is None
