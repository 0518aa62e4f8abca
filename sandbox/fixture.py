"""The fixture `sandbox` as a test sees it: server, kubeconfig, client, faults and clock."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import yaml

from handloop.client.config import load_config
from handloop.client.errors import ConnectionBroken, DeadlineExceeded, StreamClosed
from handloop.client.resource_client import Client
from handloop.client.transport import HTTPTransport
from handloop.sandbox.clock import SettableClock
from handloop.sandbox.faults.faults import Faults
from handloop.sandbox.server import Sandbox
from handloop.sandbox.transport import InProcessTransport

Object = dict[str, Any]

_APPLY = "application/apply-patch+yaml"
_SUCCESS = 300
_PAUSE_SECONDS = 0.01
_ESTABLISHED_TRIES = 1000


class RefusedError(Exception):
    """The sandbox refused a manifest; the message is the server's."""


class RunningSandbox:
    """
    A running sandbox for one test.

    Threads: the test's; any thread may use the clock and the faults.
    """

    def __init__(self, server: Sandbox, clock: SettableClock, kubeconfig: Path, stack: ExitStack) -> None:
        self.server = server
        self.clock = clock
        self.kubeconfig = kubeconfig
        self._stack = stack
        self._client: Client | None = None
        self._transport = server.transport()

    @property
    def url(self) -> str:
        """`http://127.0.0.1:PORT`."""
        return self.server.url

    @property
    def token(self) -> str:
        """The administrator's bearer token."""
        return self.server.token

    @property
    def faults(self) -> Faults:
        """The faults of this sandbox."""
        return self.server.faults

    @property
    def client(self) -> Client:
        """A typed client of the administrator, over HTTP; made at the first use."""
        if self._client is None:
            transport = HTTPTransport(load_config(kubeconfig=str(self.kubeconfig)))
            self._stack.callback(transport.close)
            self._client = Client(transport)
        return self._client

    def in_process_transport(self) -> InProcessTransport:
        """
        A transport without sockets for handloop.client.resource_client.Client, which raises the client's
        errors.
        """
        return self.server.transport(closed=StreamClosed, silent=DeadlineExceeded, broken=ConnectionBroken)

    def apply(self, *manifests: Object | Path | str) -> list[Object]:
        """
        Apply objects, as `kubectl apply --server-side`: dicts, YAML texts, or files with YAML.

        Returns: the objects as stored. Raises: RefusedError. TypeError and ValueError for other values,
        before anything is applied. Blocks: until a definition is served.
        """
        objects = [obj for manifest in manifests for obj in _objects(manifest)]
        for obj in objects:
            _check(obj)
        return [self._apply(obj) for obj in objects]

    def get(self, path: str) -> Object:
        """The JSON at a path such as `/api/v1/pods`. Raises: RefusedError."""
        return self._request("GET", path)

    def _apply(self, obj: Object) -> Object:
        metadata = obj["metadata"]
        path = self._path(obj["apiVersion"], obj["kind"], metadata.get("namespace", "default"))
        query = "?fieldManager=sandbox-fixture&force=true"
        applied = self._request("PATCH", f"{path}/{quote(metadata['name'])}{query}", obj)
        if obj["kind"] == "CustomResourceDefinition":
            self._wait_until_served(f"{path}/{quote(metadata['name'])}")
        return applied

    def _wait_until_served(self, path: str) -> None:
        """Wait for a definition: the next manifest may be of its kind."""
        pause, tries = threading.Event(), _ESTABLISHED_TRIES
        while tries and not _is_established(self._request("GET", path)):
            self.server.tick()
            pause.wait(_PAUSE_SECONDS)
            tries -= 1

    def _path(self, api_version: str, kind: str, namespace: str) -> str:
        """The path of a kind's collection, from discovery."""
        root = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
        for resource in self._request("GET", root)["resources"]:
            if resource["kind"] == kind and "/" not in resource["name"]:
                where = f"/namespaces/{quote(namespace)}" if resource["namespaced"] else ""
                return f"{root}{where}/{resource['name']}"
        raise RefusedError(f"there is no kind {kind} in {api_version}")

    def _request(self, method: str, path: str, body: Object | None = None) -> Object:
        content = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": _APPLY, "User-Agent": "sandbox-fixture"}
        answer = self._transport.request(method, path, headers=headers, body=content)
        if answer.status >= _SUCCESS:
            raise RefusedError(f"{method} {path}: {answer.body.decode(errors='replace')}")
        document: Object = json.loads(answer.body)
        return document


@contextmanager
def running_sandbox(folder: Path, **arguments: Any) -> Iterator[RunningSandbox]:
    """
    A sandbox with its kubeconfig in a folder, for the length of the context.

    Args: arguments are those of Sandbox; a clock must be a SettableClock.
    """
    clock = arguments.setdefault("clock", SettableClock())
    with ExitStack() as stack:
        server = stack.enter_context(Sandbox(**arguments))
        kubeconfig = server.write_kubeconfig(folder / "kubeconfig")
        yield RunningSandbox(server, clock, kubeconfig, stack)


def _is_established(definition: Object) -> bool:
    conditions = definition.get("status", {}).get("conditions") or ()
    return any(c["type"] == "Established" and c["status"] == "True" for c in conditions)


def _objects(manifest: Any) -> list[Any]:
    """The objects in a manifest. Raises: TypeError for a value that is no manifest."""
    if isinstance(manifest, dict):
        return [manifest]
    if not isinstance(manifest, Path | str):
        kind = type(manifest).__name__
        raise TypeError(f"a manifest is a dict, a YAML text or a Path, not a {kind}; each is an argument")
    text = manifest.read_text(encoding="utf-8") if isinstance(manifest, Path) else manifest
    return [obj for obj in yaml.safe_load_all(text) if obj]


def _check(obj: Any) -> None:
    """Refuse a value that cannot be applied. Raises: TypeError, ValueError."""
    if isinstance(obj, str):
        raise TypeError(f"no YAML text of an object: {obj!r}; a file is given as a Path")
    if not isinstance(obj, dict):
        raise TypeError(f"no object: {obj!r}")
    metadata = obj.get("metadata")
    found = {**obj, "metadata.name": metadata.get("name") if isinstance(metadata, dict) else None}
    for name in ("apiVersion", "kind", "metadata.name"):
        if not isinstance(found.get(name), str) or not found[name]:
            raise ValueError(f"an object to apply needs {name}: {obj!r}")
