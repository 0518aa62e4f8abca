"""A cluster in virtual time: the sandbox without sockets, its own controllers, and an administrator."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from handloop.apis.crd import custom_resource_definition
from handloop.apis.meta import Kind
from handloop.client.errors import ConnectionBroken, DeadlineExceeded, StreamClosed
from handloop.client.transport import Transport
from handloop.testing.explore.virtual_threads import VirtualClock, VirtualThread, VirtualThreads
from handloop_sandbox.server import Sandbox

Object = dict[str, Any]

_DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_USER: Final = "admin"
_TICK_SECONDS: Final = 0.001
_IDLE_SECONDS: Final = 1.0
_MERGE: Final = "application/merge-patch+json"


class RefusedError(Exception):
    """The server refused a step of the workload; the message is the server's."""


class VirtualCluster:
    """
    One cluster of one run.

    Fields: sandbox; version, the newest resource version. Threads: those of a VirtualThreads.
    """

    def __init__(self, threads: VirtualThreads, kinds: Iterable[type[Kind]]) -> None:
        """Args: kinds whose CRDs are installed."""
        self._threads = threads
        self.sandbox = Sandbox(token=_USER, clock=VirtualClock(threads), seed=1)
        self._admin = self.transport()
        self._changed = threads.new_event()
        self._paths: dict[tuple[str, str], tuple[str, bool]] = {}
        self.sandbox.engine.listen(self._changed.set)
        threads.spawn("cluster", self._live)
        for kind in kinds:
            self.send("POST", _DEFINITIONS, custom_resource_definition(kind))
        threads.run_for(1.0)

    @property
    def version(self) -> int:
        """The newest resource version: it rises with each change."""
        return self.sandbox.engine.version()

    def transport(self) -> Transport:
        """An administrator's way in."""
        made: Transport = self.sandbox.transport(  # type: ignore[assignment] # the same shapes
            token=_USER, closed=StreamClosed, silent=DeadlineExceeded, broken=ConnectionBroken
        )
        return made

    def send(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Object:
        """One request of the administrator. Raises: RefusedError."""
        headers = {"Content-Type": _MERGE if method == "PATCH" else "application/json"}
        data = None if body is None else json.dumps(body).encode()
        answer = self._admin.request(method, path, headers=headers, body=data)
        document: Object = json.loads(answer.body)
        if answer.status >= 300:  # noqa: PLR2004
            raise RefusedError(f"{method} {path}: {document.get('message')}")
        return document

    def find(self, path: str) -> Object | None:
        """An object, None = there is none."""
        try:
            return self.send("GET", path)
        except RefusedError:
            return None

    def repeat(self, name: str, done: Callable[[], bool]) -> None:
        """Have a client do something every second, until it returns True."""

        def run() -> None:
            while not done():
                self._threads.sleep(1.0)

        self._start(name, run)

    def later(self, name: str, seconds: float, act: Callable[[], object]) -> None:
        """Have a client do something after some seconds."""

        def run() -> None:
            self._threads.sleep(seconds)
            act()

        self._start(name, run)

    def _start(self, name: str, run: Callable[[], None]) -> None:
        thread = VirtualThread(self._threads, target=run, name=name)
        # not that of the thread which asks: it would end with it
        thread.process = self
        thread.start()

    def path_of(self, manifest: Mapping[str, Any], *, named: bool = True) -> str:
        """The path of a manifest's object, or of its collection."""
        key = (manifest["apiVersion"], manifest["kind"])
        if key not in self._paths:
            self._paths[key] = self._discovered(*key)
        plural, namespaced = self._paths[key]
        root = "/api/" if "/" not in key[0] else "/apis/"
        namespace = manifest["metadata"].get("namespace") or "default"
        path = f"{root}{key[0]}" + (f"/namespaces/{namespace}" if namespaced else "") + f"/{plural}"
        return f"{path}/{manifest['metadata']['name']}" if named else path

    def _discovered(self, api_version: str, kind: str) -> tuple[str, bool]:
        root = "/api/" if "/" not in api_version else "/apis/"
        for resource in self.send("GET", f"{root}{api_version}")["resources"]:
            if resource["kind"] == kind and "/" not in resource["name"]:
                return resource["name"], resource["namespaced"]
        raise RefusedError(f"the server has no kind {kind} in {api_version}")

    def _live(self) -> None:
        """Let the cluster's own controllers work whenever they are due."""
        engine = self.sandbox.engine
        at: float | None = None
        while True:
            self._changed.clear()
            before, at = at, engine.tick()
            # what a client does not read stays due
            least = _IDLE_SECONDS if at == before else _TICK_SECONDS
            self._changed.wait(None if at is None else max(least, at - engine.now()))
