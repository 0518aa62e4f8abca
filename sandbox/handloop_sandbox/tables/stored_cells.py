"""
The rows of kinds that have no effect in the sandbox.

These are kinds for admission, aggregation, devices, volume drivers and flow control.
Follows: kubernetes pkg/printers/internalversion/printers.go, kube-aggregator
pkg/registry/apiservice/etcd/etcd.go.
"""

from __future__ import annotations

from typing import Any

from handloop_sandbox.tables.cell import NONE, UNSET, Object, age_of, is_deleting, name_of
from handloop_sandbox.wire.field_rules import part


def webhook_cells(obj: Object, now: float) -> list[Any]:
    """Return the cells: name, webhooks, age."""
    return [name_of(obj), len(obj.get("webhooks") or ()), age_of(obj, now)]


def policy_cells(obj: Object, now: float) -> list[Any]:
    """Return the cells: name, number of validations or mutations, parameter kind, age."""
    spec = part(obj, "spec")
    steps = spec.get("validations") or spec.get("mutations") or ()
    kind = part(spec, "paramKind")
    parameters = f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}" if kind else UNSET
    return [name_of(obj), len(steps), parameters, age_of(obj, now)]


def policy_binding_cells(obj: Object, now: float) -> list[Any]:
    """Return the cells: name, policy, parameters, age."""
    spec = part(obj, "spec")
    return [name_of(obj), spec.get("policyName", ""), _parameters(part(spec, "paramRef")), age_of(obj, now)]


def _parameters(reference: Object) -> str:
    if reference.get("name"):
        return f"{reference.get('namespace') or '*'}/{reference['name']}"
    return UNSET if reference.get("selector") is None else _go_selector(reference["selector"])


def _go_selector(selector: Object) -> str:
    """Return a label selector in the form in which Go prints the struct."""
    labels = part(selector, "matchLabels")
    pairs = "".join(f"{key}: {labels[key]}," for key in sorted(labels))
    rules = "".join(
        f"LabelSelectorRequirement{{Key:{entry['key']},Operator:{entry['operator']},"
        f"Values:[{' '.join(entry.get('values') or ())}],}},"
        for entry in selector.get("matchExpressions") or ()
    )
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{pairs}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{rules}}},}}"
    )


def api_service_cells(obj: Object, now: float) -> list[Any]:
    """Return the cells: name, service, available, age."""
    service = part(obj, "spec", "service")
    where = f"{service.get('namespace', '')}/{service.get('name', '')}" if service else "Local"
    conditions = part(obj, "status").get("conditions") or ()
    found: Object = next((entry for entry in conditions if entry.get("type") == "Available"), {})
    status, reason = found.get("status", "Unknown"), found.get("reason")
    told = f"{status} ({reason})" if reason and status != "True" else status
    return [name_of(obj), where, told, age_of(obj, now)]


def component_cells(obj: Object, now: float) -> list[Any]:
    """Return the cells: name, status, message, error."""
    del now
    found = next((entry for entry in obj.get("conditions") or () if entry.get("type") == "Healthy"), None)
    if found is None:
        return [name_of(obj), "Unknown", "", ""]
    status = "Healthy" if found.get("status") == "True" else "Unhealthy"
    return [name_of(obj), status, found.get("message", ""), found.get("error", "")]


def driver_cells(obj: Object, now: float) -> list[Any]:
    """
    Return the cells: name, whether attaching is required, whether pod info is passed on mount, whether
    storage capacity is tracked, token audiences, whether republishing is required, volume modes and age.
    """
    spec = part(obj, "spec")
    tokens = spec.get("tokenRequests")
    return [
        name_of(obj),
        spec.get("attachRequired", True),
        spec.get("podInfoOnMount", False),
        spec.get("storageCapacity", False),
        UNSET if tokens is None else ",".join(entry.get("audience", "") for entry in tokens),
        spec.get("requiresRepublish", False),
        ",".join(spec.get("volumeLifecycleModes") or ()) or NONE,
        age_of(obj, now),
    ]


def driver_node_cells(obj: Object, now: float) -> list[Any]:
    """Return the cells: name, drivers, age."""
    return [name_of(obj), len(part(obj, "spec").get("drivers") or ()), age_of(obj, now)]


def attachment_cells(obj: Object, now: float) -> list[Any]:
    """Return the cells: name, attacher, volume, node, attached, age."""
    spec = part(obj, "spec")
    volume = part(spec, "source").get("persistentVolumeName") or ""
    attached = part(obj, "status").get("attached", False)
    return [
        name_of(obj),
        spec.get("attacher", ""),
        volume,
        spec.get("nodeName", ""),
        attached,
        age_of(obj, now),
    ]


def attributes_class_cells(obj: Object, now: float) -> list[Any]:
    """Return the cells: name, driver, age."""
    return [name_of(obj), obj.get("driverName", ""), age_of(obj, now)]


def runtime_class_cells(obj: Object, now: float) -> list[Any]:
    """Return the cells: name, handler, age."""
    return [name_of(obj), obj.get("handler", ""), age_of(obj, now)]


def flow_schema_cells(obj: Object, now: float) -> list[Any]:
    """Return the cells: name, level, precedence, distinguisher, age, whether the level is missing."""
    spec = part(obj, "spec")
    conditions = part(obj, "status").get("conditions") or ()
    return [
        name_of(obj),
        part(spec, "priorityLevelConfiguration").get("name", ""),
        spec.get("matchingPrecedence", 0),
        part(spec, "distinguisherMethod").get("type") or NONE,
        age_of(obj, now),
        next((entry.get("status", "") for entry in conditions if entry.get("type") == "Dangling"), "?"),
    ]


def priority_level_cells(obj: Object, now: float) -> list[Any]:
    """Return the cells: name, type, shares, queues, hand size, queue length, age."""
    spec = part(obj, "spec")
    limited = part(spec, "limited")
    queuing = part(limited, "limitResponse", "queuing")
    names = ("queues", "handSize", "queueLengthLimit")
    shares = limited.get("nominalConcurrencyShares", NONE)
    queues = [queuing.get(name, NONE) for name in names]
    return [name_of(obj), spec.get("type", ""), shares, *queues, age_of(obj, now)]


def address_cells(obj: Object, now: float) -> list[Any]:
    """Return the cells: name, owner, and age, although the table has no column for the age."""
    owner = part(obj, "spec", "parentRef")
    names = ".".join(filter(None, (owner.get("resource"), owner.get("group")))).lower()
    where = "/".join(filter(None, (names, owner.get("namespace"), owner.get("name"))))
    return [name_of(obj), where or NONE, age_of(obj, now)]


def address_range_cells(obj: Object, now: float) -> list[Any]:
    """Return the cells: name, ranges, age."""
    return [name_of(obj), ",".join(part(obj, "spec").get("cidrs") or ()), age_of(obj, now)]


def claim_cells(obj: Object, now: float) -> list[Any]:
    """Return the cells: name, state, age."""
    status, deleted = part(obj, "status"), is_deleting(obj)
    allocated = status.get("allocation") is not None
    states = {
        "deleted": deleted,
        "pending": not allocated and not deleted,
        "allocated": allocated,
        "reserved": allocated and bool(status.get("reservedFor")),
    }
    return [name_of(obj), ",".join(name for name in states if states[name]), age_of(obj, now)]


def slice_cells(obj: Object, now: float) -> list[Any]:
    """Return the cells: name, node, driver, pool, age."""
    spec = part(obj, "spec")
    pool = part(spec, "pool").get("name", "")
    return [name_of(obj), spec.get("nodeName") or "", spec.get("driver", ""), pool, age_of(obj, now)]
