"""What is logged about reconciles: every line with the id and, where it counts, the causes."""

from __future__ import annotations

import traceback
from typing import Final

import structlog

from handloop.client.errors import AlreadyExists, ClientError, Conflict, NotFound
from handloop.controller.runtime.reconcile import ReconcileContext
from handloop.controller.runtime.reconcile_errors import ReconcileError, TerminalError

_LOST_RACES: Final = (Conflict, AlreadyExists)


def is_expected(error: BaseException) -> bool:
    """Whether an error comes with talking to a cluster, or was raised on purpose; else it is a bug."""
    return isinstance(error, ClientError | ReconcileError)


class ReconcileReports:
    """The log of one controller's reconciles. Threads: any."""

    def __init__(self, controller: str) -> None:
        self._log = structlog.get_logger(controller)

    def begins(self, context: ReconcileContext) -> None:
        """A worker starts."""
        context.log.debug("Reconciling", v=4, causes=", ".join(context.causes))

    def settled(self, context: ReconcileContext, requeue_after: float | None) -> None:
        """It worked out."""
        more = {} if requeue_after is None else {"requeueAfter": requeue_after}
        context.log.debug("Reconcile successful", v=4, **more)

    def failed(
        self, context: ReconcileContext, error: BaseException, failures: int, *, final: bool = False
    ) -> None:
        """
        It raised. A lost race is no error, and a surprise comes with its stack.

        Args: failures in a row so far; final = there will be no other try until something changes.
        """
        expected, terminal = is_expected(error), final or isinstance(error, TerminalError)
        write = context.log.info if _is_lost_race(error, failures) and not terminal else context.log.error
        write(
            "Reconciler error, waiting for a change" if terminal else "Reconciler error",
            err=str(error) if expected else repr(error),
            causes=", ".join(context.causes),
            **({} if terminal else {"failures": failures}),
        )
        if not expected:
            stack = "".join(traceback.format_exception(error))
            context.log.debug("Observed a panic in reconciler", v=4, stack=stack)

    def timed_out(self, context: ReconcileContext, seconds: float) -> None:
        """It took longer than it may, whatever came of it."""
        context.log.warning("Reconcile took longer than its deadline", seconds=round(seconds, 3))


def _is_lost_race(error: BaseException, failures: int) -> bool:
    """What is not found was deleted a moment ago, unless it is not found again."""
    return isinstance(error, _LOST_RACES) or (isinstance(error, NotFound) and failures <= 1)
