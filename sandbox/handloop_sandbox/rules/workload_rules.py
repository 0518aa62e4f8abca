"""
Validation rules for Deployments and other owners of pods, and for their updates.

Follows: kubernetes pkg/apis/apps/validation and pkg/apis/core/validation.
"""

from __future__ import annotations

from typing import Any, Final

from handloop_sandbox.rules.pod_rules import template
from handloop_sandbox.rules.storage_rules import claim_spec
from handloop_sandbox.wire import names
from handloop_sandbox.wire.causes import forbidden_field, invalid_value, not_supported, required, shown
from handloop_sandbox.wire.field_rules import (
    MISMATCH,
    Object,
    all_invalid,
    amount,
    at_most_100_percent,
    entries,
    immutable,
    int_or_percent,
    is_valid_selector,
    label_selector,
    labels,
    nonnegative,
    part,
    sorted_map,
)
from handloop_sandbox.wire.label_selector import matches
from handloop_sandbox.wire.status import Cause

_STATEFUL_SET_MUTABLE: Final = (
    "replicas",
    "template",
    "updateStrategy",
    "minReadySeconds",
    "ordinals",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
)
_STATEFUL_SET_FORBIDDEN: Final = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
    "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)


def deployment(new: Object, old: Object | None, subresource: str) -> list[Cause]:
    """Return the validation errors for a Deployment or its status."""
    if subresource == "status":
        return _replica_status(
            new, "updatedReplicas", "readyReplicas", "availableReplicas", over="readyReplicas"
        )
    spec = part(new, "spec")
    causes = nonnegative("spec", spec, "replicas") + _selector(spec, "deployment")
    causes += _template_of(spec, "ReplicaSet") if is_valid_selector(spec.get("selector")) else []
    causes += _strategy(part(spec, "strategy"))
    causes += nonnegative("spec", spec, "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds")
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None and deadline <= spec.get("minReadySeconds", 0):
        causes.append(
            invalid_value("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds")
        )
    return causes + _same_selector(new, old)


def _same_selector(new: Object, old: Object | None) -> list[Cause]:
    if old is None:
        return []
    after, before = (part(obj, "spec").get("selector") for obj in (new, old))
    if after and "matchLabels" in after:
        after = {**after, "matchLabels": sorted_map(after["matchLabels"])}
    return immutable("spec.selector", after, before)


def _selector(spec: Object, kind: str) -> list[Cause]:
    """Return the validation errors for a selector that is missing, malformed or empty."""
    selector = spec.get("selector")
    if selector is None:
        return [required("spec.selector")]
    causes = label_selector("spec.selector", selector)
    if not selector.get("matchLabels") and not selector.get("matchExpressions"):
        causes.append(invalid_value("spec.selector", selector, f"empty selector is invalid for {kind}"))
    if not is_valid_selector(selector):
        causes.append(
            _invalid_selector(selector, "" if kind == "statefulset" else ": invalid label selector")
        )
    return causes


def _invalid_selector(selector: Object, detail: str) -> Cause:
    return Cause("FieldValueInvalid", f"Invalid value: {shown(selector)}{detail}", "spec.selector")


def _template_of(spec: Object, owner: str) -> list[Cause]:
    """
    Return the validation errors for a pod template.

    The owner's selector must match the template's labels, and its pods must always restart.
    """
    found, path = part(spec, "template"), "spec.template"
    causes = []
    found_labels = part(found, "metadata", "labels")
    selector = spec.get("selector")
    if selector != {} and not matches(selector, found_labels):
        causes.append(invalid_value(f"{path}.metadata.labels", sorted_map(found_labels), MISMATCH))
    causes += template(path, found)
    return causes + _restarts(path, found, owner)


def _restarts(path: str, found: Object, owner: str) -> list[Cause]:
    inner, causes = part(found, "spec"), []
    if inner.get("restartPolicy") != "Always":
        causes.append(not_supported(f"{path}.spec.restartPolicy", inner.get("restartPolicy", ""), ["Always"]))
    if inner.get("activeDeadlineSeconds") is not None:
        text = f"activeDeadlineSeconds in {owner} is not Supported"
        causes.append(forbidden_field(f"{path}.spec.activeDeadlineSeconds", text))
    return causes


def _strategy(strategy: Object) -> list[Cause]:
    path, rolling = "spec.strategy", strategy.get("rollingUpdate")
    match strategy.get("type"):
        case "Recreate":
            text = "may not be specified when strategy `type` is 'Recreate'"
            return [] if rolling is None else [forbidden_field(f"{path}.rollingUpdate", text)]
        case "RollingUpdate":
            return _rolling_update(f"{path}.rollingUpdate", rolling or {})
        case other:
            return [not_supported(path, _internal_strategy(other, rolling), ("Recreate", "RollingUpdate"))]


