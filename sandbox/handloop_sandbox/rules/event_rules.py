"""
Validation rules for Events of core/v1 and events.k8s.io, and for updates of events.k8s.io Events.

Follows: kubernetes pkg/apis/core/validation/events.go.
"""

from __future__ import annotations

from typing import Any, Final

from handloop_sandbox.wire import names
from handloop_sandbox.wire.causes import invalid_value, required
from handloop_sandbox.wire.field_rules import Object, all_invalid, immutable, part
from handloop_sandbox.wire.status import Cause

_LIMITS: Final = {"reportingInstance": 128, "action": 128, "reason": 128, "message": 1024}
_MIN_SERIES: Final = 2
_REFERENCE: Final = (
    ("Kind", "kind"),
    ("Namespace", "namespace"),
    ("Name", "name"),
    ("UID", "uid"),
    ("APIVersion", "apiVersion"),
    ("ResourceVersion", "resourceVersion"),
    ("FieldPath", "fieldPath"),
)
_SOURCE: Final = (("Component", "component"), ("Host", "host"))
_CORE_NAMES: Final = {
    "regarding": "involvedObject",
    "note": "message",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}
"""The names that validation errors use for the fields of an events.k8s.io Event."""
_OLD_STYLE: Final = (
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("source", "deprecatedSource"),
)
_SETTLED: Final = (
    "regarding",
    "reason",
    "note",
    "deprecatedSource",
    "deprecatedFirstTimestamp",
    "deprecatedLastTimestamp",
    "deprecatedCount",
    "reason",
    "type",
    "eventTime",
    "action",
    "related",
    "reportingController",
    "reportingInstance",
)
"""The immutable fields: all except series. Kubernetes checks them in this order, and reason twice."""


def event(new: Object, old: Object | None, subresource: str) -> list[Cause]:
    """Return the validation errors for a core/v1 Event, which must be in the same namespace as its object."""
    del old, subresource
    return _common(new, controller="reportingComponent")


def new_event(new: Object, old: Object | None, subresource: str) -> list[Cause]:
    """
    Return the errors for an events.k8s.io Event.

    A new Event must not set the deprecated fields, and an update can change only the series.
    """
    del subresource
    causes = _common(new, controller="reportingController")
    if old is None:
        return causes + _series(new) + _unset(new)
    if new.get("series") != old.get("series"):
        causes += _series(new)
    for name in _SETTLED:
        causes += immutable(_CORE_NAMES.get(name, name), _shown(name, new), _shown(name, old))
    return causes


def _common(new: Object, *, controller: str) -> list[Cause]:
    """Return the errors for an Event of either group. controller is the name of its controller field."""
    about = part(new, "involvedObject") or part(new, "regarding")
    namespace, where = part(new, "metadata").get("namespace", ""), about.get("namespace", "")
    mismatch = invalid_value("involvedObject.namespace", where, "does not match event.namespace")
    if not new.get("eventTime"):
        fits = namespace in {"", "default"} if not where else where == namespace
        return [] if fits else [mismatch]
    causes = [mismatch] if not where and namespace not in {"default", "kube-system"} else []
    component = new.get("reportingComponent") or new.get("reportingController") or ""
    causes += [] if component else [required(controller)]
    causes += all_invalid(controller, component, names.qualified_name(component))
    for name, limit in _LIMITS.items():
        value = new.get(name) or (new.get("note") if name == "message" else None) or ""
        if not value and name != "message":
            causes.append(required(name))
        if len(value.encode()) > limit:
            causes.append(invalid_value(name, "", f"can have at most {limit} characters"))
    return causes


def _series(new: Object) -> list[Cause]:
    series = new.get("series")
    if series is None:
        return []
    few = series.get("count", 0) < _MIN_SERIES
    causes = [invalid_value("series.count", "", f"should be at least {_MIN_SERIES}")] if few else []
    return causes if series.get("lastObservedTime") else [*causes, required("series.lastObservedTime")]


def _unset(new: Object) -> list[Cause]:
    causes = [] if new.get("eventTime") else [required("eventTime")]
    kind = new.get("type", "")
    if kind not in {"Normal", "Warning"}:
        causes.append(invalid_value("type", "", f"has invalid value: {kind}"))
    old_style = [name for name, member in _OLD_STYLE if new.get(member)]
    return causes + [invalid_value(name, "", "needs to be unset") for name in old_style]


def _shown(name: str, event: Object) -> Any:
    """Return a field's value as Go compares and prints it, with zero values for absent members."""
    value = event.get(name)
    if name in {"regarding", "related", "deprecatedSource"}:
        members = _SOURCE if name == "deprecatedSource" else _REFERENCE
        absent = value is None and name == "related"
        return None if absent else {shown: (value or {}).get(member, "") for shown, member in members}
    if name == "deprecatedCount":
        return value or 0
    return value or (None if name.endswith(("Time", "Timestamp")) else "")
