"""
Sets the defaults of built-in kinds: those in the schema, and those that Kubernetes sets in code.

Rules belong to types, not to kinds, so that a pod template has its defaults wherever it occurs. In an
object, the constants of its type are set first. Then resource amounts are rounded up to a thousandth, the
type's rule runs, and the nested objects are treated in the same way. A member gets its default if it
is absent or null, or if its zero value means absent.
Follows: kubernetes pkg/apis/*/*/defaults.go, pkg/apis/core/v1/defaults.go SetDefaults_ResourceList,
apiextensions-apiserver pkg/apis/apiextensions/v1/defaults.go.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Final, NamedTuple

from handloop_sandbox.kinds.default_rules import RULES, Object, Rule
from handloop_sandbox.kinds.structure import (
    Omission,
    Shape,
    items_of,
    named,
    omission,
    properties,
    reference_of,
    resolve,
    shape_of,
    value_of,
)
from handloop_sandbox.wire import quantity
from handloop_sandbox.wire.resource import Schema, ServedResource

_APPS, _CORE, _BATCH = "api.apps.v1", "api.core.v1", "api.batch.v1"
_NET, _RBAC = "api.networking.v1", "api.rbac.v1"
_CRD = "apiextensions-apiserver.pkg.apis.apiextensions.v1"
_HOOKS, _FLOW = "api.admissionregistration.v1", "api.flowcontrol.v1"

_MATCHES: Final = {"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}}
_WEBHOOK: Final = {**_MATCHES, "failurePolicy": "Fail", "timeoutSeconds": 10}

# type -> member -> its default
CONSTANTS: dict[str, dict[str, Any]] = {
    f"{_APPS}.DeploymentSpec": {"replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600},
    f"{_APPS}.DaemonSetSpec": {"revisionHistoryLimit": 10},
    f"{_APPS}.ReplicaSetSpec": {"replicas": 1},
    f"{_APPS}.StatefulSetSpec": {
        "podManagementPolicy": "OrderedReady",
        "replicas": 1,
        "revisionHistoryLimit": 10,
        "persistentVolumeClaimRetentionPolicy": {},
    },
    f"{_APPS}.StatefulSetPersistentVolumeClaimRetentionPolicy": {
        "whenDeleted": "Retain",
        "whenScaled": "Retain",
    },
    f"{_CORE}.PodSpec": {
        "dnsPolicy": "ClusterFirst",
        "restartPolicy": "Always",
        "securityContext": {},
        "terminationGracePeriodSeconds": 30,
        "schedulerName": "default-scheduler",
    },
    f"{_CORE}.Container": {
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
    },
    f"{_CORE}.EphemeralContainer": {
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
    },
    f"{_CORE}.Probe": {
        "timeoutSeconds": 1,
        "periodSeconds": 10,
        "successThreshold": 1,
        "failureThreshold": 3,
    },
    f"{_CORE}.HTTPGetAction": {"path": "/", "scheme": "HTTP"},
    f"{_CORE}.GRPCAction": {"service": ""},
    f"{_CORE}.SecretVolumeSource": {"defaultMode": 0o644},
    f"{_CORE}.ConfigMapVolumeSource": {"defaultMode": 0o644},
    f"{_CORE}.DownwardAPIVolumeSource": {"defaultMode": 0o644},
    f"{_CORE}.ProjectedVolumeSource": {"defaultMode": 0o644},
    f"{_CORE}.ServiceAccountTokenProjection": {"expirationSeconds": 3600},
    f"{_CORE}.HostPathVolumeSource": {"type": ""},
    f"{_CORE}.ObjectFieldSelector": {"apiVersion": "v1"},
    f"{_CORE}.Secret": {"type": "Opaque"},
    f"{_CORE}.PersistentVolumeSpec": {"persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem"},
    f"{_CORE}.PersistentVolumeStatus": {"phase": "Pending"},
    f"{_CORE}.PersistentVolumeClaimSpec": {"volumeMode": "Filesystem"},
    f"{_CORE}.NamespaceStatus": {"phase": "Active"},
    f"{_BATCH}.CronJobSpec": {
        "concurrencyPolicy": "Allow",
        "suspend": False,
        "successfulJobsHistoryLimit": 3,
        "failedJobsHistoryLimit": 1,
    },
    f"{_BATCH}.PodFailurePolicyOnPodConditionsPattern": {"status": "True"},
    "api.autoscaling.v1.HorizontalPodAutoscalerSpec": {"minReplicas": 1},
    "api.discovery.v1.EndpointPort": {"name": "", "protocol": "TCP"},
    f"{_NET}.NetworkPolicyPort": {"protocol": "TCP"},
    f"{_NET}.IngressClassParametersReference": {"scope": "Cluster"},
    f"{_RBAC}.RoleRef": {"apiGroup": "rbac.authorization.k8s.io"},
    f"{_HOOKS}.ValidatingWebhook": _WEBHOOK,
    f"{_HOOKS}.MutatingWebhook": {**_WEBHOOK, "reinvocationPolicy": "Never"},
    f"{_HOOKS}.RuleWithOperations": {"scope": "*"},
    f"{_HOOKS}.NamedRuleWithOperations": {"scope": "*"},
    f"{_HOOKS}.ServiceReference": {"port": 443},
    f"{_HOOKS}.ValidatingAdmissionPolicySpec": {"failurePolicy": "Fail"},
    f"{_HOOKS}.MutatingAdmissionPolicySpec": {"failurePolicy": "Fail"},
    f"{_HOOKS}.MatchResources": _MATCHES,
    "kube-aggregator.pkg.apis.apiregistration.v1.ServiceReference": {"port": 443},
    f"{_FLOW}.FlowSchemaSpec": {"matchingPrecedence": 1000},
    f"{_FLOW}.ExemptPriorityLevelConfiguration": {"nominalConcurrencyShares": 0, "lendablePercent": 0},
    f"{_FLOW}.LimitedPriorityLevelConfiguration": {"nominalConcurrencyShares": 30, "lendablePercent": 0},
    f"{_FLOW}.QueuingConfiguration": {"handSize": 8, "queues": 64, "queueLengthLimit": 50},
    "api.storage.v1.CSIDriverSpec": {
        "attachRequired": True,
        "podInfoOnMount": False,
        "storageCapacity": False,
        "fsGroupPolicy": "ReadWriteOnceWithFSType",
        "volumeLifecycleModes": ["Persistent"],
        "requiresRepublish": False,
        "seLinuxMount": False,
    },
    "api.storage.v1.StorageClass": {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"},
    "api.scheduling.v1.PriorityClass": {"preemptionPolicy": "PreemptLowerPriority"},
    f"{_CRD}.CustomResourceDefinitionSpec": {"conversion": {"strategy": "None"}},
    f"{_CRD}.ServiceReference": {"port": 443},
}


def default_object(resource: ServedResource, obj: Object) -> Object:
    """
    Return the object with every default of its kind. If nothing changes, return the same object.

    Custom resources are returned unchanged.
    """
    if resource.custom or resource.schema is None:
        return obj
    plan = _plan(reference_of(resource.schema))
    return obj if plan is None else _apply(plan, obj)


class _Plan(NamedTuple):
    """
    The defaults of one type: its constants, resource amounts and rule, and the members that have a plan.

    If a member is in pointers, no default replaces its empty string.
    """

    constants: Mapping[str, Any]
    pointers: frozenset[str]
    amounts: tuple[str, ...]  # members that are ResourceLists
    rule: Rule | None
    members: tuple[tuple[str, str, str], ...]  # name, "one" | "list" | "map", type


def _apply(plan: _Plan, obj: Object) -> Object:
    missing = {name: value for name, value in plan.constants.items() if _unset(plan, obj, name)}
    done = {**obj, **missing} if missing else obj
    done = _rounded(plan, done)
    if plan.rule:
        done = plan.rule(done)
    changed: Object = {}
    for name, shape, kind in plan.members:
        value = done.get(name)
        if value and (below := _plan(kind)):
            after = _apply_shaped(below, shape, value)
            if after is not value:
                changed[name] = after
        elif value == {} and shape == "one" and (below := _plan(kind)):
            after = _apply(below, value)
            if after:
                changed[name] = after
    return {**done, **changed} if changed else done


def _rounded(plan: _Plan, obj: Object) -> Object:
    given = {name: obj[name] for name in plan.amounts if obj.get(name)}
    changed = {name: after for name, value in given.items() if (after := rounded(value)) is not value}
    return {**obj, **changed} if changed else obj


def _unset(plan: _Plan, obj: Object, name: str) -> bool:
    found = obj.get(name)
    if found is None:
        return True
    if found == "":
        return name not in plan.pointers and plan.constants[name] != ""
    return found == 0 and name in _ZERO_IS_UNSET and found is not False


_ZERO_IS_UNSET = {
    *("timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"),
    *("matchingPrecedence", "handSize", "queues", "queueLengthLimit"),
}


def _apply_shaped(plan: _Plan, shape: str, value: Any) -> Any:
    match shape:
        case "list" if isinstance(value, list):
            done = [_apply(plan, entry) if isinstance(entry, dict) else entry for entry in value]
            return done if any(map(_is_not, done, value)) else value
        case "map" if isinstance(value, dict):
            entries = {key: _apply(plan, entry) for key, entry in value.items() if isinstance(entry, dict)}
            return {**value, **entries} if any(entries[key] is not value[key] for key in entries) else value
        case "one" if isinstance(value, dict):
            return _apply(plan, value)
        case _:
            return value


def _is_not(left: object, right: object) -> bool:
    return left is not right


@cache
def _plan(kind: str) -> _Plan | None:
    """Return the plan of a type, or None if neither the type nor its members have defaults."""
    return _plan_below(kind, frozenset())


def _plan_below(kind: str, above: frozenset[str]) -> _Plan | None:
    schema = named(kind)
    constants = dict(CONSTANTS.get(kind, {}))
    members = []
    for name, child in properties(schema).items():
        if "default" in resolve(child):
            constants.setdefault(name, resolve(child)["default"])
        shape, below = _typed(child)
        if below and below not in above and below != kind and _plan_below(below, above | {kind}):
            members.append((name, shape, below))
    rule = RULES.get(kind)
    found = properties(schema).items()
    amounts = tuple(name for name, child in found if _is_resource_list(child))
    if not (constants or amounts or rule or members):
        return None
    pointers = frozenset(name for name, child in found if omission(child) is Omission.POINTER)
    return _Plan(constants, pointers, amounts, rule, tuple(members))


def _is_resource_list(child: Schema) -> bool:
    value = value_of(child)
    return value is not None and shape_of(value) is Shape.QUANTITY


def _typed(child: Schema) -> tuple[str, str]:
    """Return whether a member contains "one" object, a "list" or a "map", and the objects' type."""
    if name := reference_of(child):
        return "one", name
    entry = items_of(child)
    if entry is not None and (name := reference_of(entry)):
        return "list", name
    value = value_of(child)
    if value is not None and (name := reference_of(value)):
        return "map", name
    return "one", ""


_FINE: Final = re.compile(r"(-?)([0-9]+)(u|n|e-6|e-9)")
_PARTS: Final = {"u": (10**3, "m"), "n": (10**6, "m"), "e-6": (10**3, "e-3"), "e-9": (10**6, "e-3")}


def rounded(amounts: Mapping[str, Any]) -> Mapping[str, Any]:
    """Round the amounts up to thousandths in canonical form. If nothing changes, return the same mapping."""
    changed = {name: _rounded_amount(text) for name, text in amounts.items() if _FINE.fullmatch(text)}
    return {**amounts, **changed} if changed else amounts


def _rounded_amount(text: str) -> str:
    found = _FINE.fullmatch(text)
    assert found is not None
    sign, digits, suffix = found.groups()
    parts, milli = _PARTS[suffix]
    return quantity.canonical(f"{sign}{-(-int(digits) // parts)}{milli}")
