"""An API server to run the program on, seen by an administrator: objects are plain dicts."""

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from handloop.apis.crd import custom_resource_definition
from handloop.client.config import load_config
from handloop.client.errors import TransportError
from handloop.client.transport import HTTPTransport, Transport
from handloop.controller.foo.types import Foo
from handloop.testing.eventually import eventually as until
from handloop.testing.request_trace import RequestTrace
from handloop_sandbox.server import Sandbox
from support.rigs.program import ON_FREE_PORTS
from support.servers.turns import real_kubeconfig, turn

Object = dict[str, Any]
Objects = Mapping[str, Object]

GROUP: Final = "/apis/samplecontroller.k8s.io/v1alpha1"
CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CRD: Final = f"{CRDS}/foos.samplecontroller.k8s.io"
NAMESPACES: Final = "/api/v1/namespaces"
RBAC: Final = "/apis/rbac.authorization.k8s.io/v1"
NAMESPACE_PREFIX: Final = "e2e-"
EITHER: Final = (
    pytest.param("sandbox", marks=pytest.mark.nightly if os.environ.get("TEST_KUBECONFIG") else ()),
    pytest.param("real", marks=pytest.mark.real),
)
"""By day a program is tried on one server, the real one where there is one; nightly on both."""
MERGE: Final = "application/merge-patch+json"
SANDBOX_SPEED: Final = 20.0
SANDBOX_SECONDS: Final = 60.0
INSTALL_SECONDS: Final = 60.0
REAL_SECONDS: Final = 120.0
"""A real garbage collector looks for new kinds every 30 s, and backs off from those it met before."""


class RequestRefusedError(Exception):
    """The server refused."""


