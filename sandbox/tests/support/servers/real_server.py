"""The real API server that TEST_KUBECONFIG names, for tests that ask it for the truth."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from handloop.testing.eventually import eventually as until
from handloop_sandbox.wire.resource import ServedResource
from support.builders.kind_samples import GROUP, NAMESPACE
from support.servers.turns import real_kubeconfig
from tools.api_reader import Answer, APIReader

Object = dict[str, Any]

NAMESPACES = "/api/v1/namespaces"
OURS = f"{NAMESPACES}/{NAMESPACE}"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SECONDS = 30.0


class RealServer:
    """
    The server, with a namespace and a group for custom resources that are ours alone.

    Both have another name in every run; requests and answers have NAMESPACE and GROUP in their place.
    """

    def __init__(self, reader: APIReader) -> None:
        self._reader = reader
        # as long as NAMESPACE: lengths in protobuf stay right
        self._run = f"kinds-{secrets.token_hex(4)[:7]}"

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        content_type: str = "",
        accept: str = "application/json",
    ) -> Answer:
        """Ask, and return the answer."""
        data = None if body is None else self._ours(json.dumps(body)).encode()
        answer = self._reader.request(
            method, self._ours(path), data, content_type=content_type, accept=accept
        )
        return answer._replace(body=answer.body.replace(self._run.encode(), NAMESPACE.encode()))

    def _ours(self, text: str) -> str:
        return text.replace(NAMESPACE, self._run)

    def define(self, definition: Object) -> None:
        """Create a custom resource and wait until it is served."""
        answer = self.request("POST", CRDS, definition)
        assert answer.status == 201, answer
        spec = definition["spec"]
        path = f"/apis/{spec['group']}/{spec['versions'][0]['name']}/{spec['names']['plural']}"
        until(lambda: self.request("GET", path).status == 200, f"{path} served", seconds=SECONDS)

    def close(self) -> None:
        """Take away everything that was made."""
        for found in self.request("GET", CRDS).json()["items"]:
            if found["spec"]["group"] == GROUP:
                self.request("DELETE", f"{CRDS}/{found['metadata']['name']}")
        self.request("DELETE", OURS)


def collection(resource: ServedResource) -> str:
    """The path of a resource's objects, in our namespace if it has namespaces."""
    prefix = f"/apis/{resource.group}/{resource.version}" if resource.group else f"/api/{resource.version}"
    return f"{prefix}{'/namespaces/' + NAMESPACE if resource.namespaced else ''}/{resource.plural}"


@contextmanager
def real_server() -> Iterator[RealServer]:
    """The server for one test or recording; skips the test without one."""
    with APIReader(str(real_kubeconfig())) as reader:
        server = RealServer(reader)
        try:
            assert server.request("POST", NAMESPACES, {"metadata": {"name": NAMESPACE}}).status == 201
            account = f"{OURS}/serviceaccounts/default"
            until(lambda: server.request("GET", account).status == 200, "ready for pods", seconds=SECONDS)
            yield server
        finally:
            server.close()
