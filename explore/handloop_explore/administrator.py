"""The administrator of a virtual or real cluster, whose objects are plain dicts."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Final

from handloop.apis.declaration import is_built_in
from handloop.apis.meta import Kind
from handloop.client.transport import Transport

Object = dict[str, Any]

DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_MERGE: Final = "application/merge-patch+json"


class RefusedError(Exception):
    """The server refused a request of the administrator. The message is the server's."""


class Administrator(ABC):
    """
    A client that sends requests as the administrator, and finds the paths of objects.

    State: _paths, the results of discovery so far.
    """

    def __init__(self, transport: Transport, namespace: str = "") -> None:
        """Args: namespace: used instead of the manifests' own namespaces, unless it is empty."""
        self._admin = transport
        self._namespace = namespace
        self._paths: dict[tuple[str, str], tuple[str, bool]] = {}

    def send(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Object:
        """Send one request as the administrator. Raises: RefusedError if the server refuses it."""
        headers = {"Content-Type": _MERGE if method == "PATCH" else "application/json"}
        data = None if body is None else json.dumps(body).encode()
        answer = self._admin.request(method, path, headers=headers, body=data)
        if answer.status >= 300:  # noqa: PLR2004
            raise RefusedError(f"{method} {path}: {_message(answer.body)}")
        document: Object = json.loads(answer.body)
        return document

    def find(self, path: str) -> Object | None:
        """Return an object, or None if it does not exist."""
        try:
            return self.send("GET", path)
        except RefusedError:
            return None

    @abstractmethod
    def repeat(self, name: str, done: Callable[[], bool]) -> None:
        """Start a client that calls `done` every second until it returns True."""

    @abstractmethod
    def later(self, name: str, seconds: float, act: Callable[[], object]) -> None:
        """Start a client that calls `act` after some seconds."""

    def objects(self, kind: type[Kind]) -> list[Object]:
        """Return a kind's objects, as kubectl shows them. Raises: RefusedError if the server refuses."""
        try:
            found = self.send("GET", kind.resource.path(namespace=self._namespace))["items"]
        except RefusedError as error:
            raise RefusedError(f"{error}{_undefined(kind.resource.group)}") from error
        named = {"apiVersion": kind.resource.api_version, "kind": kind.resource.kind}
        return [named | obj for obj in found]

    def path_of(self, manifest: Mapping[str, Any], *, named: bool = True) -> str:
        """Return the path of a manifest's object, or of its collection if `named` is False."""
        key = (manifest["apiVersion"], manifest["kind"])
        if key not in self._paths:
            self._paths[key] = self._discovered(*key)
        plural, namespaced = self._paths[key]
        root = "/api/" if "/" not in key[0] else "/apis/"
        namespace = self._namespace or manifest["metadata"].get("namespace") or "default"
        path = f"{root}{key[0]}" + (f"/namespaces/{namespace}" if namespaced else "") + f"/{plural}"
        return f"{path}/{manifest['metadata']['name']}" if named else path

    def _discovered(self, api_version: str, kind: str) -> tuple[str, bool]:
        root = "/api/" if "/" not in api_version else "/apis/"
        found = self.find(f"{root}{api_version}") or {"resources": []}
        for resource in found["resources"]:
            if resource["kind"] == kind and "/" not in resource["name"]:
                return resource["name"], resource["namespaced"]
        group = api_version.rpartition("/")[0]
        raise RefusedError(f"the server has no kind {kind} in {api_version}{_undefined(group)}")


def _undefined(group: str) -> str:
    """Return advice on how to define a missing kind, or "" if the group is built in."""
    if is_built_in(group):
        return ""
    return "; add its CustomResourceDefinition with --apply FILE or Workload(definitions=[...])"


def _message(body: bytes) -> str:
    """Return the message in a refusal's body, which is a Status or plain text."""
    try:
        return str(json.loads(body)["message"])
    except ValueError:
        return body.decode(errors="replace").strip()
