"""Builds the server's refusals, and finds the object of a write."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from handloop.client.http.response import Response

_PLACE: Final = re.compile(
    r"(?P<collection>/(?:api/[^/]+|apis/[^/]+/[^/]+)"
    r"(?:/namespaces/(?P<namespace>[^/]+)(?=/))?/[^/]+)(?:/(?P<name>[^/]+))?"
)
_REASONS: Final = {
    403: "Forbidden",
    404: "NotFound",
    409: "Conflict",
    410: "Expired",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}


def answer_of(code: int) -> Response:
    """Return the response with which the server refuses a request. Args: code: its status code."""
    reason = _REASONS[code]
    status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": code}
    headers = {"Content-Type": "application/json"} | ({"Retry-After": "1"} if code == 429 else {})  # noqa: PLR2004
    body = json.dumps(status | {"message": f"the plan answers with {code}"}).encode()
    return Response(code, headers, body)


def target_of(method: str, path: str, body: bytes | None) -> str:
    """Return the path of a write's object, or the collection's path for a create without a name."""
    target = path.removesuffix("/status").removesuffix("/finalizers").removesuffix("/scale")
    if method != "POST" or not body:
        return target
    wanted: dict[str, Any] = json.loads(body)
    name = wanted.get("metadata", {}).get("name", "")
    return f"{target}/{name}" if name else target


def place_of(target: str) -> tuple[str, str, str]:
    """Return a target's namespace, its collection's path, and its name. Missing parts are ""."""
    match = _PLACE.match(target)
    return (match["namespace"] or "", match["collection"], match["name"] or "") if match else ("", target, "")
