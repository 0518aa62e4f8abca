"""How scenes write their requests."""

from __future__ import annotations

from typing import Any, Final

from support.recorded.stories import GROUP, NAMESPACE, Step
from support.servers.api_server import MERGE

BASE: Final = f"/api/v1/namespaces/{NAMESPACE}"
WIDGETS: Final = f"/apis/{GROUP}/v1/namespaces/{NAMESPACE}/widgets"


def named(name: str, **metadata: Any) -> dict[str, Any]:
    """The metadata of an object."""
    return {"metadata": {"name": name, **metadata}}


def post(path: str, body: Any, content_type: str = "application/json") -> Step:
    """A create."""
    return Step("POST", path, body, content_type)


def put(path: str, body: Any) -> Step:
    """A replacement."""
    return Step("PUT", path, body)


def patch(path: str, body: Any, content_type: str = MERGE) -> Step:
    """A patch."""
    return Step("PATCH", path, body, content_type)


def define(path: str, body: Any, waits: list[str]) -> Step:
    """A create of a definition; the scene goes on once the paths in waits are served."""
    return Step("POST", path, body, waits=tuple(waits))


def refused(path: str, body: Any) -> Step:
    """A create that is sent until a changed definition refuses it."""
    return Step("POST", path, body, until=422)


def remove(path: str) -> Step:
    """A DELETE."""
    return Step("DELETE", path)


def read(path: str) -> Step:
    """A GET."""
    return Step("GET", path)