def _internal_strategy(kind: str | None, rolling: Object | None) -> dict[str, Any]:
    """Return an update strategy as Go prints its internal type."""
    if rolling is not None:
        rolling = {"MaxUnavailable": rolling.get("maxUnavailable"), "MaxSurge": rolling.get("maxSurge")}
    return {"Type": kind or "", "RollingUpdate": rolling}


def _rolling_update(path: str, rolling: Object) -> list[Cause]:
    unavailable, surge = rolling.get("maxUnavailable"), rolling.get("maxSurge")
    causes = int_or_percent(f"{path}.maxUnavailable", unavailable) + int_or_percent(f"{path}.maxSurge", surge)
    if amount(unavailable) == 0 and amount(surge) == 0:
        causes.append(
            invalid_value(f"{path}.maxUnavailable", unavailable, "may not be 0 when `maxSurge` is 0")
        )
    return causes + at_most_100_percent(f"{path}.maxUnavailable", unavailable)


def _replica_status(new: Object, *members: str, over: str) -> list[Cause]:
    """Return the errors for status counters that are negative or exceed the number of replicas."""
    status = part(new, "status")
    causes = nonnegative("status", status, "observedGeneration", "replicas", *members, "unavailableReplicas")
    replicas = status.get("replicas", 0)
    for name in members:
        if status.get(name, 0) > replicas:
            causes.append(
                invalid_value(f"status.{name}", status[name], "cannot be greater than status.replicas")
            )
    available, ready = status.get("availableReplicas", 0), status.get(over, 0)
    if available > ready:
        causes.append(invalid_value("status.availableReplicas", available, f"cannot be greater than {over}"))
    return causes


def replica_set(new: Object, old: Object | None, subresource: str) -> list[Cause]:
    """Return the validation errors for a ReplicaSet or its status."""
    if subresource == "status":
        members = ("fullyLabeledReplicas", "readyReplicas", "availableReplicas")
        return _replica_status(new, *members, over="readyReplicas")
    spec = part(new, "spec")
    causes = nonnegative("spec", spec, "replicas", "minReadySeconds") + _selector(spec, "deployment")
    causes += _template_of(spec, "ReplicaSet") if is_valid_selector(spec.get("selector")) else []
    return causes + _same_selector(new, old)


def replication_controller(new: Object, old: Object | None, subresource: str) -> list[Cause]:
    """Return the validation errors for a ReplicationController or its status."""
    del old
    if subresource == "status":
        members = ("fullyLabeledReplicas", "readyReplicas", "availableReplicas")
        return _replica_status(new, *members, over="readyReplicas")
    spec = part(new, "spec")
    causes = nonnegative("spec", spec, "minReadySeconds")
    selector = part(spec, "selector")
    if not selector:
        causes.append(required("spec.selector"))
    causes += nonnegative("spec", spec, "replicas")
    found = spec.get("template")
    if found is None:
        return [*causes, required("spec.template")]
    found_labels = part(found, "metadata", "labels")
    if selector and any(found_labels.get(key) != value for key, value in selector.items()):
        causes.append(invalid_value("spec.template.metadata.labels", sorted_map(found_labels), MISMATCH))
    return (
        causes + template("spec.template", found) + _restarts("spec.template", found, "ReplicationController")
    )


def daemon_set(new: Object, old: Object | None, subresource: str) -> list[Cause]:
    """Return the validation errors for a DaemonSet or its status."""
    if subresource == "status":
        names_ = ("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady")
        more = ("observedGeneration", "updatedNumberScheduled", "numberAvailable", "numberUnavailable")
        return nonnegative("status", part(new, "status"), *names_, *more)
    spec, selector = part(new, "spec"), part(new, "spec").get("selector")
    found_labels = part(spec, "template", "metadata", "labels")
    causes = _same_selector(new, old) + label_selector("spec.selector", selector)
    if is_valid_selector(selector) and not matches(selector, found_labels):
        causes.append(invalid_value("spec.template.metadata.labels", sorted_map(found_labels), MISMATCH))
    if selector is not None and not selector.get("matchLabels") and not selector.get("matchExpressions"):
        causes.append(invalid_value("spec.selector", selector, "empty selector is invalid for daemonset"))
    causes += template("spec.template", part(spec, "template"))
    causes += _restarts("spec.template", part(spec, "template"), "DaemonSet")
    causes += nonnegative("spec", spec, "minReadySeconds") + _daemon_strategy(part(spec, "updateStrategy"))
    return causes + nonnegative("spec", spec, "revisionHistoryLimit")


def _daemon_strategy(strategy: Object) -> list[Cause]:
    path, rolling = "spec.updateStrategy", strategy.get("rollingUpdate")
    match strategy.get("type"):
        case "OnDelete":
            return []
        case "RollingUpdate":
            return _daemon_rolling(f"{path}.rollingUpdate", rolling or {})
        case other:
            return [not_supported(path, _internal_strategy(other, rolling), ("RollingUpdate", "OnDelete"))]


