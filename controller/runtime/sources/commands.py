"""
What a user tells an object's controller with annotations, named after the kind's group; kubectl is enough.

    kubectl annotate site web example.org/paused=true               it is left alone, whatever happens
    kubectl annotate site web example.org/paused-                   it is reconciled, at once
    kubectl annotate site web example.org/reconcile-at="$(date)"    it is reconciled, at once: no back-off

A change to these annotations triggers a reconcile whatever predicates say, because GenerationChanged would
hide it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from handloop.apis.meta import Kind
from handloop.apis.resource import Resource

TRUE: Final = "true"
"""The one value that pauses."""

PAUSED: Final = "paused"
RESUMED: Final = "resumed"
POKED: Final = "poked"


class Commands(NamedTuple):
    """The annotations of one kind."""

    paused: str
    """The key of the annotation, for an object or for its namespace."""

    reconcile_at: str
    """The key of the annotation, which works with any new value."""

    def are_to_pause(self, annotations: Mapping[str, str]) -> bool:
        """Return whether the annotations of an object or a namespace ask for a pause."""
        return annotations.get(self.paused) == TRUE

    def said(self, old: Kind, new: Kind) -> str:
        """Return what a change to an object says: PAUSED, RESUMED or POKED; "" if nothing."""
        before, after = old.metadata.annotations, new.metadata.annotations
        if before.get(self.paused) != after.get(self.paused):
            return PAUSED if self.are_to_pause(after) else RESUMED
        poked = after.get(self.reconcile_at)
        return POKED if poked is not None and poked != before.get(self.reconcile_at) else ""


def commands_of(resource: Resource) -> Commands:
    """Return the annotations of a kind; those of the core group begin with `core/`."""
    prefix = resource.group or "core"
    return Commands(f"{prefix}/paused", f"{prefix}/reconcile-at")
