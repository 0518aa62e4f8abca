"""The objects that a new cluster holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from handloop_sandbox.cluster import default_roles
from handloop_sandbox.cluster.cluster_controller import Write
from handloop_sandbox.wire.resource import GroupResource

_NAMESPACES: Final = ("default", "kube-node-lease", "kube-public", "kube-system")


def writes() -> Iterator[Write]:
    """The creates, in order."""
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
