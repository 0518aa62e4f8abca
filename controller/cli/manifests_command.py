"""
`crd`, `rbac` and `user-roles` print what the cluster needs, built from the types and the declared access.
`monitoring` prints what Prometheus and Grafana need.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from handloop.apis.grammar.yaml_text import from_yaml, to_yaml
from handloop.controller.cli.declarations import declared_access, declared_kinds
from handloop.controller.cli.options import Options
from handloop.controller.cli.shipped_manifests import shipped_manifest
from handloop.controller.cli.webhook import definition_of
from handloop.controller.runtime.rbac.roles import roles, user_roles

HEADER: Final = "# made by `{generator} {what}`; do not edit\n"
_LARGE: Final = 200_000


def large_definitions(options: Options) -> Iterator[str]:
    """Yield a warning for each CRD that is almost too large for the annotation of `kubectl apply`."""
    for kind in declared_kinds(options) if options.what == "crd" else ():
        size = len(json.dumps(definition_of(kind, options), separators=(",", ":")))
        if size >= _LARGE:
            what = (
                f"the CRD of {kind.__name__} is {size // 1000} kB as JSON, "
                "and kubectl apply accepts at most 262 kB"
            )
            fix = "use Annotated[..., ANY_FIELDS] for its largest struct, or kubectl apply --server-side"
            yield f"warning: {what}\n  fix: {fix}\n"


def manifests(options: Options) -> str:
    """
    Return the chosen controllers' CRDs, the roles for controllers or users, or the monitoring objects, as
    YAML.

    If a namespace is given, the controllers' roles are Roles in it, except for cluster-scoped kinds.
    Otherwise they are ClusterRoles.
    """
    name, kinds = options.operator.name, declared_kinds(options)
    match options.what:
        case "crd":
            documents = [definition_of(kind, options) for kind in kinds]
        case "rbac":
            documents = roles(declared_access(options), namespaces=options.namespaces, name=name)
        case "user-roles":
            documents = [role for kind in kinds for role in user_roles(kind, name=name)]
        case _:
            documents = list(_monitoring(name, options.leader_elect_resource_namespace))
    generator = options.operator.generator or options.operator.name
    return HEADER.format(generator=generator, what=options.what) + "---\n".join(map(to_yaml, documents))


def _monitoring(name: str, namespace: str) -> Iterator[dict[str, Any]]:
    """Yield an operator's Service, ServiceMonitor, alerts and dashboard. namespace "" means NAME-system."""
    usual = f"{name}-system"
    for place in ("default/metrics_service", "prometheus/service_monitor", "prometheus/prometheus_rule"):
        text = shipped_manifest(f"{place}.yaml", name).replace(usual, namespace or usual)
        document: dict[str, Any] = from_yaml(text)[0]
        document["metadata"]["namespace"] = namespace or usual
        yield document
    text = shipped_manifest("prometheus/dashboard.json", name).replace(usual, namespace or usual)
    labels = {"app.kubernetes.io/name": name, "grafana_dashboard": "1"}
    metadata = {"name": f"{name}-dashboard", "namespace": namespace or usual, "labels": labels}
    yield {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"dashboard.json": text}}
