"""
Validation rules for pods and pod templates, and for updates of running pods.

Follows: kubernetes pkg/apis/core/validation/validation.go (ValidatePodSpec, ValidatePodTemplateSpec,
ValidatePodUpdate).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from handloop_sandbox.rules.container_rules import (
    common,
    containers,
    init_containers,
)
from handloop_sandbox.rules.node_affinity_rules import node_affinity
from handloop_sandbox.rules.pod_setting_rules import settings, sharing
from handloop_sandbox.rules.security_context_rules import pod_context
from handloop_sandbox.rules.volume_rules import volumes
from handloop_sandbox.wire import names
from handloop_sandbox.wire.causes import duplicate, forbidden_field, invalid_value, not_supported, required
from handloop_sandbox.wire.field_rules import (
    MAX_INT32,
    NEGATIVE,
    Object,
    all_invalid,
    difference,
    entries,
    label_selector,
    labels,
    one_of,
    part,
)
from handloop_sandbox.wire.status import Cause

_DNS_POLICIES: Final = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
PREEMPTION: Final = ("PreemptLowerPriority", "Never")
_RESTART_POLICIES: Final = ("Always", "OnFailure", "Never")
_OPERATORS: Final = ("Equal", "Exists", "Lt", "Gt")
"""The toleration operators. In Kubernetes, the last two depend on a feature gate."""
_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_UPDATABLE: Final = (
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def pod_spec(path: str, spec: Object) -> list[Cause]:
    """Return the validation errors for a pod's spec."""
    regular = list(entries(spec, "containers"))
    mountable, causes = volumes(f"{path}.volumes", entries(spec, "volumes"))
    causes += containers(f"{path}.containers", regular, mountable)
    taken = {container.get("name", "") for container in regular}
    causes += init_containers(
        f"{path}.initContainers", list(entries(spec, "initContainers")), mountable, taken
    )
    for index, container in enumerate(entries(spec, "ephemeralContainers")):
        causes += common(f"{path}.ephemeralContainers[{index}]", container, mountable)
    causes += _host_network_ports(path, spec)
    causes += one_of(f"{path}.restartPolicy", spec.get("restartPolicy"), _RESTART_POLICIES)
    causes += one_of(f"{path}.dnsPolicy", spec.get("dnsPolicy"), _DNS_POLICIES)
    causes += labels(f"{path}.nodeSelector", part(spec, "nodeSelector"))
    causes += pod_context(f"{path}.securityContext", part(spec, "securityContext"), spec)
    causes += settings(path, spec) + sharing(path, spec)
    causes += _affinity(f"{path}.affinity", part(spec, "affinity"))
    causes += _spread(f"{path}.topologySpreadConstraints", entries(spec, "topologySpreadConstraints"))
    return causes + _names(path, spec) + _tolerations(f"{path}.tolerations", entries(spec, "tolerations"))


def _names(path: str, spec: Object) -> list[Cause]:
    causes: list[Cause] = []
    for member in ("serviceAccountName", "nodeName"):
        if value := spec.get(member):
            causes += all_invalid(f"{path}.{member}", value, names.dns_1123_subdomain(value))
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= MAX_INT32:
        text = f"must be between 1 and {MAX_INT32}, inclusive"
        causes.append(invalid_value(f"{path}.activeDeadlineSeconds", deadline, text))
    for member in ("hostname", "subdomain"):
        if value := spec.get(member):
            causes += all_invalid(f"{path}.{member}", value, names.dns_1123_label(value))
    for member in ("priorityClassName", "runtimeClassName"):
        if value := spec.get(member):
            causes += all_invalid(f"{path}.{member}", value, names.dns_1123_subdomain(value))
    policy, where = spec.get("preemptionPolicy"), f"{path}.preemptionPolicy"
    return causes if policy is None else causes + one_of(where, policy, PREEMPTION)


def _host_network_ports(path: str, spec: Object) -> list[Cause]:
    if not spec.get("hostNetwork"):
        return []
    return [
        invalid_value(
            f"{path}.containers[{i}].ports[{j}].hostPort",
            port["hostPort"],
            "must match `containerPort` when `hostNetwork` is true",
        )
        for i, container in enumerate(entries(spec, "containers"))
        for j, port in enumerate(entries(container, "ports"))
        if port.get("hostPort") and port["hostPort"] != port.get("containerPort")
    ]


