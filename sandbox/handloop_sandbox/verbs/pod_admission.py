"""
Admits new pods: adds their service account and token volume, priority, tolerations and QoS class.

A pod is refused, for example, if the runtime class that it names does not exist.

Follows: kubernetes plugin/pkg/admission/{serviceaccount,defaulttolerationseconds,priority,runtimeclass},
pkg/apis/core/helper/qos. Differs: the overhead and the scheduling of a RuntimeClass are not applied to its
pods.
"""

from __future__ import annotations

from typing import Any, Final

from handloop_sandbox.cluster.bootstrap import PRIORITY_CLASSES
from handloop_sandbox.cluster.cluster_controller import new_name
from handloop_sandbox.grammar.quantity import parse_quantity
from handloop_sandbox.requests.call import Call
from handloop_sandbox.storage.stored import Object
from handloop_sandbox.verbs import limit_ranges
from handloop_sandbox.wire import go_time
from handloop_sandbox.wire.resource import GroupResource

_MOUNT_PATH: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
_DEFAULT_ACCOUNT: Final = "default"
_ACCOUNTS: Final = GroupResource("", "serviceaccounts")
_RUNTIME_CLASSES: Final = GroupResource("node.k8s.io", "runtimeclasses")
_TOLERATION_SECONDS: Final = 300
_COMPUTE: Final = ("cpu", "memory")
_GATED: Final = {
    "reason": "SchedulingGated",
    "message": "Scheduling is blocked due to non-empty scheduling gates",
}


def admitted(call: Call, pod: Object) -> Object:
    """
    Return a new pod after admission, in phase Pending.

    Raises: StatusError 403 if the pod is refused, for example because it names an object that does not exist.
    """
    pod = limit_ranges.with_defaults(call, pod)
    spec = pod.get("spec") or {}
    if call.context.account_admission:
        spec = _with_service_account(call, pod, spec)
    spec = _with_priority(call, pod, spec)
    spec = with_tolerations(spec)
    if spec.get("terminationGracePeriodSeconds", 0) < 0:
        spec = {**spec, "terminationGracePeriodSeconds": 1}
    _check_runtime_class(call, pod, spec)
    status: Object = {"phase": "Pending", "qosClass": qos_class(spec)}
    if spec.get("schedulingGates"):
        times = {"lastProbeTime": None, "lastTransitionTime": go_time.from_unix(call.context.now)}
        status["conditions"] = [{"type": "PodScheduled", "status": "False", **times, **_GATED}]
    return {**pod, "spec": spec, "status": status}


def qos_class(spec: Object) -> str:
    """Return the QoS class of a pod: `Guaranteed`, `Burstable` or `BestEffort`."""
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


def _with_service_account(call: Call, pod: Object, spec: Object) -> Object:
    name = spec.get("serviceAccountName") or _DEFAULT_ACCOUNT
    account = call.state.get(_ACCOUNTS, call.namespace, name) or {}
    # A real server waits for the default account, which is created shortly after the namespace.
    if not account and name != _DEFAULT_ACCOUNT:
        where = f"{call.namespace}/{name}"
        text = f'error looking up service account {where}: serviceaccount "{name}" not found'
        raise call.refused(pod, text)
    spec = {**spec, "serviceAccountName": name, "serviceAccount": name}
    if account.get("imagePullSecrets") and not spec.get("imagePullSecrets"):
        spec["imagePullSecrets"] = account["imagePullSecrets"]
    mounts = spec.get("automountServiceAccountToken", account.get("automountServiceAccountToken"))
    return spec if mounts is False else _with_token(call, spec)


def _with_token(call: Call, spec: Object) -> Object:
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


def with_tolerations(spec: Object) -> Object:
    """Return a spec that tolerates unready and unreachable nodes, by default for a limited time."""
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


def _with_priority(call: Call, pod: Object, spec: Object) -> Object:
    name = spec.get("priorityClassName")
    found = call.state.get(PRIORITY_CLASSES, "", name) if name else _default_class(call)
    if name and found is None:
        raise call.refused(pod, f"no PriorityClass with name {name} was found")
    value = (found or {}).get("value", 0)
    policy = (found or {}).get("preemptionPolicy") or "PreemptLowerPriority"
    computed = "must not be provided in pod spec; priority admission controller computed"
    if spec.get("priority", value) != value:
        given = f"the integer value of priority ({spec['priority']}) {computed} {value}"
        raise call.refused(pod, f"{given} from the given PriorityClass name")
    if spec.get("preemptionPolicy", policy) != policy:
        given = f"the string value of PreemptionPolicy ({spec['preemptionPolicy']}) {computed} {policy}"
        raise call.refused(pod, f"{given} from the given PriorityClass name")
    chosen = {**spec, "priority": value, "preemptionPolicy": policy}
    if found and not name:
        chosen["priorityClassName"] = found["metadata"]["name"]
    return chosen


def _default_class(call: Call) -> Object | None:
    classes = call.state.list(PRIORITY_CLASSES)
    return next((entry for entry in classes if entry.get("globalDefault")), None)


def only_default(call: Call, priority_class: Object) -> Object:
    """Return a new PriorityClass. Raises: StatusError 403 if it would be a second global default."""
    found = _default_class(call) if priority_class.get("globalDefault") else None
    if found is None:
        return priority_class
    text = (
        f"PriorityClass {found['metadata']['name']} is already marked as default. Only one default can exist"
    )
    raise call.refused(priority_class, text)


def _check_runtime_class(call: Call, pod: Object, spec: Object) -> None:
    name = spec.get("runtimeClassName")
    if name and call.state.get(_RUNTIME_CLASSES, "", name) is None:
        raise call.refused(pod, f'pod rejected: RuntimeClass "{name}" not found')
