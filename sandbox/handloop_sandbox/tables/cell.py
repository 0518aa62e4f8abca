"""
Functions for Table cells that several kinds share.

Follows: kubernetes pkg/printers/internalversion/printers.go, apimachinery pkg/apis/meta/v1/helpers.go and
pkg/labels.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from handloop_sandbox.wire import human, label_selector
from handloop_sandbox.wire.field_rules import part

NONE, UNSET, UNKNOWN = "<none>", "<unset>", "<unknown>"
Object = Mapping[str, Any]


def name_of(obj: Object) -> str:
    """metadata.name."""
    return str(part(obj, "metadata").get("name", ""))


def age_of(obj: Object, now: float) -> str:
    """Return an object's age, as kubectl prints it."""
    return human.age(part(obj, "metadata").get("creationTimestamp"), now)


def is_deleting(obj: Object) -> bool:
    """Return whether the object is being deleted."""
    return bool(part(obj, "metadata").get("deletionTimestamp"))


def labels_text(labels: Object) -> str:
    """`a=1,b=2`, or <none>."""
    return ",".join(f"{key}={labels[key]}" for key in sorted(labels)) or NONE


def containers_and_images(pod_spec: Object) -> tuple[str, str]:
    """Return the names and the images of a pod's containers, each joined by commas."""
    containers = pod_spec.get("containers") or ()
    names = ",".join(container.get("name", "") for container in containers)
    return names, ",".join(container.get("image", "") for container in containers)


def selector_cell(selector: Object | None) -> str:
    """Return a label selector, or <none>."""
    return label_selector.text(selector) or NONE


def shortened(entries: Sequence[str], total: int, *, limit: int = 3, empty: str = "") -> str:
    """Return the first entries and, if there are more, the number of remaining entries."""
    text = ",".join(entries[:limit])
    if len(entries) > limit:
        return f"{text} + {total - limit} more..."
    return text or empty


def unique(values: Iterable[str]) -> list[str]:
    """Return the sorted values without duplicates and empty strings."""
    return sorted({value for value in values if value})


def holds(conditions: Iterable[Object] | None, kind: str) -> bool:
    """Return whether the first condition of this type is True."""
    for condition in conditions or ():
        if condition.get("type") == kind:
            return condition.get("status") == "True"
    return False
