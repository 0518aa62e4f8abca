"""
The EndpointSlice of a Service, with the pods that the Service selects.

Follows: kubernetes pkg/controller/endpointslice. Differs: a Service has one slice, with IPv4 addresses and
without topology; the annotation with the time of the last change is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from handloop_sandbox.cluster.cluster_controller import View, Write
from handloop_sandbox.cluster.workloads import is_deleting, is_pod_ready
from handloop_sandbox.storage.owner_references import controller_reference
from handloop_sandbox.storage.stored import Object
from handloop_sandbox.wire.resource import GroupResource

ENDPOINT_SLICES = GroupResource("discovery.k8s.io", "endpointslices")
_HEADLESS_LABEL = "service.kubernetes.io/headless"

_SERVICE_LABEL = "kubernetes.io/service-name"
_MANAGER_LABEL = "endpointslice.kubernetes.io/managed-by"
_MANAGER = "endpointslice-controller.k8s.io"


def service_of_slice(slice_: Object) -> str | None:
    """Return the name of the slice's Service if the controller maintains the slice, or else None."""
    labels = slice_["metadata"].get("labels") or {}
    return labels.get(_SERVICE_LABEL, "") if labels.get(_MANAGER_LABEL) == _MANAGER else None


def slice_writes(view: View, service: Object, pods: Sequence[Object]) -> list[Write]:
    """Return the write for a Service's slice, or [] if it is up to date. Each pod must have an address."""
    wanted, labels = _content(service, pods), _labels(service)
    owned = view.state.by_owner(service["metadata"]["uid"])
    present = next((obj for place, obj in owned if place == ENDPOINT_SLICES), None)
    if present is None:
        name = view.new_name(f"{service['metadata']['name']}-")
        return [Write.of("create", ENDPOINT_SLICES, _new_slice(service, name, labels) | wanted)]
    metadata = present["metadata"]
    if metadata.get("labels") == labels and all(present.get(key) == wanted[key] for key in wanted):
        return []
    update = {**present, **wanted, "metadata": {**metadata, "labels": labels}}
    return [Write.of("update", ENDPOINT_SLICES, update)]


def _content(service: Object, pods: Sequence[Object]) -> dict[str, Any]:
    """Return the part of a slice that is derived from the Service and its pods."""
    ports = [
        {
            "name": port.get("name", ""),
            "port": number,
            "protocol": port.get("protocol", "TCP"),
            **({"appProtocol": port["appProtocol"]} if "appProtocol" in port else {}),
        }
        for port in service["spec"].get("ports") or ()
        if (number := target_port(port, pods)) is not None
    ]
    return {
        "endpoints": [_endpoint(service, pod) for pod in pods] or None,
        "ports": ports if pods and ports else None,
    }


def target_port(port: dict[str, Any], pods: Sequence[Object]) -> int | None:
    """Return the number of a Service's target port. A name is resolved in the first pod with such a port."""
    target = port.get("targetPort") or port["port"]
    if isinstance(target, int):
        return target
    containers = (container for pod in pods for container in pod["spec"]["containers"])
    named = (entry for container in containers for entry in container.get("ports") or ())
    return next((entry["containerPort"] for entry in named if entry.get("name") == target), None)


def _endpoint(service: Object, pod: Object) -> dict[str, Any]:
    terminating, serving = is_deleting(pod), is_pod_ready(pod)
    ready = bool(service["spec"].get("publishNotReadyAddresses")) or (serving and not terminating)
    return {
        "addresses": [pod["status"]["podIP"]],
        "conditions": {"ready": ready, "serving": serving, "terminating": terminating},
        **pod_of_endpoint(service, pod),
    }


def pod_of_endpoint(service: Object, pod: Object) -> dict[str, Any]:
    """Return the fields that describe a pod in slices and Endpoints: its host name, node and reference."""
    metadata, hostname, domain = pod["metadata"], pod["spec"].get("hostname"), pod["spec"].get("subdomain")
    return {
        **({"hostname": hostname} if hostname and domain == service["metadata"]["name"] else {}),
        **({"nodeName": pod["spec"]["nodeName"]} if pod["spec"].get("nodeName") else {}),
        "targetRef": {
            "kind": "Pod",
            "name": metadata["name"],
            "namespace": metadata["namespace"],
            "uid": metadata["uid"],
        },
    }


def labels_of_service(service: Object) -> dict[str, str]:
    """Return a Service's labels for its slice and Endpoints. A headless Service has one more label."""
    own = service["metadata"].get("labels") or {}
    headless = {_HEADLESS_LABEL: ""} if service["spec"].get("clusterIP") == "None" else {}
    return {key: text for key, text in own.items() if key != _HEADLESS_LABEL} | headless


def _labels(service: Object) -> dict[str, str]:
    """Return the labels of a Service's slice, which also name the Service and the slice's manager."""
    found = {_MANAGER_LABEL: _MANAGER, _SERVICE_LABEL: service["metadata"]["name"]}
    return labels_of_service(service) | found


def _new_slice(service: Object, name: str, labels: dict[str, str]) -> Object:
    metadata = service["metadata"]
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": name,
            "generateName": f"{metadata['name']}-",
            "namespace": metadata["namespace"],
            "labels": labels,
            "ownerReferences": [controller_reference(service)],
        },
        "addressType": "IPv4",
    }
