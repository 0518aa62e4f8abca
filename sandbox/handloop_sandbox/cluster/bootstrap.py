"""The objects that a new cluster contains."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from handloop_sandbox.cluster import default_roles
from handloop_sandbox.cluster.cluster_controller import Write
from handloop_sandbox.wire.resource import GroupResource

PRIORITY_CLASSES: Final = GroupResource("scheduling.k8s.io", "priorityclasses")
SYSTEM_PRIORITIES: Final = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}
"""The PriorityClasses that every new cluster has, with their values."""
_PRIORITY: Final = "Used for system critical pods that must "
_PRIORITY_DESCRIPTIONS: Final = {
    "system-node-critical": f"{_PRIORITY}not be moved from their current node.",
    "system-cluster-critical": (
        f"{_PRIORITY}run in the cluster, but can be moved to another node if necessary."
    ),
}
_NAMESPACES: Final = ("default", "kube-node-lease", "kube-public", "kube-system")


def writes() -> Iterator[Write]:
    """Yield the creates, in order."""
    for name in _NAMESPACES:
        yield _create(GroupResource("", "namespaces"), "v1", "Namespace", name)
    yield _create(
        GroupResource("", "services"),
        "v1",
        "Service",
        "kubernetes",
        namespace="default",
        labels={"component": "apiserver", "provider": "kubernetes"},
        spec=_service_spec(),
    )
    yield from default_roles.writes()
    for name, value in SYSTEM_PRIORITIES.items():
        yield _create(
            PRIORITY_CLASSES,
            "scheduling.k8s.io/v1",
            "PriorityClass",
            name,
            value=value,
            description=_PRIORITY_DESCRIPTIONS[name],
        )


def _service_spec() -> dict[str, Any]:
    port = {"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}
    return {"clusterIP": "10.96.0.1", "ports": [port]}


def _create(
    group_resource: GroupResource,
    api_version: str,
    kind: str,
    name: str,
    *,
    namespace: str = "",
    labels: Mapping[str, str] | None = None,
    **fields: Any,
) -> Write:
    given = {"namespace": namespace, "labels": labels}
    metadata = {"name": name, **{key: value for key, value in given.items() if value}}
    obj = {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}
    return Write.of("create", group_resource, obj)
