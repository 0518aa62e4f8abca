"""
A tiny in-memory API server: enough of one for a controller of Foos and Deployments, and nothing else.

It keeps objects as JSON dicts with resource versions, and answers get, create, PUT of status and merge patch
with Kubernetes' codes. Everybody else (users, the Deployment controller, the garbage collector, other
controllers) acts through methods, without requests.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, NamedTuple, TypeVar

import msgspec

from handloop.apis.apps_v1 import Deployment
from handloop.apis.meta import Kind, decode_hook
from handloop.client.http.response import Response
from handloop.controller.foo.types import Foo
from handloop_sandbox.patches.merge_patches import merge_patch

T = TypeVar("T", bound=Kind)

_PATH = re.compile(r"/apis?/(?:[^/]+/)?[^/]+/namespaces/([^/]+)/([^/]+)(?:/([^/]+))?(?:/([^/]+))?")
_DNS_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")

Key = tuple[str, str, str]
"""(plural, namespace, name)"""


class FooCRD(Enum):
    """Which of the CRDs is installed."""

    SUBRESOURCE = "status subresource"
    STOCK = "crd.yaml: no subresource"
    PRUNED = "subresource, no status in the schema"


class Write(NamedTuple):
    """A request that may change something. target is `foos/example-foo/status`."""

    method: str
    target: str
    query: Mapping[str, str]
    body: Any


class RefusalError(Exception):
    """An answer that is not 2xx."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message