class Administrator:
    """Asks an API server over a transport. Only the test's thread uses it."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport

    def call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        query: Mapping[str, str] | None = None,
        content_type: str = "application/json",
    ) -> Object:
        """Ask, and return the answer. Raises: RequestRefusedError."""
        headers = {"Content-Type": content_type, "User-Agent": "e2e"}
        content = None if body is None else json.dumps(body).encode()
        answer = self.transport.request(method, path, query=query, headers=headers, body=content)
        if answer.status >= 300:
            raise RequestRefusedError(f"{method} {path}: {answer.status} {answer.body.decode()}")
        document: Object = json.loads(answer.body)
        return document

    def get(self, collection: str, name: str) -> Object:
        """One object."""
        return self.call("GET", f"{collection}/{name}")

    def create(self, collection: str, obj: Object) -> Object:
        """Create an object; returns it as stored."""
        return self.call("POST", collection, obj)

    def change(self, collection: str, name: str, patch: Object) -> Object:
        """Merge a patch into an object."""
        return self.call("PATCH", f"{collection}/{name}", patch, content_type=MERGE)

    def delete(self, collection: str, name: str) -> None:
        """Delete an object; what it owns is left to the garbage collector."""
        self.call("DELETE", f"{collection}/{name}")

    def list(self, collection: str) -> dict[str, Object]:
        """What a collection holds, by name."""
        return self._list(collection)[0]

    def _list(self, collection: str) -> tuple[dict[str, Object], str]:
        page = self.call("GET", collection)
        return {o["metadata"]["name"]: o for o in page["items"]}, page["metadata"]["resourceVersion"]


class Cluster(Administrator):
    """
    One API server and a namespace of our own in it.

    Only the test's thread uses it. seconds is how long anything that must come true may take here.
    """

    transport: HTTPTransport

    def __init__(self, kubeconfig: Path, namespace: str, *, seconds: float) -> None:
        super().__init__(HTTPTransport(load_config(kubeconfig=str(kubeconfig))))
        self.kubeconfig = kubeconfig
        self.namespace = namespace
        self.seconds = seconds
        self.foos = f"{GROUP}/namespaces/{namespace}/foos"
        self.deployments = f"/apis/apps/v1/namespaces/{namespace}/deployments"
        self.replica_sets = f"/apis/apps/v1/namespaces/{namespace}/replicasets"
        self.events = f"{NAMESPACES}/{namespace}/events"

    def wait(self, collection: str, condition: Callable[[Objects], object], what: str) -> dict[str, Object]:
        """
        Watch a collection until a condition on its objects (by name) is true.

        Returns: the objects at that moment. Raises: AssertionError at the deadline.
        """
        ends_at = time.monotonic() + self.seconds
        objects: dict[str, Object] = {}
        while time.monotonic() < ends_at:
            objects, version = self._list(collection)
            if condition(objects):
                return objects
            for kind, obj in self._events(collection, version, ends_at):
                objects.pop(obj["metadata"]["name"], None)
                if kind != "DELETED":
                    objects[obj["metadata"]["name"]] = obj
                if condition(objects):
                    return objects
        raise AssertionError(f"after {self.seconds:g} s still not {what}; there is {json.dumps(objects)}")

    def create_foo(
        self, name: str, *, replicas: object = 1, deployment: str | None = None, **spec: object
    ) -> Object:
        """Create a Foo."""
        wanted = {"deploymentName": name if deployment is None else deployment, "replicas": replicas} | spec
        return self.create(self.foos, foo(name, wanted))

    def install(self, definition: Object) -> None:
        """Put a definition of Foo in place and wait until the server goes by it."""
        try:
            before = self.call("GET", CRD)
        except RequestRefusedError:
            self.create(CRDS, definition)
        else:
            if _same_definition(before, definition):
                return
            version = before["metadata"]["resourceVersion"]
            metadata = definition["metadata"] | {"resourceVersion": version}
            self.call("PUT", CRD, definition | {"metadata": metadata})
        until(lambda: self._goes_by(definition), "served as defined", seconds=INSTALL_SECONDS)

    def close(self) -> None:
        """Remove our objects and close the connections."""
        self.delete(NAMESPACES, self.namespace)
        self.transport.close()

    def _events(self, collection: str, version: str, ends_at: float) -> Iterator[tuple[str, Object]]:
        """Until the stream ends, breaks or time is up."""
        left = max(0.1, ends_at - time.monotonic())
        query = {"watch": "1", "resourceVersion": version, "timeoutSeconds": str(int(left) + 1)}
        rest = b""
        try:
            with closing(
                self.transport.stream("GET", collection, query=query, read_timeout_seconds=left)
            ) as s:
                while block := s.read_block():
                    *lines, rest = (rest + block).split(b"\n")
                    for event in map(json.loads, filter(None, lines)):
                        if event["type"] == "ERROR":
                            return
                        yield event["type"], event["object"]
        except TransportError:
            return

    def _goes_by(self, definition: Object) -> bool:
        """Whether discovery and, by what a dry run keeps, the schema are those of a definition."""
        try:
            served = {r["name"] for r in self.call("GET", GROUP)["resources"]}
        except RequestRefusedError:
            return False
        version = definition["spec"]["versions"][0]
        if ("foos/status" in served) != ("status" in version.get("subresources", {})):
            return False
        schema = version["schema"]["openAPIV3Schema"]
        permissive = bool(schema.get("x-kubernetes-preserve-unknown-fields"))
        if bool(self._kept(replicas=-1)) != permissive:
            return False
        keeps_status = "foos/status" not in served and (permissive or "status" in schema["properties"])
        kept = self._kept(replicas=1)
        return bool(kept) and ("status" in kept) == keeps_status and self._lists_foos()

    def _kept(self, *, replicas: int) -> Object:
        """What the server would keep of a Foo with a status, {} where it refuses it."""
        probe = foo("probe", {"deploymentName": "probe", "replicas": replicas})
        try:
            return self.call(
                "POST", self.foos, probe | {"status": {"availableReplicas": 7}}, query={"dryRun": "All"}
            )
        except RequestRefusedError:
            return {}

    def _lists_foos(self) -> bool:
        """Whether lists and watches are not refused, as until the cache of a changed kind is filled."""
        try:
            self.call("GET", self.foos)
        except RequestRefusedError:
            return False
        return True


class SandboxCluster(Cluster):
    """The built-in sandbox in this process, with a trace of what the program asks."""

    def __init__(self, folder: Path) -> None:
        self.sandbox = Sandbox(speed=SANDBOX_SPEED)
        self.trace = RequestTrace(self.sandbox.engine, self.sandbox.token)
        self.sandbox.start()
        self.server = self.sandbox.url
        kubeconfig = self.sandbox.write_kubeconfig(folder / "admin.kubeconfig")
        super().__init__(kubeconfig, "default", seconds=SANDBOX_SECONDS)

    def stop_serving(self) -> int:
        """End every connection and listen no more; stored objects stay. Returns: the port."""
        port = int(self.server.rpartition(":")[2])
        self.sandbox.stop()
        return port

    def serve_again(self, port: int) -> None:
        """Listen again, where the program looks for it."""
        self.sandbox._port = port
        self.sandbox.start()

    def close(self) -> None:
        """Stop it and close the connections."""
        self.transport.close()
        self.sandbox.stop()


class RealCluster(Cluster):
    """The API server that TEST_KUBECONFIG names."""

    def __init__(self, kubeconfig: Path) -> None:
        super().__init__(kubeconfig, NAMESPACE_PREFIX + secrets.token_hex(4), seconds=REAL_SECONDS)
        self.create(NAMESPACES, {"metadata": {"name": self.namespace}})

    def has_foreign_foos(self) -> bool:
        """Whether other users keep Foos here, who would suffer from another definition."""
        try:
            items = self.call("GET", f"{GROUP}/foos")["items"]
        except RequestRefusedError:
            return False
        return any(not item["metadata"]["namespace"].startswith(NAMESPACE_PREFIX) for item in items)


@contextmanager
def sandbox_cluster(folder: Path, *, definition: Object | None) -> Iterator[SandboxCluster]:
    """A sandbox with a definition of Foo, None = without any."""
    cluster = SandboxCluster(folder)
    try:
        if definition is not None:
            cluster.install(definition)
        yield cluster
    finally:
        cluster.close()


@contextmanager
def real_cluster(definition: Object) -> Iterator[RealCluster]:
    """A namespace in the real cluster; a definition that is not the usual one is put back at the end."""
    kubeconfig, usual = real_kubeconfig(), usual_definition()
    with turn(kubeconfig, "foos", alone=definition != usual):
        cluster = RealCluster(kubeconfig)
        try:
            if definition != usual and cluster.has_foreign_foos():
                pytest.skip("somebody else's Foos live in this cluster")
            cluster.install(definition)
            yield cluster
        finally:
            if definition != usual:
                cluster.install(usual)
            cluster.close()


def usual_definition() -> Object:
    """The definition in manifests/crd."""
    return custom_resource_definition(Foo)


def foo(name: str, spec: Object) -> Object:
    """A Foo."""
    return {
        "apiVersion": "samplecontroller.k8s.io/v1alpha1",
        "kind": "Foo",
        "metadata": {"name": name},
        "spec": spec,
    }


def nobodys_deployment(name: str) -> Object:
    """A Deployment that has no owner."""
    labels = {"app": "somebody-else"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "nginx:1"}]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": template},
    }


def arguments_for(cluster: Cluster, kubeconfig: Path | None = None) -> list[str]:
    """Arguments that keep the program to Foos and to our objects, on free ports; later ones win."""
    scope = ["--namespace", cluster.namespace] if isinstance(cluster, RealCluster) else []
    return [
        "--kubeconfig",
        str(kubeconfig or cluster.kubeconfig),
        *scope,
        "--controllers=foo",
        *ON_FREE_PORTS,
    ]


def token_kubeconfig(cluster: Cluster, token: str, path: Path) -> Path:
    """Write a kubeconfig for the same server with a bearer token only."""
    document = yaml.safe_load(cluster.kubeconfig.read_text(encoding="utf-8"))
    if isinstance(cluster, SandboxCluster):
        # without the administrator's token, which is a part of the URL there
        document["clusters"][0]["cluster"]["server"] = cluster.server
    document["users"][0]["user"] = {"token": token}
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return path


def _same_definition(before: Object, wanted: Object) -> bool:
    """Whether versions are equal but for what the server fills in."""
    have, want = before["spec"]["versions"][0], wanted["spec"]["versions"][0]
    return bool(have["schema"] == want["schema"] and have.get("subresources") == want.get("subresources"))
