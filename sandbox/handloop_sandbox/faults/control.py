"""
Faults over HTTP, under a prefix that no API server has.

`/sandbox/faults` lists, adds and clears faults. `/sandbox/compact` and `/sandbox/rewind` act at once. The
engine lets only administrators through.
"""

from __future__ import annotations

from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from handloop_sandbox.faults.fault import AnyFault
from handloop_sandbox.faults.faults import Faults
from handloop_sandbox.requests.request import Request, Response
from handloop_sandbox.requests.routes import split
from handloop_sandbox.wire.status import (
    PageNotFoundError,
    StatusError,
    bad_request,
    failure,
    success,
    wrong_method,
)

PREFIX: Final = "/sandbox"
_HEADERS: Final = (("Content-Type", "application/json"), ("Cache-Control", "no-cache, private"))


class _Compact(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    resource_version: int | None = None


class _Rewind(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    changes: Annotated[int, Meta(ge=0)] | None = None
    resource_version: Annotated[int, Meta(ge=0)] | None = None


_FAULT: Final[Any] = msgspec.json.Decoder(AnyFault, strict=False)
_COMPACT: Final = msgspec.json.Decoder(_Compact, strict=False)
_REWIND: Final = msgspec.json.Decoder(_Rewind, strict=False)


def concerns(path: str) -> bool:
    """Whether a path is one of the sandbox's own."""
    return path == PREFIX or path.startswith(f"{PREFIX}/")


def answer(faults: Faults, request: Request) -> Response:
    """
    Carry out a request.

    Raises: StatusError, PageNotFoundError for a refusal.
    """
    match (request.method, *split(request.path)[1:]):
        case ("GET", "faults"):
            return _json(200, {"items": [injection.document() for injection in faults.list()]})
        case ("POST", "faults"):
            return _json(201, faults.inject(_decoded(_FAULT, request)).document())
        case ("DELETE", "faults"):
            return _json(200, success({"cleared": faults.clear()}))
        case ("DELETE", "faults", name):
            if not faults.clear(name):
                raise StatusError(failure(404, "NotFound", f'there is no fault "{name}"'))
            return _json(200, success({"cleared": 1}))
        case ("POST", "compact"):
            faults.compact(_decoded(_COMPACT, request).resource_version)
            return _json(200, success())
        case ("POST", "rewind"):
            return _rewind(faults, request)
        case (_, "faults") | (_, "faults", _) | (_, "compact") | (_, "rewind"):
            raise wrong_method()
    raise PageNotFoundError


def _rewind(faults: Faults, request: Request) -> Response:
    wanted: _Rewind = _decoded(_REWIND, request)
    try:
        version = faults.rewind(changes=wanted.changes, resource_version=wanted.resource_version)
    except ValueError as error:
        raise bad_request(str(error)) from error
    return _json(200, {"resourceVersion": str(version)})


def _decoded(decoder: Any, request: Request) -> Any:
    try:
        return decoder.decode(request.body or b"{}")
    except (msgspec.DecodeError, RecursionError) as error:  # ValidationError is one of them
        raise bad_request(str(error)) from error


def _json(code: int, value: Any) -> Response:
    return Response(code, _HEADERS, (msgspec.json.encode(value) + b"\n",))
