"""The `Status` that the server returns in place of an object."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

_MESSAGE_LIMIT = 2048
# A server quotes invalid input in its messages, either as Go prints the value or with the surrounding body.
_QUOTED = re.compile(
    r'(?<=Invalid value: )"(?:\{|map\[)(?:[^"\\]|\\.)*"|(?<=, got )&.*|(?<=byte of )\.\.\..*', re.DOTALL
)


class StatusCause(msgspec.Struct, frozen=True, gc=False):
    """One cause of a failure. field is a path such as `spec.replicas`."""

    reason: str = ""
    message: str = ""
    field: str = ""


class StatusDetails(msgspec.Struct, frozen=True, gc=False):
    """The object that the response is about. `kind` is the plural resource name in most responses."""

    name: str = ""
    group: str = ""
    kind: str = ""
    uid: str = ""
    causes: tuple[StatusCause, ...] = ()
    retry_after_seconds: int = 0


class Status(msgspec.Struct, frozen=True, gc=False):
    """A `v1.Status`. If the reason or the HTTP status code is not known, reason is "" or code is 0."""

    code: int = 0
    reason: str = ""
    message: str = ""
    status: str = "Failure"
    details: StatusDetails = StatusDetails()


def without_values(status: Status) -> Status:
    """Return a status about a Secret without quoted values, because they may come from the Secret's data."""
    causes = tuple(replace(each, message=_QUOTED.sub("***", each.message)) for each in status.details.causes)
    message, details = _QUOTED.sub("***", status.message), replace(status.details, causes=causes)
    return replace(status, message=message, details=details)


# The reasons for HTTP status codes, for bodies without a reason (from proxies or webhooks, or in plain text).
_REASON_BY_CODE: Mapping[int, str] = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    406: "NotAcceptable",
    409: "Conflict",
    410: "Gone",
    413: "RequestEntityTooLarge",
    415: "UnsupportedMediaType",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}


def reason_for_code(code: int) -> str:
    """Return the reason for an HTTP status code, or "" if the code has none."""
    return _REASON_BY_CODE.get(code, "")


def status_from_json(value: Any, *, code: int = 0) -> Status:
    """
    Read a decoded `Status` of any shape. Fields of the wrong type are treated as absent.

    Args: code is the response's HTTP status code, which is used if the body has none. For a Status inside
    a watch stream, code is 0.
    """
    body = _mapping(value)
    found = _int(body.get("code")) or code
    return Status(
        code=found,
        reason=_text(body.get("reason")) or reason_for_code(found),
        message=_text(body.get("message")),
        status=_text(body.get("status")) or "Failure",
        details=_details(_mapping(body.get("details"))),
    )


def status_from_body(body: bytes, code: int) -> Status:
    """Read the body of a failed request: a JSON `Status`, or any text, which becomes the message."""
    try:
        value = msgspec.json.decode(body)
    except (ValueError, RecursionError):  # msgspec's errors and UnicodeDecodeError are ValueErrors
        return Status(code=code, reason=reason_for_code(code), message=_printable(body))
    if isinstance(value, dict) and value.get("kind") == "Status":
        return status_from_json(value, code=code)
    return Status(code=code, reason=reason_for_code(code), message=_printable(body))


def _details(body: Mapping[str, Any]) -> StatusDetails:
    causes = body.get("causes")
    return StatusDetails(
        name=_text(body.get("name")),
        group=_text(body.get("group")),
        kind=_text(body.get("kind")),
        uid=_text(body.get("uid")),
        causes=tuple(_cause(cause) for cause in causes) if isinstance(causes, list) else (),
        retry_after_seconds=max(0, _int(body.get("retryAfterSeconds"))),
    )


def _cause(value: Any) -> StatusCause:
    body = _mapping(value)
    return StatusCause(
        reason=_text(body.get("reason")), message=_text(body.get("message")), field=_text(body.get("field"))
    )


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _int(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _printable(body: bytes) -> str:
    text = body[:_MESSAGE_LIMIT].decode("utf-8", "backslashreplace").strip()
    return "".join(char if char.isprintable() or char == "\n" else f"\\x{ord(char):02x}" for char in text)
