"""
One reconcile of a plan: the writes that it would send, and the point where its plan ends.

The objects that the reconcile writes are not stored on the server. The reconcile therefore ends before the
first request to which the server would respond differently in a real run.
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
"""Python's audit events that end a planned reconcile. A C library can connect without such an event."""

MORE: Final = "more"
PAUSED: Final = "paused"
WEBHOOK: Final = "webhook"
OUTSIDE: Final = "outside"
CANNOT_BE_DRY: Final = "cannot be dry"


class PlanEnds(BaseException):
    """Ends a reconcile. It is not an Exception, because reconcilers may catch an Exception and continue."""


class PlannedWrite(msgspec.Struct, frozen=True, rename="camel"):
    """One write. restarts_for lists the changed parts of a pod template; if it is empty, no pods restart."""

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
        """Return whether the write would make a workload restart its pods."""
        return bool(self.restarts_for)

    @property
    def place(self) -> tuple[str, ...]:
        """Return the key by which the writes of one owner are sorted."""
        return self.api_version, self.kind, self.namespace, self.name, self.subresource


class Attempt:
    """
    A planned reconcile that is in progress.

    Fields: owner, such as `MyApp default/a`; made, the objects that it would have created, by path; deleted,
    the paths of the objects that it would have deleted; seen, the path and body of the last whole object that
    was read; ended, why the reconcile has ended, as one of the constants above and a text, or ("", "") before
    the end.
    State: _writes, each with its object's path. Threads: the worker's.
    """

    def __init__(self, owner: str, *, acts_outside: bool = False) -> None:
        """Args: acts_outside is True if the reconcile may act outside the cluster."""
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
        """Return the writes that the reconcile would send, in order."""
        return tuple(write for _, write in self._writes)

    def of(self, path: str) -> tuple[PlannedWrite, ...]:
        """Return the writes that the reconcile would send to one object."""
        return tuple(write for at, write in self._writes if at == path)

    def note(self, path: str, write: PlannedWrite) -> None:
        """Record a write that the reconcile would send."""
        self._writes.append((path, write))

    def end(self, what: str, why: str) -> PlanEnds:
        """Record why the reconcile ends, unless it has already ended. Returns: the error to raise."""
        if not self.ended[0]:
            self.ended = what, why
        return PlanEnds(why)

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Allow connections and programs in a `with` block, because a request to the server may need them."""
        self._asks = True
        try:
            yield
        finally:
            self._asks = False

    def look_at(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Check an audit event of this thread. Raises: PlanEnds for a forbidden outside action."""
        if not (self._asks or self.acts_outside):
            where = arguments[1] if event == "socket.connect" else arguments[0]
            raise self.end(OUTSIDE, f"the reconcile acts outside the cluster: {event} {where!r}")


ATTEMPT: Final[ContextVar[Attempt | None]] = ContextVar("ATTEMPT", default=None)
"""The planned reconcile on this thread; None if the thread is not planning."""


@cache
def guard_against_acts() -> None:
    """
    Prevent a plan's reconciles from connecting to other servers, or starting programs, from now on.

    The guard cannot be removed, and it affects only those reconciles. It does not detect actions in threads
    that a reconcile starts, or on connections that were already open.
    """

    def look(event: str, arguments: tuple[Any, ...]) -> None:
        if event in _ACTS and (attempt := ATTEMPT.get()) is not None:
            attempt.look_at(event, arguments)

    sys.addaudithook(look)
