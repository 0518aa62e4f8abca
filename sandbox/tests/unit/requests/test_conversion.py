from __future__ import annotations

from typing import Any

from handloop_sandbox.cluster.events import EVENTS
from handloop_sandbox.kinds.kinds import builtin_resources
from handloop_sandbox.requests.conversion import (
    as_stored,
    collection_of,
    converter,
    stored_field,
    to_storage,
)
from support.builders.builtin import builtin

_EVENTS = {r.group: r for r in builtin_resources() if r.plural == "events"}
_PODS = next(r for r in builtin_resources() if r.plural == "pods")


def test_events_of_both_groups_are_one_collection() -> None:
    """The events of events.k8s.io are stored as core events."""
    assert collection_of(_EVENTS["events.k8s.io"]) == EVENTS == collection_of(_EVENTS[""])
    assert collection_of(_PODS) == _PODS.group_resource


def test_an_event_survives_the_round_trip() -> None:
    """Fields are renamed on the way in and back on the way out."""
    event = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "e"},
        "regarding": {"name": "p"},
        "note": "hello",
        "reportingController": "c",
        "deprecatedCount": 3,
    }
    stored = to_storage(_EVENTS["events.k8s.io"], event)
    assert stored == {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e"},
        "involvedObject": {"name": "p"},
        "message": "hello",
        "reportingComponent": "c",
        "count": 3,
    }
    convert = converter(_EVENTS["events.k8s.io"])
    assert convert is not None
    assert convert(stored) == event


def test_other_kinds_differ_in_their_version_only() -> None:
    """Nothing else is converted; the apiVersion becomes that of the storage version."""
    assert converter(_PODS) is None
    pod = {"apiVersion": "v1", "kind": "Pod"}
    assert to_storage(_PODS, pod) is pod
    assert to_storage(_PODS, {**pod, "apiVersion": "v2"}) == pod


def test_selectable_fields_have_a_stored_name() -> None:
    """A selector on the served name finds the stored field."""
    assert stored_field(_EVENTS["events.k8s.io"], "regarding.name") == "involvedObject.name"
    assert stored_field(_EVENTS["events.k8s.io"], "reason") == "reason"
    assert stored_field(_PODS, "regarding.name") == "regarding.name"


_ROLES = builtin("rbac.authorization.k8s.io", "roles")
_RANGES = builtin("", "limitranges")
_DEFINITIONS = builtin("apiextensions.k8s.io", "customresourcedefinitions")


def test_empty_lists_are_absent() -> None:
    """What Go never omits is null when it is empty; nothing else changes."""
    role: dict[str, Any] = {"metadata": {}, "rules": []}
    assert as_stored(_ROLES, role) == {"metadata": {}, "rules": None}
    assert role["rules"] == []
    assert as_stored(_RANGES, {"spec": {"limits": []}}) == {"spec": {"limits": None}}
    full = {"rules": [{"verbs": ["get"]}]}
    assert as_stored(_ROLES, full) is full


def test_definitions_keep_theirs() -> None:
    """A definition is stored as JSON."""
    definition: dict[str, Any] = {"spec": {"versions": []}}
    assert as_stored(_DEFINITIONS, definition) is definition
