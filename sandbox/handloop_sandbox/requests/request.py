"""A request, its answer, and the data and settings that the core receives from outside."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from handloop_sandbox.storage.stored import Change
from handloop_sandbox.storage.watches import Subscription
from handloop_sandbox.wire.query import EMPTY_QUERY, Query

Headers = tuple[tuple[str, str], ...]
# defaultGzipThresholdBytes of apiserver pkg/endpoints/handlers/responsewriters/writers.go
_PLAIN_BYTES: Final = 128 * 1024
_NO_EXTRA: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType({})
_NO_FIELDS: Final[Mapping[str, str]] = MappingProxyType({})


class Request(NamedTuple):
    """
    One HTTP request.

    path has no query and is still percent-encoded; header names are lower-case. If a header is repeated and
    several of its values count, they are separated by newlines.
    """

    method: str
    path: str
    query: Query = EMPTY_QUERY
    headers: Mapping[str, str] = _NO_FIELDS
    body: bytes = b""


class Response(NamedTuple):
    """An answer. The parts of its body are joined only when they are written, to avoid copying long lists."""

    status: int
    headers: Headers
    body: tuple[bytes, ...] = ()

    @property
    def size(self) -> int:
        """The length of the body in bytes."""
        return sum(map(len, self.body))

    def content(self) -> bytes:
        """Return the whole body."""
        return b"".join(self.body)

    def in_gzip(self) -> Response:
        """Return the answer compressed with gzip, or unchanged if it is small."""
        if self.size <= _PLAIN_BYTES:
            return self
        headers = (*self.headers, ("Content-Encoding", "gzip"), ("Vary", "Accept-Encoding"))
        return Response(self.status, headers, (gzip.compress(self.content(), compresslevel=1, mtime=0),))

    def blocks(self, least: int) -> Iterator[bytes]:
        """Yield the body in pieces of at least this many bytes, except for the last one."""
        parts: list[bytes] = []
        size = 0
        for part in self.body:
            parts.append(part)
            size += len(part)
            if size >= least:
                yield b"".join(parts)
                parts.clear()
                size = 0
        if parts:
            yield b"".join(parts)


class WatchResponse(NamedTuple):
    """A stream of watch events: 200, these headers, and then the lines of the subscription."""

    headers: Headers
    subscription: Subscription


class User(NamedTuple):
    """The sender of a request. extra holds more attributes by name, for webhooks and rules."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = _NO_EXTRA

    def info(self) -> dict[str, Any]:
        """Return the user as a UserInfo object without empty fields."""
        extra = {name: list(values) for name, values in self.extra.items()}
        about = {"username": self.name, "uid": self.uid, "groups": list(self.groups), "extra": extra}
        return {name: value for name, value in about.items() if value}


class Context(NamedTuple):
    """
    What the core needs from outside: time, randomness, keys, and settings.

    now is unix seconds. random and new_uid are the only sources of randomness, so a run is a function of
    their seed. signing_key signs tokens, sharded_list_and_watch is a feature gate, users are keyed by their
    tokens. With account_admission, pods run as service accounts, which must exist.
    """

    now: float
    user: User
    random: random.Random
    new_uid: Callable[[], str]
    signing_key: bytes = b""
    sharded_list_and_watch: bool = False
    users: Mapping[str, User] | None = None
    account_admission: bool = False


class Outcome(NamedTuple):
    """The answer to a request and its changes, which the store commits."""

    response: Response | WatchResponse
    changes: tuple[Change, ...] = ()