def _daemon_rolling(path: str, rolling: Object) -> list[Cause]:
    causes: list[Cause] = []
    unavailable, surge = rolling.get("maxUnavailable"), rolling.get("maxSurge")
    for check in (int_or_percent, at_most_100_percent):
        causes += check(f"{path}.maxUnavailable", unavailable) + check(f"{path}.maxSurge", surge)
    if amount(unavailable) and amount(surge):
        causes.append(
            invalid_value(f"{path}.maxSurge", surge, "may not be set when maxUnavailable is non-zero")
        )
    if not amount(unavailable) and not amount(surge):
        causes.append(required(f"{path}.maxUnavailable", "cannot be 0 when maxSurge is 0"))
    return causes


def stateful_set(new: Object, old: Object | None, subresource: str) -> list[Cause]:
    """Return the validation errors for a StatefulSet or its status."""
    if subresource == "status":
        members = ("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas")
        return _replica_status(new, *members, over="readyReplicas")
    spec = part(new, "spec")
    causes = _stateful_policies(spec)
    claims = entries(spec, "volumeClaimTemplates") if old is None else ()
    for index, claim in enumerate(claims):
        causes += claim_spec(f"spec.volumeClaimTemplates[{index}].spec", part(claim, "spec"))
    causes += nonnegative("spec", spec, "replicas", "minReadySeconds")
    service = spec.get("serviceName", "")
    if service and old is None:
        causes += all_invalid("spec.serviceName", service, names.dns_1123_label(service))
    causes += _selector(spec, "statefulset")
    if is_valid_selector(spec.get("selector")):
        causes += _template_of(_with_claims(spec), "StatefulSet")
        # Kubernetes checks the labels of a StatefulSet's template a second time.
        causes += labels("spec.template.labels", part(spec, "template", "metadata", "labels"))
    if old is not None and _frozen(spec) != _frozen(part(old, "spec")):
        causes.append(forbidden_field("spec", _STATEFUL_SET_FORBIDDEN))
    return causes


def _frozen(spec: Object) -> dict[str, Any]:
    return {name: value for name, value in spec.items() if name not in _STATEFUL_SET_MUTABLE}


def _with_claims(spec: Object) -> Object:
    """Return a StatefulSet's spec whose pod template also has the volumes from the claim templates."""
    claims = [part(claim, "metadata").get("name", "") for claim in entries(spec, "volumeClaimTemplates")]
    if not claims:
        return spec
    found, inner = part(spec, "template"), part(spec, "template", "spec")
    own = [volume for volume in entries(inner, "volumes") if volume.get("name") not in claims]
    added = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in dict.fromkeys(claims)]
    return {**spec, "template": {**found, "spec": {**inner, "volumes": [*added, *own]}}}


def _stateful_policies(spec: Object) -> list[Cause]:
    causes = []
    management = spec.get("podManagementPolicy", "")
    if management not in {"OrderedReady", "Parallel"}:
        causes.append(
            invalid_value("spec.podManagementPolicy", management, "must be 'OrderedReady' or 'Parallel'")
        )
    strategy = part(spec, "updateStrategy")
    rolling = strategy.get("rollingUpdate")
    if strategy.get("type") == "OnDelete" and rolling is not None:
        text = "only allowed for updateStrategy 'RollingUpdate'"
        causes.append(invalid_value("spec.updateStrategy.rollingUpdate", rolling, text))
    elif strategy.get("type") == "RollingUpdate":
        causes += nonnegative("spec.updateStrategy.rollingUpdate", rolling or {}, "partition")
    elif strategy.get("type") != "OnDelete":
        strategy_shown = {"Type": strategy.get("type", ""), "RollingUpdate": _internal_rolling(rolling)}
        causes.append(
            invalid_value("spec.updateStrategy", strategy_shown, "must be 'RollingUpdate' or 'OnDelete'")
        )
    retention = part(spec, "persistentVolumeClaimRetentionPolicy")
    for name in ("whenDeleted", "whenScaled"):
        if retention.get(name) not in {"Retain", "Delete"}:
            path = f"spec.persistentVolumeClaimRetentionPolicy.{name}"
            causes.append(not_supported(path, retention.get(name, ""), ("Retain", "Delete")))
    return causes


def _internal_rolling(rolling: Object | None) -> dict[str, Any] | None:
    if rolling is None:
        return None
    return {"Partition": rolling.get("partition") or 0, "MaxUnavailable": rolling.get("maxUnavailable")}


def pod_template(new: Object, old: Object | None, subresource: str) -> list[Cause]:
    """Return the validation errors for a PodTemplate."""
    del old, subresource
    return template("template", part(new, "template"))
