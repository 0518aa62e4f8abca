"""
Watches one object by name, with a reflector on a single thread.

An informer has three threads and a queue, for many objects and many handlers. A program that follows
hundreds of names needs only one callback for each, so the reflector's thread also stores and reports the
object.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from handloop.apis.grammar.fields import NAME, FieldTerm
from handloop.apis.meta import Kind
from handloop.informers.delta_fifo import DeltaType, Listed
from handloop.informers.event_intake import EventIntake
from handloop.informers.history_guard import HistoryGuard, is_older
from handloop.informers.informer_metrics import InformerMetrics
from handloop.informers.informer_options import InformerOptions
from handloop.informers.initial_list import forgiving, unchanged
from handloop.informers.keys import DeletedFinalStateUnknown, ObjectName
from handloop.informers.listwatch import ListWatch, Resources
from handloop.informers.outage import Outage, RetryPause
from handloop.informers.quarantine import Quarantine
from handloop.informers.reflector import Reflector
from handloop.informers.restriction import Whole
from handloop.informers.selection import Selection
from handloop.seams.locks import new_lock
from handloop.seams.seams import REAL_SEAMS, Seams

T = TypeVar("T", bound=Kind)

Changed = Callable[[T | None, T | None, bool], None]
"""Receives the old and the new object (None for no object), and whether it is from the first list."""


class ObjectWatch(Generic[T]):
    """
    The watch of one object. Implements handloop.informers.event_intake.ReflectorStore.

    Fields: kind, selection and name; quarantine, which contains the object while it does not fit its type.
    State, guarded by _lock (55): _obj is the object or None; _known is whether the first list has arrived.
    Threads: run is called on the thread `watch-<plural>`, and calls changed without holding the lock. Any
    thread can read.
    """

    def __init__(
        self,
        objects: Resources[T],
        kind: type[T],
        name: ObjectName,
        changed: Changed[T],
        *,
        options: InformerOptions,
        fill: Callable[[ObjectWatch[Any], str], None] = lambda _watch, _namespace: None,
        seams: Seams = REAL_SEAMS,
    ) -> None:
        """
        Create a watch. run starts it.

        Args: of options, only transform, tweak, abridged, reachability and hints are used. Until the first
        list has arrived, every read calls fill.
        """
        self.kind = kind
        self.name = name
        self.selection = Selection(fields=(FieldTerm(NAME, equal=True, value=name.name),))
        self._changed = changed
        self._fill = fill
        self._transform: Callable[[T], T] = forgiving(options.transform or unchanged)
        self._guard: HistoryGuard[T] = HistoryGuard()
        self._lock = new_lock("ObjectWatch._lock", 55)
        self._obj: T | None = None
        self._known = False
        metrics = InformerMetrics()
        self._label = label = (
            f"{kind.resource.group_resource}{self.selection.suffix}@{name.namespace}".rstrip("@")
        )
        self.quarantine = Quarantine(
            kind=kind.resource.kind,
            gauge=metrics.quarantined,
            in_store=lambda _key: self.get() is not None,
        )
        source = ListWatch(
            objects,
            name.namespace,
            selection=self.selection,
            tweak=options.tweak,
            abridged=options.abridged_of(kind),
        )
        self._reflector: Reflector[T] = Reflector(
            restriction := Whole(source),
            kind,
            EventIntake(
                self,
                guard=self._guard,
                quarantine=self.quarantine,
                restriction=restriction,
                name=label,
            ),
            Outage(
                label,
                kind.resource,
                name.namespace,
                object_name=name.name,
                pause=RetryPause(reachability=options.reachability, seams=seams),
                hints=options.hints,
                clock=seams.clock,
            ),
            metrics=metrics,
            transform=self._transform,
            seams=seams,
        )
        self.run = self._reflector.run
        self.has_ended = False

    def stop(self) -> None:
        """End run permanently. Any thread can call this, and it does not wait."""
        self.has_ended = True
        self._reflector.stop()

    def get(self) -> T | None:
        """Return the last known state of the object."""
        with self._lock:
            return self._obj

    def read(self) -> T | None:
        """
        Return the object.

        Until the first list has arrived, this calls fill first, and raises and blocks as fill does.
        """
        if not self.has_synced():
            self._fill(self, "")
        return self.get()

    def has_synced(self, _namespace: str = "") -> bool:
        """Return whether a first list has arrived."""
        with self._lock:
            return self._known

    def is_failing(self, _namespace: str = "") -> bool:
        """Return whether the object's list has failed and is being retried."""
        return bool(self._reflector.statistics().last_error)

    def troubles(self, _namespace: str = "") -> list[str]:
        """Return the reasons why the first list has not arrived yet; [] once it has."""
        if self.has_synced():
            return []
        now = self._reflector.statistics()
        fix = f" (fix: {now.fix})" if now.fix else ""
        return [f"{self._label}: {now.last_error or 'no complete list yet'}{fix}"]

    def has_seen(self, resource_version: str) -> bool:
        """Return whether all changes up to a resource version are known."""
        seen = self._reflector.last_sync_resource_version()
        return bool(seen) and not is_older(seen, resource_version)

    # the reflector's thread

    def enqueue_batch(self, entries: list[tuple[DeltaType, T | DeletedFinalStateUnknown[T]]]) -> None:
        """Apply a block of changes."""
        for delta_type, obj in entries:
            if self._guard.is_needed and self._guard.is_echo(delta_type, obj, self.get()):
                continue
            if isinstance(obj, DeletedFinalStateUnknown) or delta_type is DeltaType.DELETED:
                self._put(None)
            else:
                self._put(self._transform(obj))

    def replace(self, objects: Listed[T], resource_version: str) -> None:  # noqa: ARG002 - of the protocol
        """Apply a complete list, which contains the one object or none."""
        # An older state is accepted, too: the list has decided that the server's history was rewound.
        self._put(objects[0] if objects else None)

    def _put(self, obj: T | None) -> None:
        with self._lock:
            before, is_first = self._obj, not self._known
            self._obj, self._known = obj, True
        if before is not None or obj is not None:
            self._changed(before, obj, is_first)
