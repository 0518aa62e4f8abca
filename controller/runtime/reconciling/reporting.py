"""
Log how syncs and reconciles end. A lost race is not logged as an error, and a bug is logged with its stack.

SyncReporter is for controllers written by hand. ReconcileReporter is for the runtime's controllers.
"""

from __future__ import annotations

import re
import sys
import traceback
from typing import Any, Final, NamedTuple

from handloop.client.errors import AlreadyExists, ClientError, Conflict, Forbidden, NotFound
from handloop.controller.runtime.guards.repeat_backoff import HeldBackError
from handloop.controller.runtime.metrics.controller_metrics import ControllerMetrics, ReconcileResult
from handloop.controller.runtime.rbac.undeclared import what_to_declare
from handloop.controller.runtime.reconcile import ReconcileError, TerminalError, WaitError
from handloop.controller.runtime.reconciling.context import Context
from handloop.controller.runtime.sources.decisions import FAILED, SETTLED, WAITS, Decisions
from handloop.controller.runtime.sources.referred_objects import NotReferredError
from handloop.informers.keys import ObjectName
from handloop.seams.clock import REAL_CLOCK, Clock
from handloop.seams.locks import new_lock
from handloop.seams.logs import get_logger, in_words

_LOST_RACES: Final = (Conflict, AlreadyExists)
_NAMESPACE_TERMINATING: Final = "NamespaceTerminating"
_DENIED: Final = re.compile(r'cannot (\w+) resource "[^"/]+(?:/([^"]+))?"')


def is_expected(error: BaseException) -> bool:
    """Return whether the cluster caused an error, or code raised it on purpose. Other errors are bugs."""
    return isinstance(error, ClientError | ReconcileError)


def shown(error: BaseException) -> str:
    """Return an error as text. For a bug, the text includes the error's class."""
    return in_words(error, str if is_expected(error) else repr)


def _bug(error: BaseException) -> dict[str, Any]:
    """Return the log field for a bug's traceback. The same traceback is logged only once."""
    return {} if is_expected(error) else {"exc_info": error}


def _fix(error: BaseException) -> dict[str, str]:
    """Return a log field with the permission to declare if RBAC caused a 403, or {} for other errors."""
    denied = _DENIED.search(error.status.message) if isinstance(error, Forbidden) and error.kind else None
    if denied is None:
        return {}
    verb, subresource = denied.groups()
    kind: str = error.kind  # type: ignore[attr-defined] # a Forbidden
    return {"fix": what_to_declare(kind, verb, subresource=subresource or "")}


def where_is(thread_id: int) -> tuple[traceback.StackSummary, str]:
    """Return a thread's stack and, as text, the line that the thread is executing."""
    frame = sys._current_frames().get(thread_id)  # noqa: SLF001 - documented
    stack = traceback.extract_stack(frame)
    last = stack[-1] if frame is not None and stack else None
    return stack, "unknown" if last is None else f"{last.filename}:{last.lineno} in {last.name}"


class Outcomes(NamedTuple):
    """The numbers of successful syncs, of failed syncs, and of failed syncs with an unexpected error."""

    synced: int = 0
    failed: int = 0
    unexpected: int = 0


