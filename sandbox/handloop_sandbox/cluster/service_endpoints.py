"""
The controller for a Service's EndpointSlice and Endpoints, which contain the addresses of its pods.

Follows: kubernetes pkg/controller/endpointslice and pkg/controller/endpoint.
"""

from __future__ import annotations

from collections.abc import Iterator

from handloop_sandbox.cluster.cluster_controller import KeyedController, Pace, View, Write
from handloop_sandbox.cluster.endpoint_slices import ENDPOINT_SLICES, service_of_slice, slice_writes
from handloop_sandbox.cluster.endpoints import ENDPOINTS, endpoints_writes
from handloop_sandbox.cluster.label_indexes import LabelIndex, ServiceIndex
from handloop_sandbox.cluster.workloads import PODS, is_deleting, is_pod_finished, is_pod_ready
from handloop_sandbox.storage.stored import Change, ChangeType, Object
from handloop_sandbox.wire.resource import GroupResource
from handloop_sandbox.wire.status import Status

SERVICES = GroupResource("", "services")

_REACTION_SECONDS = 0.05
_RETRY_SECONDS = 1.0

_Key = tuple[str, str]


class ServiceEndpointsController(KeyedController[_Key]):
    """
    Maintains the EndpointSlice and the Endpoints of every Service that has a selector.

    State: _services finds the Services that select a pod, and _pods finds the pods that a Service selects.
    Both indexes are updated after every change to a Service or pod.
    """

    interests: frozenset[GroupResource] | None = frozenset({SERVICES, PODS, ENDPOINT_SLICES, ENDPOINTS})

    def __init__(self, pace: Pace) -> None:
        super().__init__(pace)
        self._services = ServiceIndex()
        self._pods = LabelIndex()

    def refused(self, write: Write, status: Status, now: float) -> None:
        """Sync the Service again later."""
        del status
        service: str | None = write.name
        if write.group_resource == ENDPOINT_SLICES and write.object:
            service = service_of_slice(write.object)
        self._dirty.mark((write.namespace, service or ""), now + self._pace.seconds(_RETRY_SECONDS))

    def _observe(self, view: View, change: Change, now: float) -> None:
        del view
        for key in self._concerned(change):
            self._dirty.mark(key, now + self._pace.seconds(_REACTION_SECONDS))

    def _concerned(self, change: Change) -> Iterator[_Key]:
        if change.group_resource == SERVICES:
            self._services.observe(change)
            yield change.namespace, change.name
        elif change.group_resource == ENDPOINT_SLICES:
            if (service := service_of_slice(change.new.object)) is not None:
                yield change.namespace, service
        elif change.group_resource == ENDPOINTS:
            if change.type is ChangeType.DELETED:
                yield change.namespace, change.name
        else:
            self._pods.observe(change)
            yield from self._selecting(change)

    def _selecting(self, change: Change) -> Iterator[_Key]:
        """
        Yield the Services that select the pod before or after the change.

        If the change does not affect their endpoints, yield nothing.
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
        if service is None:  # Endpoints have no owner, so the garbage collector does not delete them
            left = view.state.get(ENDPOINTS, *key)
            return [] if left is None or is_deleting(left) else [Write.of("delete", ENDPOINTS, left)]
        selector = service["spec"].get("selector")
        if is_deleting(service) or not selector:
            return []
        found = (view.state.get(PODS, key[0], name) for name in self._pods.matching(key[0], selector))
        pods = [pod for pod in found if pod and _has_endpoint(pod)]
        # A pod without a node can have an address if a user has written its status.
        bound = [pod for pod in pods if pod["spec"].get("nodeName")]
        shown = pods if service["spec"].get("publishNotReadyAddresses") else bound
        return slice_writes(view, service, shown) + endpoints_writes(view, service, bound)


def _shown(pod: Object) -> object:
    status = pod.get("status") or {}
    labels = pod["metadata"].get("labels")
    return labels, status.get("podIP"), is_pod_ready(pod), is_deleting(pod), is_pod_finished(pod)


def _has_endpoint(pod: Object) -> bool:
    return bool((pod.get("status") or {}).get("podIP")) and not is_pod_finished(pod)
