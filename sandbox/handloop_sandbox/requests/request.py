"""Requests, their answers, and the data and settings that are needed to carry them out."""

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
# defaultGzipThresholdBytes in apiserver's pkg/endpoints/handlers/responsewriters/writers.go
_PLAIN_BYTES: Final = 128 * 1024
_NO_EXTRA: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType({})
_NO_FIELDS: Final[Mapping[str, str]] = MappingProxyType({})


class Request(NamedTuple):
    """
    One HTTP request.

    path does not include the query, and is still percent-encoded. Header names are in lower case. The values
    of a repeated Impersonate header are separated by newlines.
    """

    method: str
    path: str
    query: Query = EMPTY_QUERY
    headers: Mapping[str, str] = _NO_FIELDS
    body: bytes = b""


class Response(NamedTuple):
    """
    An answer to a request.

    The parts of its body are joined only when they are written, so that long lists are not copied.
    """

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
    """An answer with status 200 whose body is a stream of watch events, the subscription's lines."""

    headers: Headers
    subscription: Subscription


class User(NamedTuple):
    """The sender of a request. extra maps names to further attributes, for webhooks and rules."""

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
    The time, the randomness, the keys and the settings that are needed to carry out a request.

    now is in Unix seconds. random and new_uid are the only sources of randomness, so that the same seed
    produces the same run. signing_key signs tokens. sharded_list_and_watch is a feature gate. users maps
    tokens to users. If account_admission is true, pods run as service accounts, which must exist.
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
    """The answer to a request, and the changes that the store must commit."""

    response: Response | WatchResponse
    changes: tuple[Change, ...] = ()
