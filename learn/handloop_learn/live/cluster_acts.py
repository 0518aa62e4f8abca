"""
Sends the live page's requests to the API server: another client's changes, and faults.

The requests bypass the controllers' client, so they do not appear as steps. The sandbox injects the faults,
which are requested over HTTP.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from handloop.apis.apps_v1 import Deployment
from handloop.client.errors import ClientError
from handloop.client.transport import Transport
from handloop.controller.foo.types import Foo
from handloop_learn.live.control_error import ControlError

MADE_BY: Final = "live.example.com/made-by"
"""The label of the objects that the page creates."""

GHOST: Final = "live-ghost"
MANY: Final = 1000
OURS: Final = "handloop*"
"""The user agent whose watches the faults affect. Watches of kubectl continue."""

_FOOS: Final = ("foos.samplecontroller.k8s.io",)
_MERGE: Final = "application/merge-patch+json"


class ClusterActs:
    """
    Changes objects on a server, and injects faults into it. Any thread can call the methods.

    Each method blocks until the server has answered, and raises ControlError if the server refuses the
    request or does not answer.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def make(self, key: str) -> None:
        """Create a Foo with one replica. Raises: ControlError also if the Foo already exists."""
        namespace, _, name = key.partition("/")
        self._make_foo(name, namespace)

    def delete(self, key: str) -> None:
        """Delete a Foo."""
        namespace, _, name = key.partition("/")
        self._ask("DELETE", Foo.resource.path(namespace=namespace, name=name))

    def touch(self, key: str, times: int) -> None:
        """Change an annotation of a Foo the given number of times."""
        for number in range(times):
            self._patch_foo(key, {"metadata": {"annotations": {MADE_BY: f"touch {number}"}}})

    def scale(self, key: str, replicas: int) -> None:
        """Set the number of replicas in a Foo's spec."""
        self._patch_foo(key, {"spec": {"replicas": replicas}})

    def delete_deployment(self, namespace: str, name: str) -> None:
        """Delete a Deployment."""
        self._ask("DELETE", Deployment.resource.path(namespace=namespace, name=name))

    def kill_watch(self) -> None:
        """Cut off the controllers' watches of Foos."""
        self._inject(fault="drop-watch", how="cut", onlyOpen=True, resources=_FOOS, userAgent=OURS)

    def add_many(self) -> None:
        """Create a thousand Foos with one replica each."""
        for number in range(MANY):
            self._make_foo(f"live-{number:04}", expected=HTTPStatus.CONFLICT)

    def make_ghost(self) -> None:
        """Create the Foo whose deletion will be missed. Without a Deployment, its key is not queued again."""
        self._make_foo(GHOST, deployment="", expected=HTTPStatus.CONFLICT)

    def expire(self) -> None:
        """Delete the Foo of make_ghost while the watch loses events. Then answer the watch with 410 Gone."""
        lost = self._inject(fault="distort-watch", how="lose", onlyOpen=True, resources=_FOOS, userAgent=OURS)
        self._ask("DELETE", Foo.resource.path(namespace="default", name=GHOST))
        self._inject(fault="expire", count=1, asStatus=True, resources=_FOOS, userAgent=OURS)
        self._inject(fault="drop-watch", how="cut", onlyOpen=True, resources=_FOOS, userAgent=OURS)
        self._ask("DELETE", f"/sandbox/faults/{lost}")

    def steal_lease(self, namespace: str, name: str) -> None:
        """Write another holder into a lease."""
        path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{name}"
        self._ask("PATCH", path, {"spec": {"holderIdentity": "somebody-else"}})

    def clean(self) -> int:
        """Delete the Foos that the page created. Returns: their number."""
        path = Foo.resource.path(namespace="default")
        found = self._ask("GET", path, query={"labelSelector": MADE_BY})["items"]
        for foo in found:
            self._ask("DELETE", f"{path}/{foo['metadata']['name']}")
        return len(found)

    def _patch_foo(self, key: str, change: Mapping[str, Any]) -> None:
        namespace, _, name = key.partition("/")
        self._ask("PATCH", Foo.resource.path(namespace=namespace, name=name), change)

    def _make_foo(
        self,
        name: str,
        namespace: str = "default",
        *,
        deployment: str | None = None,
        expected: int = HTTPStatus.OK,
    ) -> None:
        foo = {
            "apiVersion": Foo.resource.api_version,
            "kind": Foo.resource.kind,
            "metadata": {"name": name, "labels": {MADE_BY: "live-page"}},
            "spec": {"deploymentName": name if deployment is None else deployment, "replicas": 1},
        }
        self._ask("POST", Foo.resource.path(namespace=namespace), foo, expected=expected)

    def _inject(self, **fault: Any) -> str:
        return str(self._ask("POST", "/sandbox/faults", fault).get("id", ""))

    def _ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        query: Mapping[str, str] | None = None,
        expected: int = HTTPStatus.OK,
    ) -> Any:
        """Send one request. Args: expected is an error status that is accepted."""
        headers = {"Content-Type": _MERGE if method == "PATCH" else "application/json"}
        data = None if body is None else json.dumps(body).encode()
        try:
            answer = self._transport.request(method, path, headers=headers, query=query, body=data)
        except ClientError as error:
            raise ControlError(f"{method} {path}: {error}") from error
        if answer.status >= HTTPStatus.BAD_REQUEST and answer.status != expected:
            raise ControlError(f"{method} {path}: the server answered {answer.status}")
        return json.loads(answer.body)
