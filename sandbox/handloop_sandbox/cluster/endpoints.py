"""
The Endpoints object of a Service, the older form of its EndpointSlice. It has the Service's name.

Follows: kubernetes pkg/controller/endpoint. Differs: the annotation with the time of the last change is left
out, and the number of addresses is not limited to 1,000.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from handloop_sandbox.cluster.cluster_controller import View, Write
from handloop_sandbox.cluster.endpoint_slices import labels_of_service, pod_of_endpoint, target_port
from handloop_sandbox.cluster.workloads import is_deleting, is_pod_ready
from handloop_sandbox.storage.stored import Object
from handloop_sandbox.wire.resource import GroupResource

ENDPOINTS = GroupResource("", "endpoints")

_MANAGED = {"endpoints.kubernetes.io/managed-by": "endpoint-controller"}


def endpoints_writes(view: View, service: Object, pods: Sequence[Object]) -> list[Write]:
    """Return the write for a Service's Endpoints, or [] if up to date. Each pod must have an address."""
    metadata = service["metadata"]
    namespace, name = metadata["namespace"], metadata["name"]
    subsets, labels = _subsets(service, pods), labels_of_service(service) | _MANAGED
    present = view.state.get(ENDPOINTS, namespace, name)
    if present is None:
        new = {"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": name, "namespace": namespace}}
        return [_write("create", new, labels, subsets)]
    if (present.get("subsets") or [], present["metadata"].get("labels")) == (subsets, labels):
        return []
    return [_write("update", present, labels, subsets)]


def _write(
    verb: Literal["create", "update"], obj: Object, labels: dict[str, str], subsets: list[Object]
) -> Write:
    kept = {key: value for key, value in obj.items() if key != "subsets"}
    shown = {"subsets": subsets} if subsets else {}
    return Write.of(verb, ENDPOINTS, {**kept, **shown, "metadata": {**obj["metadata"], "labels": labels}})


def _subsets(service: Object, pods: Sequence[Object]) -> list[dict[str, Any]]:
    """Group the pods by the port numbers of the Service's ports. Each group becomes one subset."""
    subsets: dict[str, dict[str, Any]] = {}
    tolerant = bool(service["spec"].get("publishNotReadyAddresses"))
    for pod in pods:
        ports = _ports(service, pod)
        if (is_deleting(pod) and not tolerant) or (service["spec"].get("ports") and not ports):
            continue
        subset = subsets.setdefault(repr(ports), {"ports": ports} if ports else {})
        place = "addresses" if tolerant or is_pod_ready(pod) else "notReadyAddresses"
        subset.setdefault(place, []).append({"ip": pod["status"]["podIP"], **pod_of_endpoint(service, pod)})
    for subset in subsets.values():
        for place in {"addresses", "notReadyAddresses"} & subset.keys():
            subset[place].sort(key=lambda address: address["ip"])
    return list(subsets.values())


def _ports(service: Object, pod: Object) -> list[dict[str, Any]]:
    return [
        {
            **({"name": port["name"]} if port.get("name") else {}),
            "port": number,
            "protocol": port.get("protocol", "TCP"),
            **({"appProtocol": port["appProtocol"]} if "appProtocol" in port else {}),
        }
        for port in service["spec"].get("ports") or ()
        if (number := target_port(port, (pod,))) is not None
    ]
