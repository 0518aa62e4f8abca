"""
How much of a ResourceQuota each object uses, and which quotas apply to an object.

Follows: kubernetes pkg/quota/v1/evaluator/core (pods.go, services.go, persistent_volume_claims.go) and the
object count evaluator of apiserver. Differs: a quota with the scope VolumeAttributesClass applies to no
object.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from handloop_sandbox.cluster.pod_resources import Amounts, Resources, added, of_pod
from handloop_sandbox.cluster.storage_protection import CLAIMS
from handloop_sandbox.cluster.workloads import PODS, is_pod_finished
from handloop_sandbox.grammar.quantity import parse_quantity
from handloop_sandbox.storage.stored import Object
from handloop_sandbox.wire.resource import GroupResource

SERVICES: Final = GroupResource("", "services")
_PREFIX: Final = "count/"
_OLDER_NAMES: Final = frozenset(
    {
        "configmaps",
        "persistentvolumeclaims",
        "pods",
        "replicationcontrollers",
        "resourcequotas",
        "secrets",
        "services",
    }
)
_COMPUTE: Final = ("cpu", "memory", "ephemeral-storage")
_TOGETHER: Final = frozenset(
    f"{prefix}{name}" for prefix in ("", "requests.", "limits.") for name in _COMPUTE
)
_NEEDED: Final = frozenset(name for name in _TOGETHER if "ephemeral" not in name)
"""The resources for which each container must set an amount if a quota limits them."""
_OF_CLASS: Final = ".storageclass.storage.k8s.io/"


def counted_collection(name: str) -> GroupResource | None:
    """Return the collection whose objects a quota counts under this name, or None if there is none."""
    if name in _OLDER_NAMES:
        return GroupResource("", name)
    if name.startswith(_PREFIX):
        plural, _, group = name.removeprefix(_PREFIX).partition(".")
        return GroupResource(group, plural)
    if name in {"services.nodeports", "services.loadbalancers"}:
        return SERVICES
    if name == "requests.storage" or _OF_CLASS in name:
        return CLAIMS
    return PODS if name in _TOGETHER or name.startswith(("hugepages-", "requests.")) else None


def usage(collection: GroupResource, obj: Object) -> Amounts:
    """Return the amounts that an object uses, by the names that a quota can limit."""
    plural, group = collection.plural, collection.group
    amounts = {f"{_PREFIX}{plural}.{group}" if group else f"{_PREFIX}{plural}": "1"}
    if collection == PODS and is_pod_finished(obj):  # finished pods count only as `count/pods`
        return amounts
    if not group and plural in _OLDER_NAMES:
        amounts[plural] = "1"
    if collection == PODS:
        amounts |= _computed(of_pod(obj["spec"]))
    elif collection == SERVICES:
        amounts |= _of_service(obj["spec"])
    elif collection == CLAIMS:
        amounts |= _of_claim(obj["spec"])
    return amounts


def grown(new: Amounts, old: Amounts) -> Amounts:
    """Return by how much each amount has increased. Amounts that have not increased are omitted."""
    asked = {name: amount for name, amount in new.items() if parse_quantity(amount)}
    more = added((asked, {name: f"-{old[name]}" for name in asked if name in old}))
    return {name: amount for name, amount in more.items() if parse_quantity(amount) > 0}


def _computed(asked: Resources) -> Amounts:
    found: dict[str, str] = {}
    for name, amount in asked.requests.items():
        found[f"requests.{name}"] = amount
        if name in _COMPUTE or name.startswith("hugepages-"):
            found[name] = amount
    limits = {f"limits.{name}": amount for name, amount in asked.limits.items() if name in _COMPUTE}
    return found | limits


def _of_service(spec: Mapping[str, Any]) -> Amounts:
    kind, ports = spec.get("type"), len(spec.get("ports") or ())
    balanced = kind == "LoadBalancer"
    has_ports = kind == "NodePort" or (balanced and spec.get("allocateLoadBalancerNodePorts") is not False)
    return {
        "services.nodeports": str(ports if has_ports else 0),
        "services.loadbalancers": str(int(balanced)),
    }


def _of_claim(spec: Mapping[str, Any]) -> Amounts:
    asked = {"persistentvolumeclaims": "1", **_storage(Resources.of(spec).requests)}
    storage_class = spec.get("storageClassName")
    own = {f"{storage_class}{_OF_CLASS}{name}": amount for name, amount in asked.items()}
    return asked | own if storage_class else asked


def _storage(requests: Amounts) -> Amounts:
    return {"requests.storage": requests["storage"]} if "storage" in requests else {}


def is_about(quota: Object, collection: GroupResource, obj: Object) -> bool:
    """Return whether a quota applies to an object. A quota with scopes applies only to pods."""
    terms = list(_terms(quota.get("spec") or {}))
    return all(collection == PODS and _matches(term, obj) for term in terms)


def _terms(spec: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for scope in spec.get("scopes") or ():
        yield {"scopeName": scope, "operator": "Exists"}
    yield from (spec.get("scopeSelector") or {}).get("matchExpressions") or ()


def _matches(term: Mapping[str, Any], pod: Object) -> bool:
    spec, scope = pod["spec"], term["scopeName"]
    if scope.endswith("Terminating"):
        return bool((spec.get("activeDeadlineSeconds") is None) == scope.startswith("Not"))
    if scope.endswith("BestEffort"):
        is_best_effort = (pod.get("status") or {}).get("qosClass") == "BestEffort"
        return bool(is_best_effort != scope.startswith("Not"))
    if scope == "PriorityClass":
        return _has_class(term, spec.get("priorityClassName") or "")
    if scope == "CrossNamespacePodAffinity":
        return any(_crosses(rule) for rule in _affinity_terms(spec.get("affinity") or {}))
    return False


def _has_class(term: Mapping[str, Any], name: str) -> bool:
    values = term.get("values") or ()
    match term.get("operator"):
        case "In":
            return name in values
        case "NotIn":
            return name not in values
        case "DoesNotExist":
            return not name
    return bool(name)


def _affinity_terms(affinity: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for kind in ("podAffinity", "podAntiAffinity"):
        rules = affinity.get(kind) or {}
        yield from rules.get("requiredDuringSchedulingIgnoredDuringExecution") or ()
        preferred = rules.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        yield from (rule["podAffinityTerm"] for rule in preferred)


def _crosses(rule: Mapping[str, Any]) -> bool:
    return bool(rule.get("namespaces")) or rule.get("namespaceSelector") is not None


def lacking(hard: Mapping[str, Any], pod: Object) -> str:
    """
    Return the amounts that a quota requires but containers do not set, or "" if none are missing.

    For example: `limits.cpu for: a,b; memory for: b`.
    """
    spec = pod["spec"]
    needed = sorted(_NEEDED.intersection(hard))
    if any(Resources.of(spec)):
        return ""
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    names = {
        name: sorted(each.get("name", "") for each in containers if name not in _computed(Resources.of(each)))
        for name in needed
    }
    return "; ".join(f"{name} for: {','.join(found)}" for name, found in names.items() if found)
