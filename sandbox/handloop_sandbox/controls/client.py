"""A client with which the controls use the sandbox's API on behalf of their caller."""

from __future__ import annotations

import json
from typing import Any, Final, NamedTuple
from urllib.parse import quote

import msgspec

from handloop_sandbox.controls.machine import Machine
from handloop_sandbox.requests.request import Request
from handloop_sandbox.wire.patch_types import APPLY
from handloop_sandbox.wire.query import Query
from handloop_sandbox.wire.status import StatusError, failure

Object = dict[str, Any]

MANAGER: Final = "sandbox-fixture"
"""The field manager of the controls' writes, and the user agent of their requests."""
_FAILURES: Final = 400


class Place(NamedTuple):
    """The path of an object, and whether its kind has the status subresource."""

    path: str
    has_status: bool


class Client:
    """Sends requests with the token of the caller's request."""

    def __init__(self, machine: Machine, asked: Request) -> None:
        self._machine = machine
        token = asked.headers.get("authorization")
        self._headers = {"user-agent": MANAGER, "accept": "application/json"}
        if token is not None:
            self._headers["authorization"] = token

    def get(self, path: str) -> Object:
        """Return the JSON at a path. Raises: StatusError if the request is refused."""
        return self._sent("GET", path)

    def patch(self, path: str, body: Object, content_type: str) -> Object:
        """Patch an object. An apply patch is forced. Raises: StatusError if the request is refused."""
        return self._sent("PATCH", path, body, content_type)

    def place(self, api_version: str, kind: str, namespace: str, name: str) -> Place:
        """Return the Place of an object. Raises: StatusError if its kind is not served."""
        root = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
        served = {found["name"]: found for found in self.get(root)["resources"]}
        for plural, found in served.items():
            if found["kind"] == kind and "/" not in plural:
                where = f"/namespaces/{quote(namespace, safe='')}" if found["namespaced"] else ""
                path = f"{root}{where}/{plural}/{quote(name, safe='')}"
                return Place(path, f"{plural}/status" in served)
        raise StatusError(failure(404, "NotFound", f"the sandbox serves no kind {kind} in {api_version}"))

    def _sent(self, method: str, path: str, body: Object | None = None, content_type: str = "") -> Object:
        options = {"fieldManager": [MANAGER]} if body is not None else {}
        if content_type == APPLY:
            options["force"] = ["true"]
        content = b"" if body is None else json.dumps(body).encode()
        headers = {**self._headers, "content-type": content_type} if content_type else self._headers
        answer = self._machine.answer(Request(method, path, Query(options), headers, content))
        content = answer.content()
        try:
            document: Object = msgspec.json.decode(content)
        except msgspec.DecodeError:
            # The response for a path that does not exist is plain text.
            document = failure(answer.status, "", content.decode(errors="replace").strip())
        if answer.status >= _FAILURES:
            raise StatusError(document)
        return document
