"""A request, its answer, and what the core is told about the world around it."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

from sandbox.stored import Change
from sandbox.watches import Subscription

Headers = tuple[tuple[str, str], ...]


class Query:
    """Query parameters: a name may occur more than once, the first one counts."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, list[str]]) -> None:
        self._values = values

    @classmethod
    def parse(cls, text: str) -> Query:
        """Read the part of a URL after the question mark."""
        values: dict[str, list[str]] = {}
        for name, value in parse_qsl(text, keep_blank_values=True):
            values.setdefault(name, []).append(value)
        return cls(values)

    def get(self, name: str) -> str | None:
        """The first value, None when absent."""
        values = self._values.get(name)
        return values[0] if values else None

    def all(self, name: str) -> list[str]:
        """Every value of a name."""
        return list(self._values.get(name, ()))


EMPTY_QUERY = Query({})


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request; path is without the query and still percent-encoded, header names are lower-case."""

    method: str
    path: str
    query: Query = EMPTY_QUERY
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Response:
    """An answer; body parts are joined by the writer, so that lists are not copied on the way."""

    status: int
    headers: Headers
    body: tuple[bytes, ...] = ()

    def content(self) -> bytes:
        """The whole body."""
        return b"".join(self.body)


@dataclass(frozen=True, slots=True)
class WatchResponse:
    """A stream of events: 200, these headers, then whatever the subscription yields."""

    headers: Headers
    subscription: Subscription


@dataclass(frozen=True, slots=True)
class User:
    """Who sends a request."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""


@dataclass(frozen=True, slots=True)
class Context:
    """
    What the core cannot know by itself.

    now is unix seconds; random and new_uid are the only sources of chance, so a run is a function of their seed.
    """

    now: float
    user: User
    random: random.Random
    new_uid: Callable[[], str]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The answer to a request and what it changes; the store commits the changes."""

    response: Response | WatchResponse
    changes: tuple[Change, ...] = ()
