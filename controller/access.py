"""
What each controller asks of the API server: one declaration behind RBAC manifests and preflight check.

Only verbs that are really used: a test compares them with the requests of a whole run.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from apis.apps_v1 import Deployment
from apis.core_v1 import Event
from apis.resource import Resource
from apis.samplecontroller_v1alpha1 import Foo


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Verbs on one resource or subresource."""

    resource: Resource
    verbs: tuple[str, ...]
    subresource: str = ""

    @property
    def rule_resource(self) -> str:
        """`foos` or `foos/status`, as RBAC rules spell it."""
        return f"{self.resource.plural}/{self.subresource}" if self.subresource else self.resource.plural


FOO_ACCESS: Final = (
    Access(resource=Foo.resource, verbs=("list", "watch")),
    Access(resource=Foo.resource, subresource="status", verbs=("update",)),
    Access(resource=Deployment.resource, verbs=("create", "list", "patch", "watch")),
    Access(resource=Event.resource, verbs=("create", "patch")),
)


def role(name: str, access: Iterable[Access], *, namespace: str = "") -> dict[str, Any]:
    """A ClusterRole, or a Role when a namespace is given."""
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    rules = [
        {
            "apiGroups": [entry.resource.group],
            "resources": [entry.rule_resource],
            "verbs": sorted(entry.verbs),
        }
        for entry in access
    ]
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role" if namespace else "ClusterRole",
        "metadata": metadata,
        "rules": rules,
    }
