"""
Objects as rows of a `meta.k8s.io/v1 Table`, which kubectl get prints, and as PartialObjectMetadata.

A custom resource has the columns of its definition (additionalPrinterColumns). The row of a built-in kind
without an entry in CELLS contains the name and creation time.
Follows: apiserver pkg/endpoints/handlers/response.go, kubernetes pkg/printers/internalversion,
apiextensions-apiserver pkg/registry/customresource/tableconvertor/tableconvertor.go.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from handloop_sandbox.kinds.kind_table import Column, builtin_columns
from handloop_sandbox.tables import cluster_cells as cluster
from handloop_sandbox.tables import network_cells as network
from handloop_sandbox.tables import storage_cells as storage
from handloop_sandbox.tables import stored_cells as stored
from handloop_sandbox.tables import workload_cells as workload
from handloop_sandbox.tables.cell import Object, name_of
from handloop_sandbox.tables.pod_cells import pod_cells, pod_conditions
from handloop_sandbox.wire import human, jsonpath
from handloop_sandbox.wire.go_format import escaped, go_value
from handloop_sandbox.wire.resource import GroupResource, ServedResource
from handloop_sandbox.wire.status import bad_request

_AGE = {
    "name": "Age",
    "type": "date",
    "jsonPath": ".metadata.creationTimestamp",
    "description": "",
}


def custom_columns(resource: ServedResource) -> list[Column]:
    """Return the Name column and the definition's columns, or Name and Age if it has none."""
    return [_name_column(), *(_column(declared) for declared in _declared(resource))]


def _name_column() -> Column:
    return builtin_columns("", "v1", "configmaps")[0]


def _age_description() -> str:
    return next(
        column.description for column in builtin_columns("", "v1", "configmaps") if column.name == "Age"
    )


def _declared(resource: ServedResource) -> list[Object]:
    return list(resource.printer_columns) or [{**_AGE, "description": _age_description()}]


def _column(declared: Object) -> Column:
    path = declared["jsonPath"]
    text = declared.get("description") or f"Custom resource definition column (in JSONPath format): {path}"
    return Column(
        declared["name"], declared["type"], declared.get("format", ""), int(declared.get("priority", 0)), text
    )


def custom_cells(resource: ServedResource, obj: Object, now: float) -> list[Any]:
    """Return the name and each column's value, which is None if it is missing or has the wrong type."""
    return [name_of(obj), *(_cell(declared, obj, now) for declared in _declared(resource))]


def _cell(declared: Object, obj: Object, now: float) -> Any:
    try:
        found = jsonpath.parse(declared["jsonPath"]).find(obj)
    except jsonpath.JSONPathError:
        return None
    if not found or (found[0] is None and declared["type"] != "string"):
        return None
    return _typed(declared["type"], found[0], now)


def _typed(kind: str, value: Any, now: float) -> Any:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    match kind:
        case "string":
            return _text(value)
        case "integer" if is_number:
            return int(value)
        case "number" if is_number:
            return int(value) if float(value).is_integer() else value
        case "boolean" if isinstance(value, bool):
            return value
        case "date" if isinstance(value, str):
            return human.age(value, now)
        case _:
            return None


def _text(value: Any) -> str:
    if isinstance(value, (dict, list)):
        return escaped(json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False))
    return "<no value>" if value is None else go_value(value)


Cells = Callable[[Object, float], list[Any]]

