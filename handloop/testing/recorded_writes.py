"""A transport that records writes instead of sending them, for a reconciler without a server."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, NamedTuple, NoReturn
from urllib.parse import unquote

from handloop.apis.meta import Kind
from handloop.apis.unstructured import json_of
from handloop.client.http.response import Response
from handloop.client.resource_client import Client

Document = dict[str, Any]


class Recorded(NamedTuple):
    """One write: its verb as in RBAC, its path, and the JSON that was sent (None without a body)."""

    verb: str
    path: str
    body: Any


_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_APPLY = "application/apply-patch+yaml"


class RecordedWrites:
    """
    Implements handloop.client.transport.Transport on a dict of objects. Each write changes the dict.

    Nothing is validated. A write sets a resource version, but adds no defaults, UID or generation. An apply
    and a strategic patch are merged like a merge patch (RFC 7396); a JSON patch raises an AssertionError. To
    see how a server treats a write, use the sandbox.
    Fields: writes holds the writes, oldest first. Threads: used on the test's thread.
    """

    def __init__(self, *objects: Kind) -> None:
        """Store objects, which can then be read and patched like objects on a server."""
        self.writes: list[Recorded] = []
        self._documents = {_path_of(obj): _document(obj) for obj in objects}
        self._version = 0

    def client(self) -> Client:
        """Return a client for this transport: `Context(client=RecordedWrites().client())`."""
        return Client(self)

    def request(
        self,
        method: str,
        path: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        **_: Any,
    ) -> Response:
        """Return the object, or 404 if it does not exist, or 409 if a create names an existing object."""
        path = unquote(path)
        if method == "GET":
            return self._answer(path)
        sent: Any = None if body is None else json.loads(body)
        self.writes.append(Recorded(_VERBS[method], path, sent))
        if method == "POST":
            path = f"{path}/{sent['metadata']['name']}"
            is_there = path in self._documents
            return self._failure(path, HTTPStatus.CONFLICT) if is_there else self._put(path, sent)
        content_type = (headers or {}).get("Content-Type", "")
        stored = self._stored(path)
        present = self._documents.get(stored)
        if present is None and content_type != _APPLY:
            return self._failure(path, HTTPStatus.NOT_FOUND)
        if method == "DELETE":
            return _response(HTTPStatus.OK, self._documents.pop(stored))
        if method == "PATCH":
            assert isinstance(sent, dict), f"{path}: a JSON patch needs a server, so use the sandbox"
            return self._put(stored, _merged(present or {}, sent))
        is_status = stored != path
        return self._put(stored, {**(present or {}), "status": sent["status"]} if is_status else sent)

    def stream(self, method: str, path: str, **_: Any) -> NoReturn:
        """Raises: AssertionError."""
        raise AssertionError(f"{method} {path}: a reconciler reads from caches and must not watch")

    def _stored(self, path: str) -> str:
        """Return the path of the object. For a subresource, this is the path without its last part."""
        above = path.rpartition("/")[0]
        return above if path not in self._documents and above in self._documents else path

    def _answer(self, path: str) -> Response:
        if path not in self._documents:
            return self._failure(path, HTTPStatus.NOT_FOUND)
        return _response(HTTPStatus.OK, self._documents[path])

    def _put(self, path: str, document: Document) -> Response:
        self._version += 1
        metadata = {**document["metadata"], "resourceVersion": str(self._version)}
        self._documents[path] = {**document, "metadata": metadata}
        return self._answer(path)

    def _failure(self, path: str, code: HTTPStatus) -> Response:
        reason = {HTTPStatus.NOT_FOUND: "NotFound", HTTPStatus.CONFLICT: "AlreadyExists"}[code]
        status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code.value}
        details = {"name": path.rpartition("/")[2]}
        said = {"reason": reason, "message": f"{path}: {reason}", "details": details}
        return _response(code, {**status, **said})


def _path_of(obj: Kind) -> str:
    metadata = obj.metadata
    return unquote(obj.resource.path(namespace=metadata.namespace, name=metadata.name))


def _document(obj: Kind) -> Document:
    document: Document = json.loads(json_of(obj))
    return document


def _response(code: HTTPStatus, document: Document) -> Response:
    return Response(code.value, {"content-type": "application/json"}, json.dumps(document).encode())


def _merged(target: Document, patch: Document) -> Document:
    """RFC 7396."""
    result = dict(target)
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        elif isinstance(value, dict):
            below = result.get(name)
            result[name] = _merged(below if isinstance(below, dict) else {}, value)
        else:
            result[name] = value
    return result