def _affinity(path: str, found: Object) -> list[Cause]:
    causes = node_affinity(f"{path}.nodeAffinity", part(found, "nodeAffinity"))
    for kind in ("podAffinity", "podAntiAffinity"):
        rules = part(found, kind)
        for index, term in enumerate(entries(rules, "requiredDuringSchedulingIgnoredDuringExecution")):
            at = f"{path}.{kind}.requiredDuringSchedulingIgnoredDuringExecution[{index}]"
            causes += _affinity_term(at, term)
        for index, weighted in enumerate(entries(rules, "preferredDuringSchedulingIgnoredDuringExecution")):
            at = f"{path}.{kind}.preferredDuringSchedulingIgnoredDuringExecution[{index}]"
            if not 1 <= weighted.get("weight", 0) <= 100:  # noqa: PLR2004
                causes.append(
                    invalid_value(f"{at}.weight", weighted.get("weight", 0), "must be in the range 1-100")
                )
            causes += _affinity_term(f"{at}.podAffinityTerm", part(weighted, "podAffinityTerm"))
    return causes


def _affinity_term(at: str, term: Object) -> list[Cause]:
    causes = label_selector(f"{at}.labelSelector", term.get("labelSelector"))
    key = term.get("topologyKey", "")
    if not key:
        causes.append(required(f"{at}.topologyKey", "can not be empty"))
    return causes + all_invalid(f"{at}.topologyKey", key, names.qualified_name(key))


def _spread(path: str, found: Sequence[Object]) -> list[Cause]:
    causes: list[Cause] = []
    for index, constraint in enumerate(found):
        at = f"{path}[{index}]"
        if constraint.get("maxSkew", 0) <= 0:
            causes.append(
                invalid_value(f"{at}.maxSkew", constraint.get("maxSkew", 0), "must be greater than zero")
            )
        if not constraint.get("topologyKey"):
            causes.append(required(f"{at}.topologyKey", "can not be empty"))
        actions = ("DoNotSchedule", "ScheduleAnyway")
        if constraint.get("whenUnsatisfiable") not in actions:
            causes.append(
                not_supported(f"{at}.whenUnsatisfiable", constraint.get("whenUnsatisfiable", ""), actions)
            )
        causes += _spread_settings(at, constraint)
        pair = _spread_pair(constraint)
        if pair in map(_spread_pair, found[index + 1 :]):
            causes.append(duplicate(f"{at}.{{topologyKey, whenUnsatisfiable}}", pair))
        causes += label_selector(f"{at}.labelSelector", constraint.get("labelSelector"))
    return causes


def _spread_settings(at: str, constraint: Object) -> list[Cause]:
    causes: list[Cause] = []
    domains, keys = constraint.get("minDomains"), entries(constraint, "matchLabelKeys")
    if domains is not None and domains <= 0:
        causes.append(invalid_value(f"{at}.minDomains", domains, "must be greater than zero"))
    for name in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        policy = constraint.get(name)
        if policy is not None and policy not in {"Honor", "Ignore"}:
            causes.append(not_supported(f"{at}.{name}", policy, ("Honor", "Ignore")))
    if keys and constraint.get("labelSelector") is None:
        text = "must not be specified when labelSelector is not set"
        causes.append(forbidden_field(f"{at}.matchLabelKeys", text))
    return causes


def _spread_pair(constraint: Object) -> str:
    return f"{{{constraint.get('topologyKey', '')}, {constraint.get('whenUnsatisfiable', '')}}}"


def _tolerations(path: str, found: Sequence[Object]) -> list[Cause]:
    causes: list[Cause] = []
    for index, toleration in enumerate(found):
        causes += _toleration(f"{path}[{index}]", toleration)
    return causes


def _toleration(at: str, toleration: Object) -> list[Cause]:
    key, operator = toleration.get("key", ""), toleration.get("operator", "")
    causes = all_invalid(f"{at}.key", key, names.qualified_name(key)) if key else []
    if not key and operator != "Exists":
        text = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        causes.append(invalid_value(f"{at}.operator", operator, text))
    effect = toleration.get("effect", "")
    if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
        text = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        causes.append(invalid_value(f"{at}.effect", effect, text))
    if operator == "Exists" and toleration.get("value"):
        text = "value must be empty when `operator` is 'Exists'"
        causes.append(invalid_value(f"{at}.operator", toleration["value"], text))
    elif operator in {"", "Equal"}:
        value = toleration.get("value", "")
        causes += all_invalid(f"{at}.operator", value, names.label_value(value))
    elif operator != "Exists":
        causes.append(
            not_supported(f"{at}.operator", operator, _OPERATORS[: 4 if operator in {"Lt", "Gt"} else 2])
        )
    if effect:
        causes += one_of(f"{at}.effect", effect, _EFFECTS)
    return causes


def template(path: str, found: Object) -> list[Cause]:
    """Return the validation errors for a pod template: its labels, annotations and spec."""
    metadata = part(found, "metadata")
    causes = labels(f"{path}.labels", part(metadata, "labels"))
    for key in part(metadata, "annotations"):
        causes += all_invalid(f"{path}.annotations", key, names.qualified_name(key.lower()))
    causes += pod_spec(f"{path}.spec", part(found, "spec"))
    if entries(part(found, "spec"), "ephemeralContainers"):
        causes.append(
            forbidden_field(
                f"{path}.spec.ephemeralContainers", "ephemeral containers not allowed in pod template"
            )
        )
    return causes