class FakeAPI:
    """
    Implements handloop.client.transport.Transport for writes, and for reads of one object.

    refuse_read gives code and reason for a read that is not to succeed. after_write is called with the number
    (from 0) and the request once a write has taken effect; it may raise, which the client then sees, or act
    as another client. Not safe for threads.
    """

    def __init__(self, *, foo_crd: FooCRD = FooCRD.SUBRESOURCE) -> None:
        self.foo_crd = foo_crd
        self.objects: dict[Key, dict[str, Any]] = {}
        self.writes: list[Write] = []
        self.reads: list[str] = []
        self.refuse_read: Callable[[str], tuple[int, str] | None] = lambda _target: None
        self.after_write: Callable[[int, Write], None] = lambda _number, _write: None
        self.version = 100
        self._uids = 0

    # the requests of a client

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        **_options: Any,
    ) -> Response:
        match = _PATH.fullmatch(path)
        assert match is not None, path
        namespace, plural, name, subresource = match.groups()
        target = "/".join(part for part in (plural, name, subresource) if part)
        if method == "GET":
            return self._read(target, (plural, namespace, name))
        write = Write(method, target, dict(query or {}), json.loads(body or b"null"))
        number = len(self.writes)
        self.writes.append(write)
        try:
            code, answer = self._act(write, (plural, namespace, name or ""), subresource)
        except RefusalError as failure:
            return _response(failure.code, _status(failure, plural, name or ""))
        self.after_write(number, write)
        return _response(code, answer)

    def stream(self, *_args: Any, **_kwargs: Any) -> Any:
        raise AssertionError("nobody watches here")

    def _read(self, target: str, key: Key) -> Response:
        self.reads.append(target)
        refusal = self.refuse_read(target)
        if refusal is None and key in self.objects:
            return _response(200, self.objects[key])
        code, reason = refusal or (404, "NotFound")
        message = f'{_group_resource(key[0])} "{key[2]}": {reason}'
        return _response(code, _status(RefusalError(code, reason, message), key[0], key[2]))

    def _act(self, write: Write, key: Key, subresource: str | None) -> tuple[int, dict[str, Any]]:
        if write.method == "POST":
            key = (key[0], key[1], write.body["metadata"]["name"])
            return 201, self._create(key, write.body)
        if key not in self.objects or (subresource and not self._has_subresource(key)):
            raise RefusalError(404, "NotFound", f'{_group_resource(key[0])} "{key[2]}" not found')
        if write.method == "PUT":
            assert subresource == "status", "only status is PUT"
            return 200, self._put_status(key, write.body)
        assert write.method == "PATCH", write.method
        if subresource == "status":
            after = merge_patch(self.objects[key], write.body)
            return 200, self._put_status(key, {**after, "metadata": write.body["metadata"]})
        return 200, self._patch(key, write.body)

    def _has_subresource(self, key: Key) -> bool:
        return key[0] != "foos" or self.foo_crd is not FooCRD.STOCK

    def _create(self, key: Key, body: dict[str, Any]) -> dict[str, Any]:
        if key in self.objects:
            message = f'{_group_resource(key[0])} "{key[2]}" already exists'
            raise RefusalError(409, "AlreadyExists", message)
        if not _DNS_NAME.fullmatch(key[2]):
            message = f'Deployment.apps "{key[2]}" is invalid: metadata.name: Invalid value: "{key[2]}"'
            raise RefusalError(422, "Invalid", message)
        obj = copy.deepcopy(body)
        self._uids += 1
        obj["metadata"] |= {"namespace": key[1], "uid": f"uid-{self._uids}", "generation": 1}
        if key[0] == "deployments":
            obj["spec"].setdefault("replicas", 1)
            obj["status"] = {}
        return self._store(key, obj)

    def _put_status(self, key: Key, body: dict[str, Any]) -> dict[str, Any]:
        self._check_version(key, body["metadata"])
        obj = copy.deepcopy(self.objects[key])
        if self.foo_crd is not FooCRD.PRUNED:
            obj["status"] = body["status"]
        return self._store(key, obj)

    def _patch(self, key: Key, patch: dict[str, Any]) -> dict[str, Any]:
        self._check_version(key, patch.get("metadata", {}))
        obj = merge_patch(self.objects[key], patch)
        return self._store(key, obj)

    def _check_version(self, key: Key, metadata: Mapping[str, Any]) -> None:
        stored = self.objects[key]["metadata"]
        for field in ("resourceVersion", "uid"):
            if metadata.get(field, stored[field]) != stored[field]:
                message = f'Operation cannot be fulfilled on {_group_resource(key[0])} "{key[2]}"'
                raise RefusalError(409, "Conflict", message + ": the object has been modified")

    def _store(self, key: Key, obj: dict[str, Any]) -> dict[str, Any]:
        """Keep obj under a new version, unless it equals the stored one."""
        before = self.objects.get(key)
        if before is not None:
            obj["metadata"]["resourceVersion"] = before["metadata"]["resourceVersion"]
            if obj == before:
                return before
        self.version += 1
        obj["metadata"]["resourceVersion"] = str(self.version)
        self.objects[key] = obj
        return obj

    # all other clients

    def put(self, obj: Kind) -> None:
        """Store an object as it is, with its UID and a new version."""
        plural = obj.resource.plural
        raw: dict[str, Any] = json.loads(msgspec.json.encode(obj))
        self._store((plural, obj.metadata.namespace, obj.metadata.name), raw)

    def edit(self, plural: str, name: str, patch: dict[str, Any], *, namespace: str = "default") -> None:
        """Merge patch as another client; without effect when there is no such object."""
        key = (plural, namespace, name)
        if key in self.objects:
            self._store(key, merge_patch(self.objects[key], patch))

    def delete(self, plural: str, name: str, *, namespace: str = "default") -> None:
        """Delete as another client, if it is there."""
        self.objects.pop((plural, namespace, name), None)

    def get(self, kind: type[T], name: str, *, namespace: str = "default") -> T:
        """An object as a client reads it."""
        return _decode(kind, self.objects[(kind.resource.plural, namespace, name)])

    def list(self, kind: type[T]) -> list[T]:
        """All objects of a kind."""
        return [_decode(kind, obj) for key, obj in self.objects.items() if key[0] == kind.resource.plural]

    def collect_garbage(self) -> None:
        """Delete Deployments whose owners are all gone."""
        living = {foo.metadata.uid for foo in self.list(Foo)}
        for deployment in self.list(Deployment):
            owners = {reference.uid for reference in deployment.metadata.owner_references}
            if owners and not owners & living:
                self.delete("deployments", deployment.metadata.name, namespace=deployment.metadata.namespace)


def _decode(kind: type[T], raw: dict[str, Any]) -> T:
    return msgspec.convert(raw, type=kind, dec_hook=decode_hook)


def _group_resource(plural: str) -> str:
    return {"foos": Foo.resource, "deployments": Deployment.resource}[plural].group_resource


def _status(failure: RefusalError, plural: str, name: str) -> dict[str, Any]:
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": failure.message,
        "reason": failure.reason,
        "details": {"name": name, "kind": plural},
        "code": failure.code,
    }


def _response(code: int, answer: dict[str, Any]) -> Response:
    return Response(code, {"content-type": "application/json"}, json.dumps(answer).encode())
