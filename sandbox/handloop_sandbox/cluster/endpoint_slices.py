"""
The endpoints of Services: one EndpointSlice per Service, with the pods that the Service selects.

Follows: kubernetes pkg/controller/endpointslice. Differs: one slice per Service, IPv4, no topology; no
Endpoints objects.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from handloop_sandbox.cluster.cluster_controller import KeyedController, Pace, View, Write
from handloop_sandbox.cluster.label_indexes import LabelIndex, ServiceIndex
from handloop_sandbox.cluster.workloads import PODS, is_deleting, is_pod_finished, is_pod_ready
from handloop_sandbox.storage.owner_references import controller_reference
from handloop_sandbox.storage.stored import Change, ChangeType, Object
from handloop_sandbox.wire.resource import GroupResource
from handloop_sandbox.wire.status import Status

SERVICES = GroupResource("", "services")
ENDPOINT_SLICES = GroupResource("discovery.k8s.io", "endpointslices")

_REACTION_SECONDS = 0.05
_RETRY_SECONDS = 1.0
_SERVICE_LABEL = "kubernetes.io/service-name"
_MANAGER_LABEL = "endpointslice.kubernetes.io/managed-by"
_MANAGER = "endpointslice-controller.k8s.io"
_HEADLESS_LABEL = "service.kubernetes.io/headless"

_Key = tuple[str, str]


class EndpointSliceController(KeyedController[_Key]):
    """
    Maintains the slice of every Service with a selector.

    State: two indexes follow every change of Services and pods.
    """

    interests: frozenset[GroupResource] | None = frozenset({SERVICES, PODS, ENDPOINT_SLICES})

    def __init__(self, pace: Pace) -> None:
        super().__init__(pace)
        self._services = ServiceIndex()
        self._pods = LabelIndex()

    def refused(self, write: Write, status: Status, now: float) -> None:
        """Look again."""
        del status
        service = write.object["metadata"]["labels"][_SERVICE_LABEL] if write.object else ""
        self._dirty.mark((write.namespace, service), now + self._pace.seconds(_RETRY_SECONDS))

    def _observe(self, view: View, change: Change, now: float) -> None:
        del view
        for key in self._concerned(change):
            self._dirty.mark(key, now + self._pace.seconds(_REACTION_SECONDS))

    def _concerned(self, change: Change) -> Iterator[_Key]:
        obj = change.new.object
        if change.group_resource == SERVICES:
            self._services.observe(change)
            yield change.namespace, change.name
        elif change.group_resource == ENDPOINT_SLICES:
            labels = obj["metadata"].get("labels") or {}
            if labels.get(_MANAGER_LABEL) == _MANAGER:
                yield change.namespace, labels.get(_SERVICE_LABEL, "")
        else:
            self._pods.observe(change)
            yield from self._selecting(change)

    def _selecting(self, change: Change) -> Iterator[_Key]:
        """
        The Services that select a pod or selected it before, if a part of the pod that a slice shows has
        changed.
        """
        old = change.old.object if change.old else None
        pod = change.new.object
        if old is not None and change.type is ChangeType.MODIFIED and _shown(old) == _shown(pod):
            return
        for version in (pod, old):
            if version is not None:
                labels = version["metadata"].get("labels") or {}
                yield from self._services.selecting(change.namespace, labels)

    def _sync(self, view: View, key: _Key, now: float) -> list[Write]:
        del now
        service = view.state.get(SERVICES, *key)
        if service is None or is_deleting(service) or not service["spec"].get("selector"):
            return []
        metadata = service["metadata"]
        namespace, name = metadata["namespace"], metadata["name"]
        names = self._pods.matching(namespace, service["spec"]["selector"])
        pods = [pod for each in names if (pod := view.state.get(PODS, namespace, each))]
        wanted = _content(service, [pod for pod in pods if _has_endpoint(pod)])
        labels = _labels(service)
        owned = view.state.by_owner(metadata["uid"])
        present = next((obj for place, obj in owned if place == ENDPOINT_SLICES), None)
        if present is None:
            slice_ = _new_slice(service, view.new_name(f"{name}-"), labels) | wanted
            return [Write.of("create", ENDPOINT_SLICES, slice_)]
        metadata = present["metadata"]
        if metadata.get("labels") == labels and all(present.get(key) == wanted[key] for key in wanted):
            return []
        update = {**present, **wanted, "metadata": {**metadata, "labels": labels}}
        return [Write.of("update", ENDPOINT_SLICES, update)]


def _shown(pod: Object) -> object:
    status = pod.get("status") or {}
    labels = pod["metadata"].get("labels")
    return labels, status.get("podIP"), is_pod_ready(pod), is_deleting(pod), is_pod_finished(pod)


def _has_endpoint(pod: Object) -> bool:
    return bool((pod.get("status") or {}).get("podIP")) and not is_pod_finished(pod)


def _content(service: Object, pods: Sequence[Object]) -> dict[str, Any]:
    """The part of a slice that follows from the Service and its pods."""
    ports = [
        {
            "name": port.get("name", ""),
            "port": number,
            "protocol": port.get("protocol", "TCP"),
            **({"appProtocol": port["appProtocol"]} if "appProtocol" in port else {}),
        }
        for port in service["spec"].get("ports") or ()
        if (number := _target(port, pods)) is not None
    ]
    return {
        "endpoints": [_endpoint(service, pod) for pod in pods] or None,
        "ports": ports if pods and ports else None,
    }


def _target(port: dict[str, Any], pods: Sequence[Object]) -> int | None:
    """The number of a targetPort. A name is looked up in the containers of the first pod that has it."""
    target = port.get("targetPort") or port["port"]
    if isinstance(target, int):
        return target
    containers = (container for pod in pods for container in pod["spec"]["containers"])
    named = (entry for container in containers for entry in container.get("ports") or ())
    return next((entry["containerPort"] for entry in named if entry.get("name") == target), None)


def _endpoint(service: Object, pod: Object) -> dict[str, Any]:
    metadata, terminating, serving = pod["metadata"], is_deleting(pod), is_pod_ready(pod)
    ready = bool(service["spec"].get("publishNotReadyAddresses")) or (serving and not terminating)
    hostname, domain = pod["spec"].get("hostname"), pod["spec"].get("subdomain")
    return {
        "addresses": [pod["status"]["podIP"]],
        "conditions": {"ready": ready, "serving": serving, "terminating": terminating},
        **({"hostname": hostname} if hostname and domain == service["metadata"]["name"] else {}),
        "nodeName": pod["spec"]["nodeName"],
        "targetRef": {
            "kind": "Pod",
            "name": metadata["name"],
            "namespace": metadata["namespace"],
            "uid": metadata["uid"],
        },
    }


def _labels(service: Object) -> dict[str, str]:
    """The Service's own labels, and those by which clients find its slices."""
    metadata = service["metadata"]
    own = {key: text for key, text in (metadata.get("labels") or {}).items() if key != _HEADLESS_LABEL}
    headless = {_HEADLESS_LABEL: ""} if service["spec"].get("clusterIP") == "None" else {}
    return {**own, **headless, _MANAGER_LABEL: _MANAGER, _SERVICE_LABEL: metadata["name"]}


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
