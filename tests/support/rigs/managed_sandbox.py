"""The kit's sandbox without sockets, with the objects and users of our own tests."""

from __future__ import annotations

from typing import Any, Final

from handloop.client.transport import ForwardingTransport
from handloop.controller.foo.access import FOO_ACCESS
from handloop.controller.foo.types import Foo
from handloop.controller.runtime.rbac.roles import roles
from handloop.testing import managed_sandbox as kit
from handloop.testing.managed_sandbox import post
from handloop_sandbox.server import Sandbox

__all__ = ["AsAlice", "ManagedSandbox", "allow_foos", "post"]

_RBAC: Final = "/apis/rbac.authorization.k8s.io/v1"


def allow_foos(sandbox: Sandbox, user: str, namespace: str = "") -> None:
    """Give a user the role of `manifests rbac --controllers=foo`; in a namespace, "" = everywhere."""
    where = f"{_RBAC}/namespaces/{namespace}/role" if namespace else f"{_RBAC}/clusterrole"
    (made,) = roles(FOO_ACCESS, namespaces=(namespace,) if namespace else ())
    post(sandbox, f"{where}s", made)
    subject = {"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"}
    reference = {"kind": made["kind"], "name": "handloop", "apiGroup": "rbac.authorization.k8s.io"}
    binding = {"metadata": {"name": "handloop"}, "roleRef": reference, "subjects": [subject]}
    post(sandbox, f"{where}bindings", binding)


class AsAlice(ForwardingTransport):
    """An administrator who acts as alice."""

    def request(self, method: str, path: str, **options: Any) -> Any:
        return super().request(method, path, **self._as_alice(options))

    def stream(self, method: str, path: str, **options: Any) -> Any:
        return super().stream(method, path, **self._as_alice(options))

    @staticmethod
    def _as_alice(options: dict[str, Any]) -> dict[str, Any]:
        return {**options, "headers": {**(options.get("headers") or {}), "Impersonate-User": "alice"}}


class ManagedSandbox(kit.ManagedSandbox):
    """With Foos and ConfigMaps."""

    def foo(self, name: str, replicas: int = 1, *, deployment: str = "", **metadata: Any) -> None:
        """Create a Foo; its Deployment has its name unless given."""
        head = {"apiVersion": Foo.resource.api_version, "kind": "Foo", "metadata": {"name": name, **metadata}}
        spec = {"deploymentName": deployment or name, "replicas": replicas}
        self.post(Foo.resource.path(namespace="default"), {**head, "spec": spec})

    def config_map(self, name: str, *, namespace: str = "default", **metadata: Any) -> None:
        """Create a ConfigMap."""
        path = f"/api/v1/namespaces/{namespace}/configmaps"
        self.post(path, {"metadata": {"name": name, **metadata}, "data": {}})