def pod(new: Object, old: Object | None, subresource: str) -> list[Cause]:
    """Return the validation errors for a new pod or, if old is given, for an update."""
    if subresource == "ephemeralcontainers":
        return _ephemeral(part(new, "spec"), part(old, "spec"))
    if subresource in {"status", "binding", "resize"}:
        return _status(new, old) if subresource == "status" else []
    causes = pod_spec("spec", part(new, "spec"))
    return causes if old is None else causes + _update(part(new, "spec"), part(old, "spec"))


def _status(new: Object, old: Object | None) -> list[Cause]:
    del old
    status = part(new, "status")
    return [
        invalid_value(f"status.{kind}[{index}].restartCount", entry["restartCount"], NEGATIVE)
        for kind in ("containerStatuses", "initContainerStatuses")
        for index, entry in enumerate(entries(status, kind))
        if isinstance(entry.get("restartCount"), int) and entry["restartCount"] < 0
    ]


def _ephemeral(new: Object, old: Object) -> list[Cause]:
    """Return the errors for ephemeral containers. Names must be unique; existing ones cannot change."""
    path, causes = "spec.ephemeralContainers", []
    taken = {entry["name"] for kind in ("containers", "initContainers") for entry in entries(new, kind)}
    after = {entry.get("name", ""): entry for entry in entries(new, "ephemeralContainers")}
    for index, name in enumerate(entry.get("name", "") for entry in entries(new, "ephemeralContainers")):
        causes += [duplicate(f"{path}[{index}].name", name)] if name in taken else []
        taken.add(name)
    for entry in entries(old, "ephemeralContainers"):
        told = f'existing ephemeral containers "{entry["name"]}" may not be'
        now = after.get(entry["name"])
        if now is None:
            causes.append(forbidden_field(path, f"{told} removed\n"))
        elif now != entry:
            causes.append(forbidden_field(path, f"{told} changed\n{difference(entry, now)}"))
    return causes


def _update(new: Object, old: Object) -> list[Cause]:
    for kind in ("containers", "initContainers"):
        if len(entries(new, kind)) != len(entries(old, kind)):
            return [forbidden_field(f"spec.{kind}", "pod updates may not add or remove containers")]
    causes = _images(new) + _deadline(new, old) + _added_tolerations(new, old)
    munged = _munged(new, old)
    if munged != dict(old):
        text = f"pod updates may not change fields other than {_UPDATABLE}\n{difference(old, munged)}"
        causes.append(forbidden_field("spec", text))
    return causes


def _images(spec: Object) -> list[Cause]:
    """Return the validation errors for containers whose image an update has removed."""
    return [
        required(f"spec.{kind}[{index}].image")
        for kind in ("containers", "initContainers")
        for index, container in enumerate(entries(spec, kind))
        if not container.get("image")
    ]


def _deadline(new: Object, old: Object) -> list[Cause]:
    path, after, before = (
        "spec.activeDeadlineSeconds",
        new.get("activeDeadlineSeconds"),
        old.get("activeDeadlineSeconds"),
    )
    if after is None:
        text = "must not update from a positive integer to nil value"
        return [] if before is None else [invalid_value(path, None, text)]
    if not 0 <= after <= MAX_INT32:
        return [invalid_value(path, after, f"must be between 0 and {MAX_INT32}, inclusive")]
    if before is not None and before < after:
        return [invalid_value(path, after, "must be less than or equal to previous value")]
    return []


def _added_tolerations(new: Object, old: Object) -> list[Cause]:
    after = list(entries(new, "tolerations"))
    missing = [
        entry
        for entry in entries(old, "tolerations")
        if not any(_same_toleration(entry, other) for other in after)
    ]
    return (
        [
            forbidden_field(
                "spec.tolerations", "existing toleration can not be modified except its tolerationSeconds"
            )
        ]
        if missing
        else []
    )


def _same_toleration(left: Object, right: Object) -> bool:
    return all(left.get(name) == right.get(name) for name in ("key", "operator", "value", "effect"))


def _munged(new: Object, old: Object) -> dict[str, Any]:
    """Return the new spec with its mutable fields reset to their old values."""
    munged = dict(new)
    for kind in ("containers", "initContainers"):
        if kind in munged:
            pairs = zip(munged[kind], old[kind], strict=True)
            munged[kind] = [{**after, "image": before.get("image", "")} for after, before in pairs]
    for name in ("activeDeadlineSeconds", "tolerations", "schedulingGates"):
        munged.pop(name, None)
        if name in old:
            munged[name] = old[name]
    if (old.get("terminationGracePeriodSeconds") or 0) < 0 and new.get("terminationGracePeriodSeconds") == 1:
        munged["terminationGracePeriodSeconds"] = old["terminationGracePeriodSeconds"]
    return munged