class SyncReporter:
    """
    Counts, measures and logs every sync.

    State, under _lock: _counts; _began_at, the start time of each running sync.
    Threads: any thread can call the methods.
    """

    def __init__(
        self,
        logger_name: str,
        *,
        metrics: ControllerMetrics | None = None,
        decisions: Decisions | None = None,
        clock: Clock = REAL_CLOCK,
    ) -> None:
        """Args: decisions records how each sync ends."""
        self._log = get_logger(logger_name)
        self._metrics = metrics
        self._decisions = decisions
        self._clock = clock
        self._lock = new_lock("SyncReporter._lock", 95)
        self._counts = Outcomes()
        self._began_at: dict[ObjectName, float] = {}

    def statistics(self) -> Outcomes:
        """Return a snapshot."""
        with self._lock:
            return self._counts

    def began(self, name: ObjectName) -> None:
        """Record that a sync has started. A name never has two syncs at once."""
        with self._lock:
            self._began_at[name] = self._clock.now()
        if self._metrics is not None:
            self._metrics.active.inc()

    def succeeded(self, name: ObjectName, *, changes: str = "") -> None:
        """Report a successful sync. Args: changes are its writes, in words."""
        self._count(synced=1)
        self._measure(name, "success", SETTLED, changes=changes)
        self._log.debug("Successfully synced", v=4, objectName=name)

    def waits(self, name: ObjectName, error: HeldBackError | WaitError, *, changes: str = "") -> None:
        """Report a sync that must wait. It does not count as a failure."""
        self._measure(name, "requeue_after", WAITS, in_words(error), changes=changes)
        if isinstance(error, WaitError):
            self._log.info("Sync waits", objectName=name, why=in_words(error))
        else:
            self._log.debug("Held back", v=4, objectName=name, why=str(error))

    def failed(self, name: ObjectName, error: BaseException, *, changes: str = "") -> None:
        """Report a sync that raised an error and will be retried."""
        expected = is_expected(error)
        self._count(failed=1, unexpected=0 if expected else 1)
        self._measure(name, "error", FAILED, shown(error), changes=changes, unexpected=not expected)
        write = self._log.info if isinstance(error, _LOST_RACES) else self._log.error
        facts = {"objectReference": name, "err": shown(error), **_bug(error)}
        write("Error syncing; requeuing for later retry", **facts)

    def _measure(
        self,
        name: ObjectName,
        result: ReconcileResult,
        what: str,
        text: str = "",
        *,
        changes: str,
        unexpected: bool = False,
    ) -> None:
        with self._lock:
            began_at = self._began_at.pop(name, None)
        if self._decisions is not None and began_at is not None:
            self._decisions.reconciled(name, what, text, causes=(), began_at=began_at, changes=changes)
        if self._metrics is None or began_at is None:
            return
        self._metrics.observe(result, self._clock.now() - began_at)
        self._metrics.active.dec()
        if result == "error":
            self._metrics.errors.inc()
        if unexpected:
            self._metrics.panics.inc()

    def _count(self, *, synced: int = 0, failed: int = 0, unexpected: int = 0) -> None:
        with self._lock:
            before = self._counts
            self._counts = Outcomes(
                before.synced + synced, before.failed + failed, before.unexpected + unexpected
            )


class ReconcileReporter:
    """Logs that reconciles start, and how they end. Threads: any thread can call the methods."""

    def begins(self, context: Context) -> None:
        """Log that a reconcile has started, and its causes."""
        context.log.debug("Reconciling", v=4, causes=", ".join(context.causes))

    def settled(self, context: Context, requeue_after: float | None) -> None:
        """Log that a reconcile returned."""
        more = {} if requeue_after is None else {"requeueAfter": requeue_after}
        context.log.debug("Reconcile successful", v=4, **more)

    def waits(self, context: Context, wait: WaitError) -> None:
        """Log that a reconcile must wait."""
        context.log.info("Reconcile waits", why=in_words(wait))

    def failed(self, context: Context, error: BaseException, failures: int, *, final: bool = False) -> None:
        """
        Log that a reconcile raised an error.

        Args: failures is the number of failures in a row; final is True if the name is retried only after
        a change.
        """
        terminal = final or isinstance(error, TerminalError)
        is_lost = not terminal and _is_lost_race(error, failures)
        is_told = isinstance(error, TerminalError) and error.is_told
        write = context.log.info if is_lost or is_told else context.log.error
        write(
            "Reconciler error, waiting for a change" if terminal else "Reconciler error",
            err=shown(error),
            causes=", ".join(context.causes),
            **({"once": True} if terminal else {"failures": failures}),
            **_fix(error),
            **_bug(error),
        )

    def blocks(self, context: Context, seconds: float, thread_id: int) -> None:
        """Log that a reconcile has run for too long, and which line its thread is executing."""
        stack, where = where_is(thread_id)
        context.log.warning("Reconcile blocks", seconds=round(seconds, 3), at=where, once=True)
        context.log.debug("Where the reconcile blocks", v=4, stack="".join(traceback.format_list(stack)))

    def timed_out(self, context: Context, seconds: float) -> None:
        """Log that a reconcile exceeded its deadline, whatever its result was."""
        context.log.warning("Reconcile took longer than its deadline", seconds=round(seconds, 3))


def _is_lost_race(error: BaseException, failures: int) -> bool:
    """
    Return whether an error is harmless because another client was faster, for example deleted the object.

    Errors from a namespace that is being deleted are harmless too, because its objects will soon be deleted.
    Only the first "not found" is harmless. If it is repeated, it is an error.
    """
    if isinstance(error, Forbidden):
        return any(cause.reason == _NAMESPACE_TERMINATING for cause in error.status.details.causes)
    # NotReferredError may mean that the object changed during the reconcile.
    is_late = isinstance(error, NotFound | NotReferredError) and failures <= 1
    return is_late or isinstance(error, _LOST_RACES)
