"""
The contract between a controller and the code that reconciles.

Level-triggered: reconcile gets a name, reads what there is, and makes it so. It returns when it is settled
for now, and raises to be called again with back-off.
Follows: controller-runtime pkg/reconcile.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import structlog

from handloop.apis.meta import Kind
from handloop.controller.runtime.deadline import Deadline
from handloop.controller.runtime.reconcile_errors import ReconcileError, TerminalError
from handloop.informers.keys import ObjectName

__all__ = [
    "DONE",
    "ReconcileContext",
    "ReconcileError",
    "Reconciler",
    "Result",
    "TerminalError",
    "WriteObserver",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """
    How a reconcile settled.

    Args: requeue_after in seconds: look again then, even if nothing changes; None = not before a change.
    """

    requeue_after: float | None = None

    def __post_init__(self) -> None:
        after = self.requeue_after
        if after is not None and not 0 <= after < math.inf:
            raise ValueError(f"requeue_after must be a number of seconds of 0 or more, not {after}")


DONE: Final = Result()
"""Settled until something changes."""


class WriteObserver(Protocol):
    """Is told what a reconcile wrote, so that the next one does not act on a cache that lacks it."""

    def wrote(self, obj: Kind) -> None:
        """The server's answer to a write."""

    def deleted(self, obj: Kind) -> None:
        """The object whose deletion the server accepted."""


class _NoObserver:
    """Nobody to tell."""

    def wrote(self, obj: Kind) -> None:
        """Ignore it."""

    def deleted(self, obj: Kind) -> None:
        """Ignore it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconcileContext:
    """
    What a reconcile is told besides the name.

    Args: id is in every log line of this reconcile. causes led to it, merged, such as ("MyApp default/a
    updated", "requeue after 30s"). deadline is co-operative: whoever takes steps asks it. log is bound to
    controller, object and id.
    """

    id: str = ""
    causes: tuple[str, ...] = ()
    deadline: Deadline = field(default_factory=Deadline)
    log: Any = field(default_factory=lambda: structlog.get_logger("reconcile"))
    writes: WriteObserver = field(default_factory=_NoObserver)

    def wrote(self, obj: Kind) -> None:
        """Tell of a create, update, patch or apply, with the server's answer: it has the new version."""
        self.writes.wrote(obj)

    def deleted(self, obj: Kind) -> None:
        """Tell of a delete, with the object as it was known."""
        self.writes.deleted(obj)


class Reconciler(Protocol):
    """Makes the cluster be what one object asks for."""

    def reconcile(self, name: ObjectName, context: ReconcileContext) -> Result | None:
        """
        Compare what the object of this name wants with what there is, and write the difference.

        Never runs twice at once for one name. An object that is gone is no error: it may be the very cause.
        Returns: None as DONE.
        Raises: anything, to be called again with back-off; TerminalError not to be, until something changes.
        """
