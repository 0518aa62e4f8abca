"""
One reconcile of a plan: what it would write, and where its plan ends.

It ends before the first step that would get a different response in a real run, because none of the written
objects exist.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any, Final

import msgspec

from handloop.controller.runtime.planning.field_changes import FieldChange

_ACTS: Final = frozenset(
    {"socket.connect", "sqlite3.connect", "subprocess.Popen", "os.system", "os.posix_spawn"}
)
"""Python's audit events that end a plan. A C library may connect without raising one."""

MORE: Final = "more"
PAUSED: Final = "paused"
WEBHOOK: Final = "webhook"
OUTSIDE: Final = "outside"
CANNOT_BE_DRY: Final = "cannot be dry"


class PlanEnds(BaseException):
    """Ends a reconcile. This is not an Exception, because authors catch Exceptions and continue."""


class PlannedWrite(msgspec.Struct, frozen=True, rename="camel"):
    """One write. restarts_for lists what it changes in a pod template; if empty, no pods restart."""

    verb: str
    api_version: str
    kind: str
    namespace: str
    name: str
    subresource: str
    owner: str
    restarts_for: tuple[str, ...]
    fields: tuple[FieldChange, ...]

    @property
    def restarts(self) -> bool:
        """Return whether a workload would restart its pods."""
        return bool(self.restarts_for)

    @property
    def place(self) -> tuple[str, ...]:
        """Return the write's sort key, which comes after that of its owner."""
        return self.api_version, self.kind, self.namespace, self.name, self.subresource


class Attempt:
    """
    A reconcile that is in progress.

    Fields: owner, such as `MyApp default/a`; made, the objects that it would have created, by path; deleted,
    the paths of those that it would have deleted; seen, the path and body of the last whole object that was
    read; ended, one of the words above and the reason, or ("", "") before the end.
    State: _writes, each with the path of its object. Threads: the worker's.
    """

    def __init__(self, owner: str, *, acts_outside: bool = False) -> None:
        """Args: acts_outside = it may."""
        self.owner = owner
        self.acts_outside = acts_outside
        self.made: dict[str, dict[str, Any]] = {}
        self.deleted: set[str] = set()
        self.seen = "", b""
        self._writes: list[tuple[str, PlannedWrite]] = []
        self.ended = ("", "")
        self._asks = False

    @property
    def writes(self) -> tuple[PlannedWrite, ...]:
        """Return what the reconcile would write, in order."""
        return tuple(write for _, write in self._writes)

    def of(self, path: str) -> tuple[PlannedWrite, ...]:
        """Return what it would write to one object."""
        return tuple(write for at, write in self._writes if at == path)

    def note(self, path: str, write: PlannedWrite) -> None:
        """It would write."""
        self._writes.append((path, write))

    def end(self, what: str, why: str) -> PlanEnds:
        """End the reconcile, unless it has ended before. Returns: the error to raise."""
        if not self.ended[0]:
            self.ended = what, why
        return PlanEnds(why)

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Allow calls to the API server, which may need a connection or a login program."""
        self._asks = True
        try:
            yield
        finally:
            self._asks = False

    def look_at(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Handle an audit event of the thread. Raises: PlanEnds for an action outside the cluster."""
        if not (self._asks or self.acts_outside):
            where = arguments[1] if event == "socket.connect" else arguments[0]
            raise self.end(OUTSIDE, f"the reconcile acts outside the cluster: {event} {where!r}")


ATTEMPT: Final[ContextVar[Attempt | None]] = ContextVar("ATTEMPT", default=None)
"""The reconcile on this thread, if it is part of a plan."""


@cache
def guard_against_acts() -> None:
    """
    From now on, let a plan's reconciles connect only to the API server, and start no programs.

    This cannot be undone, and it affects only those reconciles. It does not notice what a reconcile does in
    threads that it starts, or on connections that were already open.
    """

    def look(event: str, arguments: tuple[Any, ...]) -> None:
        if event in _ACTS and (attempt := ATTEMPT.get()) is not None:
            attempt.look_at(event, arguments)

    sys.addaudithook(look)
