"""
Applies a batch of deltas on the informer thread: first to the store, and then to the listeners.

Whether an object is new depends on the store, not on the delta's type: an Added for a stored key is an
update, and an Updated for an absent key is an add.
Follows: client-go tools/cache/controller.go @32ce75a7d (processDeltas, processDeltasInBatch). Differs: there
is always one transaction per batch; a change that is older than the stored object is dropped (see
history_guard.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Generic, TypeVar

from handloop.apis.meta import Kind
from handloop.informers.delta_fifo import Deltas, DeltaType
from handloop.informers.history_guard import HistoryGuard
from handloop.informers.indexer import Indexer, TransactionError
from handloop.informers.informer_metrics import InformerMetrics
from handloop.informers.keys import (
    DeletedFinalStateUnknown,
    Departed,
    deletion_handling_meta_namespace_key_func,
)
from handloop.informers.processor import (
    AddNotification,
    DeleteNotification,
    Notification,
    SharedProcessor,
    UpdateNotification,
)
from handloop.seams.clock import Clock
from handloop.seams.locks import Lock
from handloop.seams.logs import get_logger

log = get_logger("informers")

T = TypeVar("T", bound=Kind)

_DELETED: Final = DeltaType.DELETED


class DeltaProcessor(Generic[T]):
    """
    Applies batches to the store and distributes the changes.

    State: none.
    Threads: runs on the informer's thread, with the FIFO lock (20) held. It holds block_deltas (30) for the
    whole batch, so that a handler that is added meanwhile receives each object exactly once, either in its
    snapshot or in a notification.
    """

    def __init__(
        self,
        *,
        indexer: Indexer[T],
        processor: SharedProcessor[T],
        block_deltas: Lock,
        guard: HistoryGuard[T],
        metrics: InformerMetrics,
        clock: Clock,
    ) -> None:
        self._indexer = indexer
        self._processor = processor
        self._block_deltas = block_deltas
        self._guard = guard
        self._metrics = metrics
        self._clock = clock

    def process(self, batch: list[tuple[Deltas[T], bool]]) -> None:
        """
        Apply one batch, oldest delta first.

        Raises: TransactionError if the store refused some deltas, or an ExceptionGroup of such errors. The
        handlers receive the other deltas.
        """
        started_at = self._clock.now()
        with self._block_deltas:
            failures = self._apply_guarded(batch) if self._guard.is_needed else self._apply(batch)
        self._metrics.objects.set(len(self._indexer))
        self._metrics.processing_latency.observe(self._clock.now() - started_at)
        if len(failures) == 1:
            raise failures[0]
        if failures:
            raise ExceptionGroup("the store refused objects", failures)

    def _apply_guarded(self, batch: list[tuple[Deltas[T], bool]]) -> list[TransactionError[T]]:
        """Apply deltas one by one, because each must be compared with what earlier deltas have stored."""
        failures: list[TransactionError[T]] = []
        for deltas, is_initial in batch:
            for delta in deltas:
                delta_type, obj = delta
                key = deletion_handling_meta_namespace_key_func(obj)
                if self._guard.is_echo(delta_type, obj, self._indexer.get_by_key(key)):
                    log.debug("Event from the past ignored", v=2, key=key, type=str(delta_type))
                else:
                    failures += self._apply([([delta], is_initial)])
        return failures

    def _apply(self, batch: list[tuple[Deltas[T], bool]]) -> list[TransactionError[T]]:
        try:
            previous = self._indexer.apply([delta for deltas, _ in batch for delta in deltas])
        except TransactionError as failure:
            self._distribute(batch, failure.previous, failure.errors)
            return [failure]
        self._distribute(batch, previous, {})
        return []

    def _distribute(
        self,
        batch: list[tuple[Deltas[T], bool]],
        previous: list[T | None],
        failed: Mapping[int, Exception],
    ) -> None:
        """Notify the listeners. previous has the object stored before each delta. Skip failed deltas."""
        notifications: list[Notification[T]] = []
        # changes has the notifications other than syncs. Until the first sync, both names refer to one list.
        changes = notifications
        initial, position = 0, -1
        for deltas, is_initial in batch:
            for delta_type, obj in deltas:
                position += 1
                if position in failed:
                    continue
                old = previous[position]
                notification: Notification[T]
                if delta_type is _DELETED:
                    if isinstance(obj, Departed):
                        continue
                    notification = DeleteNotification(_final(obj, old))
                elif old is None:
                    # only a Deleted carries a tombstone
                    notification = AddNotification(obj, is_initial)  # type: ignore[arg-type]
                    initial += is_initial
                elif old.metadata.resource_version != obj.metadata.resource_version:  # type: ignore[union-attr]
                    notification = UpdateNotification(old, obj)  # type: ignore[arg-type]
                else:
                    if changes is notifications:
                        changes = notifications.copy()
                    notifications.append(UpdateNotification(old, obj))  # type: ignore[arg-type]
                    continue
                notifications.append(notification)
                if changes is not notifications:
                    changes.append(notification)
        self._processor.distribute(notifications, changes, initial=initial)


def _final(obj: T | DeletedFinalStateUnknown[T], stored: T | None) -> T | DeletedFinalStateUnknown[T]:
    """Return the object of a deletion. A tombstone without a state receives the stored object."""
    if isinstance(obj, DeletedFinalStateUnknown) and obj.obj is None and stored is not None:
        return DeletedFinalStateUnknown(obj.key, stored)
    return obj
