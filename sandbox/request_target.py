"""
What the first line of a request names: whom it is for, a path, a query.

Follows: RFC 9112 section 3.2; Go's net/http (Request.Host, url.Parse).
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_ABSOLUTE: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://(?:[^/?#@]*@)?([^/?#]*)(.*)", re.DOTALL)
_BAD_ESCAPE: Final = re.compile("%(?![0-9A-Fa-f]{2})")


class Target(NamedTuple):
    """The parts; path and query are still percent-encoded."""

    authority: str
    path: str
    query: str


def of(text: str, host: str) -> Target:
    """The target of a request; the absolute form, as proxies get it, names another host than the header."""
    absolute = None if text.startswith("/") else _ABSOLUTE.fullmatch(text)
    authority, rest = (absolute[1], absolute[2]) if absolute else (host, text)
    path, _, query = rest.partition("?")
    return Target(authority, path or "/", query)


def is_escaped(path: str) -> bool:
    """Whether every percent sign escapes something."""
    return _BAD_ESCAPE.search(path) is None
