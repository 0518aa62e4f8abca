"""
What admission adds to a new pod: service account, its token volume, tolerations, priority, QoS class.

Follows: kubernetes plugin/pkg/admission/{serviceaccount,defaulttolerationseconds,priority},
pkg/apis/core/helper/qos.
"""

from __future__ import annotations

from typing import Any, Final

from handloop.apis.quantity import parse_quantity
from handloop.sandbox.cluster.cluster_controller import new_name
from handloop.sandbox.requests.call import Call
from handloop.sandbox.storage.stored import Object
from handloop.sandbox.wire import go_time
from handloop.sandbox.wire.resource import GroupResource

_MOUNT_PATH: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
_PRIORITY_CLASSES: Final = GroupResource("scheduling.k8s.io", "priorityclasses")
_SYSTEM_PRIORITIES: Final = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
_TOLERATION_SECONDS: Final = 300
_COMPUTE: Final = ("cpu", "memory")
_GATED: Final = {
    "reason": "SchedulingGated",
    "message": "Scheduling is blocked due to non-empty scheduling gates",
}


def admitted(call: Call, pod: Object) -> Object:
    """A new pod as admission leaves it, Pending."""
    spec = _with_service_account(call, pod.get("spec") or {})
    spec = _with_tolerations(spec)
    spec = _with_priority(call, spec)
    status: Object = {"phase": "Pending", "qosClass": qos_class(spec)}
    if spec.get("schedulingGates"):
        times = {"lastProbeTime": None, "lastTransitionTime": go_time.from_unix(call.context.now)}
        status["conditions"] = [{"type": "PodScheduled", "status": "False", **times, **_GATED}]
    return {**pod, "spec": spec, "status": status}


def qos_class(spec: Object) -> str:
    """`Guaranteed`, `Burstable` or `BestEffort`."""
    containers = [*(spec.get("containers") or []), *(spec.get("initContainers") or [])]
    resources = [container.get("resources") or {} for container in containers]
    if not any(_asked(entry.get("requests")) or _asked(entry.get("limits")) for entry in resources):
        return "BestEffort"
    return "Guaranteed" if all(_is_guaranteed(entry) for entry in resources) else "Burstable"


def _asked(amounts: dict[str, str] | None) -> dict[str, str]:
    found = amounts or {}
    return {name: found[name] for name in _COMPUTE if name in found and parse_quantity(found[name])}


def _is_guaranteed(resources: dict[str, Any]) -> bool:
    limits, requests = _asked(resources.get("limits")), _asked(resources.get("requests"))
    if set(limits) != set(_COMPUTE):
        return False
    return all(
        parse_quantity(requests.get(name, limits[name])) == parse_quantity(limits[name]) for name in limits
    )


def _with_service_account(call: Call, spec: Object) -> Object:
    name = spec.get("serviceAccountName") or "default"
    spec = {**spec, "serviceAccountName": name, "serviceAccount": name}
    if spec.get("automountServiceAccountToken") is False:
        return spec
    volume = new_name("kube-api-access-", call.context.random)
    changed = {key: _mounted(spec[key], volume) for key in ("initContainers", "containers") if spec.get(key)}
    if all(changed[key] == spec[key] for key in changed):
        return spec
    return {**spec, **changed, "volumes": [*(spec.get("volumes") or []), _token_volume(volume)]}


def _mounted(containers: list[Object], volume: str) -> list[Object]:
    mount = {"name": volume, "readOnly": True, "mountPath": _MOUNT_PATH}
    return [
        container
        if any(entry.get("mountPath") == _MOUNT_PATH for entry in container.get("volumeMounts") or ())
        else {**container, "volumeMounts": [*(container.get("volumeMounts") or []), mount]}
        for container in containers
    ]


def _token_volume(name: str) -> Object:
    field_ref = {"apiVersion": "v1", "fieldPath": "metadata.namespace"}
    sources = [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": field_ref}]}},
    ]
    return {"name": name, "projected": {"sources": sources, "defaultMode": 420}}


def _with_tolerations(spec: Object) -> Object:
    tolerations = list(spec.get("tolerations") or [])
    for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"):
        if not any(_tolerates(entry, key) for entry in tolerations):
            tolerations.append(
                {
                    "key": key,
                    "operator": "Exists",
                    "effect": "NoExecute",
                    "tolerationSeconds": _TOLERATION_SECONDS,
                }
            )
    return {**spec, "tolerations": tolerations}


def _tolerates(toleration: Object, key: str) -> bool:
    matches: bool = toleration.get("key", key) == key
    return matches and toleration.get("effect", "NoExecute") == "NoExecute"


def _with_priority(call: Call, spec: Object) -> Object:
    name = spec.get("priorityClassName")
    found = call.state.get(_PRIORITY_CLASSES, "", name) if name else _default_class(call)
    value = found["value"] if found else _SYSTEM_PRIORITIES.get(name or "", 0)
    policy = (found or {}).get("preemptionPolicy") or "PreemptLowerPriority"
    chosen = {**spec, "priority": value, "preemptionPolicy": spec.get("preemptionPolicy") or policy}
    if found and not name:
        chosen["priorityClassName"] = found["metadata"]["name"]
    return chosen


def _default_class(call: Call) -> Object | None:
    classes = call.state.list(_PRIORITY_CLASSES)
    return next((entry for entry in classes if entry.get("globalDefault")), None)
