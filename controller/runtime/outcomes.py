"""How syncs end: counted, and logged so that a lost race is no error and a surprise comes with its stack."""

from __future__ import annotations

import traceback
from typing import Final, NamedTuple

import structlog

from handloop.client.errors import AlreadyExists, Conflict
from handloop.controller.runtime.damper import HeldBackError
from handloop.controller.runtime.metrics.reconcile import ControllerMetrics, ReconcileResult
from handloop.informers.keys import ObjectName
from handloop.workqueue.clock import REAL_CLOCK, Clock
from handloop.workqueue.locks import new_lock

_LOST_RACES: Final = (Conflict, AlreadyExists, HeldBackError)


class Outcomes(NamedTuple):
    """Syncs that settled and syncs that failed; those that nobody expected are among the failed."""

    synced: int = 0
    failed: int = 0
    unexpected: int = 0


class SyncOutcomes:
    """
    Takes note of every sync.

    State, under _lock: _counts; _began_at, when each sync that is under way began. Threads: any.
    """

    def __init__(
        self,
        logger_name: str,
        *,
        expected: tuple[type[BaseException], ...],
        metrics: ControllerMetrics | None = None,
        clock: Clock = REAL_CLOCK,
    ) -> None:
        """Args: expected are the errors that come with talking to a cluster: logged without a stack."""
        self._log = structlog.get_logger(logger_name)
        self._expected = expected
        self._metrics = metrics
        self._clock = clock
        self._lock = new_lock("SyncOutcomes._lock", 95)
        self._counts = Outcomes()
        self._began_at: dict[ObjectName, float] = {}

    def statistics(self) -> Outcomes:
        """A snapshot."""
        with self._lock:
            return self._counts

    def began(self, name: ObjectName) -> None:
        """A sync is about to run; never two at once for one name."""
        with self._lock:
            self._began_at[name] = self._clock.now()
        if self._metrics is not None:
            self._metrics.worker_started()

    def succeeded(self, name: ObjectName) -> None:
        """A sync settled."""
        self._count(synced=1)
        self._measure(name, "success")
        self._log.info("Successfully synced", objectName=name)

    def failed(self, name: ObjectName, error: BaseException) -> None:
        """A sync raised and will be retried."""
        expected = isinstance(error, self._expected)
        self._count(failed=1, unexpected=0 if expected else 1)
        self._measure(name, "error", unexpected=not expected)
        write = self._log.info if isinstance(error, _LOST_RACES) else self._log.error
        text = str(error) if expected else repr(error)
        write("Error syncing; requeuing for later retry", objectReference=name, err=text)
        if not expected:
            stack = "".join(traceback.format_exception(error))
            self._log.debug("Observed an unexpected exception", v=4, objectReference=name, stack=stack)

    def _measure(self, name: ObjectName, result: ReconcileResult, *, unexpected: bool = False) -> None:
        with self._lock:
            began_at = self._began_at.pop(name, None)
        if self._metrics is None or began_at is None:
            return
        self._metrics.observe(result, self._clock.now() - began_at)
        self._metrics.worker_ended()
        if result == "error":
            self._metrics.error()
        if unexpected:
            self._metrics.panic()

    def _count(self, *, synced: int = 0, failed: int = 0, unexpected: int = 0) -> None:
        with self._lock:
            before = self._counts
            self._counts = Outcomes(
                before.synced + synced, before.failed + failed, before.unexpected + unexpected
            )
