"""
Requests with which tests in any language control the sandbox.

Their paths have a prefix that a real API server does not use. Only administrators can send them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from handloop_sandbox.controls import fixtures, moved_clock
from handloop_sandbox.controls.client import Client
from handloop_sandbox.controls.ended_job import FAILED, FINISHED, end_job
from handloop_sandbox.controls.machine import Machine
from handloop_sandbox.controls.moved_clock import Move
from handloop_sandbox.faults.fault import AnyFault
from handloop_sandbox.faults.faults import Faults
from handloop_sandbox.grammar.times import format_time
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
HELP: Final = """\
GET    /sandbox/clock                         the time, and whether it runs
POST   /sandbox/clock                         {"running": false}, {"advanceSeconds": 60},
                                              or {"time": "2030-01-01T00:00:00Z"}
POST   /sandbox/load                          apply the objects of a YAML or JSON text, with their status
POST   /sandbox/jobs/NAMESPACE/NAME/finish    end a Job well; with fail in place of finish, badly
POST   /sandbox/reset                         the objects of the start, no faults
POST   /sandbox/keep                          the objects of now are those of the start
GET    /sandbox/faults                        the faults
POST   /sandbox/faults                        add one: {"fault": "error", "code": 503, "verbs": ["list"]}
DELETE /sandbox/faults                        clear all; with /NAME after it, one
POST   /sandbox/compact                       forget older versions, as etcd does
POST   /sandbox/rewind                        restore a backup: {"changes": 5}
"""
_JSON: Final = (("Content-Type", "application/json"), ("Cache-Control", "no-cache, private"))
_TEXT: Final = (("Content-Type", "text/plain; charset=utf-8"), ("Cache-Control", "no-cache, private"))
_ENDS: Final = {"finish": FINISHED, "fail": FAILED}


class _Compact(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    resource_version: int | None = None


class _Rewind(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    changes: Annotated[int, Meta(ge=0)] | None = None
    resource_version: Annotated[int, Meta(ge=0)] | None = None


_FAULT: Final[Any] = msgspec.json.Decoder(AnyFault, strict=False)
_COMPACT: Final = msgspec.json.Decoder(_Compact, strict=False)
_REWIND: Final = msgspec.json.Decoder(_Rewind, strict=False)
_MOVE: Final = msgspec.json.Decoder(Move, strict=False)


def concerns(path: str) -> bool:
    """Return whether a path belongs to the controls."""
    return path == PREFIX or path.startswith(f"{PREFIX}/")


def answer(machine: Machine, request: Request) -> Response:
    """
    Handle a request to a control.

    Raises: StatusError or PageNotFoundError if the request is refused, or the errors of Machine.answer.
    """
    match split(request.path)[1:]:
        case ["faults", *words]:
            return _on_faults(machine.faults, request, words)
        case ["jobs", namespace, name, ("finish" | "fail") as end]:
            _must_be_post(request)
            now = format_time(machine.clock.time())
            return _json(200, end_job(Client(machine, request), namespace, name, _ENDS[end], now))
        case []:
            return Response(200, _TEXT, (HELP.encode(),))
        case ["clock"] if request.method == "GET":
            return _json(200, moved_clock.shown(machine))
        case [word] if word in _ACTIONS:
            _must_be_post(request)
            return _json(200, _ACTIONS[word](machine, request))
    raise PageNotFoundError


def _must_be_post(request: Request) -> None:
    if request.method != "POST":
        raise wrong_method()


def _clock(machine: Machine, request: Request) -> Any:
    moved_clock.move(machine, _decoded(_MOVE, request))
    return moved_clock.shown(machine)


def _load(machine: Machine, request: Request) -> Any:
    return {"items": fixtures.load(machine, Client(machine, request), request.body)}


def _reset(machine: Machine, _: Request) -> Any:
    machine.faults.clear()
    return success({"changed": machine.reset()})


def _keep(machine: Machine, _: Request) -> Any:
    machine.keep_as_start()
    return success()


def _compact(machine: Machine, request: Request) -> Any:
    machine.faults.compact(_decoded(_COMPACT, request).resource_version)
    return success()


def _rewind(machine: Machine, request: Request) -> Any:
    wanted: _Rewind = _decoded(_REWIND, request)
    try:
        version = machine.faults.rewind(changes=wanted.changes, resource_version=wanted.resource_version)
    except ValueError as error:
        raise bad_request(str(error)) from error
    return {"resourceVersion": str(version)}


_ACTIONS: Final[Mapping[str, Callable[[Machine, Request], Any]]] = {
    "clock": _clock,
    "load": _load,
    "reset": _reset,
    "keep": _keep,
    "compact": _compact,
    "rewind": _rewind,
}


def _on_faults(faults: Faults, request: Request, words: list[str]) -> Response:
    match (request.method, *words):
        case ("GET",):
            return _json(200, {"items": [injection.document() for injection in faults.list()]})
        case ("POST",):
            return _json(201, faults.inject(_decoded(_FAULT, request)).document())
        case ("DELETE",):
            return _json(200, success({"cleared": faults.clear()}))
        case ("DELETE", name):
            if not faults.clear(name):
                raise StatusError(failure(404, "NotFound", f'there is no fault "{name}"'))
            return _json(200, success({"cleared": 1}))
        case (_,) | (_, _):
            raise wrong_method()
    raise PageNotFoundError


def _decoded(decoder: Any, request: Request) -> Any:
    try:
        return decoder.decode(request.body or b"{}")
    except (msgspec.DecodeError, RecursionError) as error:  # DecodeError includes ValidationError
        raise bad_request(str(error)) from error


def _json(code: int, value: Any) -> Response:
    return Response(code, _JSON, (msgspec.json.encode(value) + b"\n",))
