"""
Annotations with which a user controls the reconciles of an object. Their prefix is the kind's API group.

    kubectl annotate site web example.org/paused=true               the object is not reconciled
    kubectl annotate site web example.org/paused-                   the object is reconciled at once
    kubectl annotate site web example.org/reconcile-at="$(date)"    the object is reconciled without back-off

A change to these annotations triggers a reconcile even if a predicate would drop it. GenerationChanged, for
example, drops every change to annotations.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from handloop.apis.meta import Kind
from handloop.apis.resource import Resource

TRUE: Final = "true"
"""The only value of the annotation that pauses an object."""

PAUSED: Final = "paused"
RESUMED: Final = "resumed"
POKED: Final = "poked"


class Commands(NamedTuple):
    """The annotation keys for one kind."""

    paused: str
    """The key of the annotation that pauses an object, or all objects of a namespace."""

    reconcile_at: str
    """The key of the annotation that triggers a reconcile whenever its value changes."""

    def are_to_pause(self, annotations: Mapping[str, str]) -> bool:
        """Return whether these annotations, of an object or a namespace, request a pause."""
        return annotations.get(self.paused) == TRUE

    def said(self, old: Kind, new: Kind) -> str:
        """Return the command that a change to an object gives: PAUSED, RESUMED or POKED, or "" if none."""
        before, after = old.metadata.annotations, new.metadata.annotations
        if before.get(self.paused) != after.get(self.paused):
            return PAUSED if self.are_to_pause(after) else RESUMED
        poked = after.get(self.reconcile_at)
        return POKED if poked is not None and poked != before.get(self.reconcile_at) else ""


def commands_of(resource: Resource) -> Commands:
    """Return the annotation keys for a kind. For the core group, they start with `core/`."""
    prefix = resource.group or "core"
    return Commands(f"{prefix}/paused", f"{prefix}/reconcile-at")
