"""How syncs end: counted, and logged so that a lost race is no error and a surprise comes with its stack."""

from __future__ import annotations

import traceback
from typing import Final, NamedTuple

import structlog

from client.errors import AlreadyExists, Conflict
from informers.keys import ObjectName
from workqueue.locks import new_lock

_LOST_RACES: Final = (Conflict, AlreadyExists)


class Outcomes(NamedTuple):
    """Syncs that settled and syncs that failed; those that nobody expected are among the failed."""

    synced: int = 0
    failed: int = 0
    unexpected: int = 0


class SyncOutcomes:
    """
    Takes note of every sync.

    State: _counts, under _lock. Threads: any.
    """

    def __init__(self, logger_name: str, *, expected: tuple[type[BaseException], ...]) -> None:
        """Args: expected are the errors that come with talking to a cluster: logged without a stack."""
        self._log = structlog.get_logger(logger_name)
        self._expected = expected
        self._lock = new_lock("SyncOutcomes._lock", 95)
        self._counts = Outcomes()

    def statistics(self) -> Outcomes:
        """A snapshot."""
        with self._lock:
            return self._counts

    def succeeded(self, name: ObjectName) -> None:
        """A sync settled."""
        self._count(synced=1)
        self._log.info("Successfully synced", objectName=name)

    def failed(self, name: ObjectName, error: BaseException) -> None:
        """A sync raised and will be retried."""
        expected = isinstance(error, self._expected)
        self._count(failed=1, unexpected=0 if expected else 1)
        write = self._log.info if isinstance(error, _LOST_RACES) else self._log.error
        text = str(error) if expected else repr(error)
        write("Error syncing; requeuing for later retry", objectReference=name, err=text)
        if not expected:
            stack = "".join(traceback.format_exception(error))
            self._log.debug("Observed an unexpected exception", v=4, objectReference=name, stack=stack)

    def _count(self, *, synced: int = 0, failed: int = 0, unexpected: int = 0) -> None:
        with self._lock:
            before = self._counts
            self._counts = Outcomes(
                before.synced + synced, before.failed + failed, before.unexpected + unexpected
            )