CELLS: Mapping[tuple[str, str], Cells] = {
    ("", "configmaps"): cluster.config_map_cells,
    ("", "events"): cluster.event_cells,
    ("", "namespaces"): cluster.namespace_cells,
    ("", "nodes"): cluster.node_cells,
    ("", "pods"): pod_cells,
    ("", "resourcequotas"): cluster.quota_cells,
    ("", "secrets"): cluster.secret_cells,
    ("", "serviceaccounts"): cluster.named_cells,
    ("", "services"): cluster.service_cells,
    ("apps", "deployments"): workload.deployment_cells,
    ("apps", "replicasets"): workload.replica_set_cells,
    ("apps", "statefulsets"): workload.stateful_set_cells,
    ("autoscaling", "horizontalpodautoscalers"): workload.autoscaler_cells,
    ("batch", "jobs"): workload.job_cells,
    ("certificates.k8s.io", "certificatesigningrequests"): cluster.signing_request_cells,
    ("coordination.k8s.io", "leases"): cluster.lease_cells,
    ("discovery.k8s.io", "endpointslices"): cluster.endpoint_slice_cells,
    ("events.k8s.io", "events"): cluster.event_cells,
    ("policy", "poddisruptionbudgets"): workload.disruption_budget_cells,
    ("", "componentstatuses"): stored.component_cells,
    ("", "endpoints"): network.endpoints_cells,
    ("", "persistentvolumeclaims"): storage.claim_cells,
    ("", "persistentvolumes"): storage.volume_cells,
    ("", "podtemplates"): workload.template_cells,
    ("", "replicationcontrollers"): workload.controller_cells,
    ("apps", "controllerrevisions"): workload.revision_cells,
    ("apps", "daemonsets"): workload.daemon_set_cells,
    ("batch", "cronjobs"): workload.cron_job_cells,
    ("networking.k8s.io", "ingressclasses"): network.ingress_class_cells,
    ("networking.k8s.io", "ingresses"): network.ingress_cells,
    ("networking.k8s.io", "networkpolicies"): network.network_policy_cells,
    ("rbac.authorization.k8s.io", "clusterrolebindings"): cluster.role_binding_cells,
    ("rbac.authorization.k8s.io", "rolebindings"): cluster.role_binding_cells,
    ("scheduling.k8s.io", "priorityclasses"): cluster.priority_class_cells,
    ("storage.k8s.io", "storageclasses"): storage.class_cells,
    ("admissionregistration.k8s.io", "mutatingadmissionpolicies"): stored.policy_cells,
    ("admissionregistration.k8s.io", "mutatingadmissionpolicybindings"): stored.policy_binding_cells,
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"): stored.webhook_cells,
    ("admissionregistration.k8s.io", "validatingadmissionpolicies"): stored.policy_cells,
    ("admissionregistration.k8s.io", "validatingadmissionpolicybindings"): stored.policy_binding_cells,
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations"): stored.webhook_cells,
    ("apiregistration.k8s.io", "apiservices"): stored.api_service_cells,
    ("flowcontrol.apiserver.k8s.io", "flowschemas"): stored.flow_schema_cells,
    ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations"): stored.priority_level_cells,
    ("networking.k8s.io", "ipaddresses"): stored.address_cells,
    ("networking.k8s.io", "servicecidrs"): stored.address_range_cells,
    ("node.k8s.io", "runtimeclasses"): stored.runtime_class_cells,
    ("resource.k8s.io", "deviceclasses"): cluster.named_cells,
    ("resource.k8s.io", "resourceclaims"): stored.claim_cells,
    ("resource.k8s.io", "resourceclaimtemplates"): cluster.named_cells,
    ("resource.k8s.io", "resourceslices"): stored.slice_cells,
    ("storage.k8s.io", "csidrivers"): stored.driver_cells,
    ("storage.k8s.io", "csinodes"): stored.driver_node_cells,
    ("storage.k8s.io", "volumeattachments"): stored.attachment_cells,
    ("storage.k8s.io", "volumeattributesclasses"): stored.attributes_class_cells,
}


_SCALES = GroupResource("autoscaling", "scales")
"""The resource of a /scale response, which cannot be listed."""


def columns_of(resource: ServedResource) -> Sequence[Column]:
    """Return the columns of a resource's tables."""
    if resource.custom:
        return custom_columns(resource)
    if resource.group_resource == _SCALES:
        return _scale_columns()
    if (resource.group, resource.plural) not in CELLS:
        return builtin_columns("", "v1", "limitranges")  # name and creation time
    return builtin_columns(resource.group, resource.version, resource.plural)


def _scale_columns() -> list[Column]:
    name, _, age = builtin_columns("", "v1", "configmaps")
    texts = {
        "Desired": "replicas is the desired number of instances for the scaled object.",
        "Available": "replicas is the actual number of observed instances of the scaled object.",
    }
    return [name, *(Column(title, "integer", "", 0, text) for title, text in texts.items()), age]


def cells_of(resource: ServedResource, obj: Object, now: float) -> list[Any]:
    """Return an object's cells, in the order of the columns."""
    if resource.custom:
        return custom_cells(resource, obj, now)
    if resource.group_resource == _SCALES:
        return workload.scale_cells(obj, now)
    return CELLS.get((resource.group, resource.plural), cluster.created_cells)(obj, now)


def render(
    resource: ServedResource,
    objects: Sequence[Object],
    *,
    now: float,
    include: str = "Metadata",
    metadata: Mapping[str, Any] | None = None,
    with_columns: bool = True,
    version: str = "v1",
) -> dict[str, Any]:
    """
    Return a complete Table.

    metadata is its ListMeta. include is the part of the object that each row contains.
    Raises: StatusError 400 if include is unknown.
    """
    table: dict[str, Any] = {"kind": "Table", "apiVersion": f"meta.k8s.io/{version}"}
    table["metadata"] = dict(metadata or {})
    table["columnDefinitions"] = (
        [_definition(column) for column in columns_of(resource)] if with_columns else None
    )
    table["rows"] = [_row(resource, obj, now, include, version) for obj in objects]
    return table


def _definition(column: Column) -> dict[str, Any]:
    return {
        "name": column.name,
        "type": column.type,
        "format": column.format,
        "description": column.description,
        "priority": column.priority,
    }


def _row(resource: ServedResource, obj: Object, now: float, include: str, version: str) -> dict[str, Any]:
    row: dict[str, Any] = {"cells": cells_of(resource, obj, now)}
    conditions = pod_conditions(obj) if resource.group_resource == ("", "pods") else None
    if conditions:
        row["conditions"] = conditions
    row["object"] = _included(obj, include, version)
    return row


def _included(obj: Object, include: str, version: str) -> Any:
    match include:
        case "Object":
            return obj
        case "Metadata" | "":
            return partial_object_metadata(obj, version=version)
        case "None":
            return None
        case _:
            raise bad_request(f'unrecognized includeObject value: "{include}"')


def partial_object_metadata(obj: Object, *, version: str = "v1") -> dict[str, Any]:
    """Return an object's metadata and nothing else."""
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": obj["metadata"],
    }
