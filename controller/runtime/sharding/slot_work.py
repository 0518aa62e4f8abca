"""
Start work on a slot once the caches contain its objects, and end the work before the slot is released.

    serve:   hold --> caches have it --> open --> stop --> close --> reconciles have ended --> hold no longer
    worker:  with admitted(name): reconcile

A name in a slot that is not open yet waits until the slot opens. A name in a slot that is not held is
dropped, because the slot's holder reconciles it. When a slot is added, the informers deliver all its objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from threading import Event
from typing import Any, Final

from handloop.apis.resource import namespace_in
from handloop.controller.runtime.caching.multi_namespace_informer import MultiNamespaceInformer, failing
from handloop.controller.runtime.caching.takeover import CatchUp
from handloop.controller.runtime.election.leader_election import StopTimeoutError
from handloop.controller.runtime.guards.admission import NotAdmittedError, NotYetAdmittedError, ShareWorker
from handloop.informers.keys import ObjectName
from handloop.informers.sharding.held_slots import HeldSlots
from handloop.informers.sync import LONGEST_POLL_SECONDS
from handloop.seams.locks import new_lock
from handloop.seams.logs import get_logger
from handloop.seams.seams import REAL_SEAMS, Seams

log = get_logger("shards")

OPENING_SECONDS: Final = 60.0
"""The longest wait for a slot to open. After that, the name is retried, and the reason is logged."""


_Behind = Mapping[MultiNamespaceInformer[Any], Sequence[CatchUp]]


class SlotNotHeld(NotAdmittedError):  # noqa: N818 - what it is
    """Another replica holds the slot of a name, or this replica is about to give up the slot."""

    def __init__(self, name: ObjectName, slot: int | None) -> None:
        LookupError.__init__(self, f"{name} is in slot {slot}, which this replica does not hold")
        self.namespace = name.namespace


class SlotOpening(NotYetAdmittedError):  # noqa: N818 - as SlotNotHeld
    """The slot of a name is held, but the caches do not have all objects of the slot yet."""

    retry_seconds = OPENING_SECONDS


class _Tenure:
    """
    One period in which this process holds a slot. If it loses the slot and takes it again, a new one starts.

    State, under SlotWork._lock: open_to contains the controllers that work on the slot. in_flight counts
    their running reconciles. closing is true once no new reconcile may start. idle is set once closing is
    true and no reconcile is running. over is set once the tenure's reconciles must no longer write. A late
    reconcile cannot write even if this process has taken the slot again meanwhile.
    """

    def __init__(self, slot: int) -> None:
        self.slot = slot
        self.open_to: set[Admission] = set()
        self.in_flight = 0
        self.closing = False
        self.idle = Event()
        self.over = Event()


class Admission:
    """
    Decides which names one controller can reconcile now.

    State, under SlotWork._lock: waiting maps each slot that is not open yet to the names that wait for it.
    Threads: workers call admitted; `slot-<i>` opens and closes a slot.
    """

    def __init__(
        self,
        work: SlotWork,
        informers: Sequence[MultiNamespaceInformer[Any]],
        *,
        worker: ShareWorker,
        slot_of: Callable[[ObjectName], int | None] | None = None,
    ) -> None:
        """
        Add a controller to work, before serve is called.

        Args: informers are those that the controller watches. The controller starts to work on a slot once
        their caches contain the slot's objects. slot_of returns the slot of a name. If slot_of is None, the
        namespace of a name decides its slot.
        """
        self.informers = informers
        self.worker = worker
        self.slot_of = slot_of or work.slot_by_namespace
        self.waiting: dict[int, set[ObjectName]] = {}
        self._work = work
        work.admissions.append(self)

    def is_in(self, slot: int, name: ObjectName) -> bool:
        """Return whether a name is in a slot. With shards by UID, an uncached object's name is in no slot."""
        return self.slot_of(name) == slot

    @contextmanager
    def admitted(self, name: ObjectName) -> Iterator[None]:
        """
        Wrap a worker's reconcile of a name. Until it ends, the thread's writes belong to the name's slot.

        Raises: SlotOpening if the worker must retry the name, later or when wake is called; SlotNotHeld if it
        must drop the name.
        """
        tenure = self._work.enter(self, name)
        before = self._work.works_in.set(tenure)
        try:
            yield
        finally:
            self._work.works_in.reset(before)
            self._work.leave(tenure)


class SlotWork:
    """
    Does the work on a process's slots.

    Fields: works_in holds, for each thread that is reconciling, the tenure of the reconciled name's slot.
    admissions contains one entry for each controller. informers returns all informers of the process.
    admissions and informers are complete before serve is called.
    State, under _lock: _tenures maps each slot to its tenure, whose fields _lock also guards. A tenure starts
    before its slot is held and ends after the slot is released, so that an event for the slot's objects
    always finds a tenure.
    Threads: `slot-<i>` runs serve; workers call enter and leave; any thread can call seconds_to_write.
    """

    def __init__(
        self,
        held: HeldSlots,
        *,
        by_namespace: bool,
        seconds_of: Callable[[int], float],
        drain_seconds: float,
        seams: Seams = REAL_SEAMS,
    ) -> None:
        """
        Create the work of a process that holds no slots yet.

        Args: seconds_of(slot) returns how many seconds remain in which no other process can write in the
        slot; 0 means that others can. drain_seconds limits the wait for running reconciles before a slot is
        given up.
        """
        self.works_in: ContextVar[_Tenure | None] = ContextVar("works_in", default=None)
        self.admissions: list[Admission] = []
        self.informers: Callable[[], Sequence[MultiNamespaceInformer[Any]]] = tuple
        self._held = held
        self._by_namespace = by_namespace
        self._seconds_of = seconds_of
        self._drain_seconds = drain_seconds
        self._clock = seams.clock
        self._lock = new_lock("SlotWork._lock", 95)
        self._tenures: dict[int, _Tenure] = {}

    def slot_by_namespace(self, name: ObjectName) -> int:
        """Return the slot of a name's namespace."""
        return self._held.namespaces.slot_of(name.namespace)

    def seconds_to_write(self, path: str) -> float:
        """
        Return how many seconds remain for a write, or 0 if the write must not be sent.

        During these seconds, no other process can write in the slot. If the thread is reconciling, the slot
        is that of the reconciled name. Otherwise the namespace in the path decides the slot.
        """
        tenure = self.works_in.get()
        if tenure is not None:
            return 0.0 if tenure.over.is_set() else self._seconds_of(tenure.slot)
        namespace = namespace_in(path) if self._by_namespace else ""
        return self._seconds_of(self._held.namespaces.slot_of(namespace)) if namespace else 0.0

    def stop_of_waits(self, otherwise: Event) -> Event:
        """
        Return the event that ends the waits in this thread's requests.

        If the thread is reconciling, that event is the `over` event of its tenure, otherwise the given event.
        """
        tenure = self.works_in.get()
        return otherwise if tenure is None else tenure.over

    # workers

    def enter(self, admission: Admission, name: ObjectName) -> _Tenure:
        """
        Record that a reconcile starts, and return its tenure.

        Raises: SlotOpening if the slot is not open to the controller yet; SlotNotHeld if we do not hold the
        slot, or are about to give it up.
        """
        slot = admission.slot_of(name)
        with self._lock:
            tenure = None if slot is None else self._tenures.get(slot)
            if tenure is None or tenure.closing:
                raise SlotNotHeld(name, slot)
            if admission not in tenure.open_to:
                admission.waiting.setdefault(tenure.slot, set()).add(name)
                raise SlotOpening(f"slot {slot} is not open yet")
            tenure.in_flight += 1
            return tenure

    def leave(self, tenure: _Tenure) -> None:
        """Record that a reconcile has ended."""
        with self._lock:
            tenure.in_flight -= 1
            if tenure.closing and not tenure.in_flight:
                tenure.idle.set()

    # the thread of a slot

    def serve(self, slot: int, stop: Event) -> None:
        """
        Work on a slot until stop is set and the slot's reconciles have ended.

        Raises: StopTimeoutError if reconciles are still running after drain_seconds.
        Blocks: until stop is set, and then for at most drain_seconds.
        """
        tenure = _Tenure(slot)
        with self._lock:
            self._tenures[slot] = tenure
        version = self._held.add(slot)
        try:
            self._open(tenure, version, stop)
            stop.wait()
            self._drain(tenure)
        finally:
            self._end(tenure)

    def lost(self, slot: int) -> None:
        """Refuse all further writes of a slot's reconciles, because the slot's Lease was lost."""
        with self._lock:
            if (tenure := self._tenures.get(slot)) is not None:
                tenure.closing = True
                tenure.over.set()

    def _open(self, tenure: _Tenure, version: int, stop: Event) -> None:
        """
        Open a slot to each controller as soon as its caches have the slot's objects.

        A failing cache delays only the controllers that use it.
        """
        warn_at: float | None = self._clock.now() + OPENING_SECONDS
        closed = list(self.admissions)
        behind = {
            view: [CatchUp(informer, self._clock) for informer in view.informers]
            for view in self.informers()
            if not view.restricts
        }
        while closed and not stop.is_set():
            for admission in [each for each in closed if self._can_open(each, version, behind)]:
                closed.remove(admission)
                self._open_to(admission, tenure)
            if warn_at is not None and self._clock.now() >= warn_at:
                warn_at = None
                troubles = [text for each in self.informers() for text in each.listing_troubles(version)]
                log.warning("A slot waits for its caches", slot=tenure.slot, troubles=troubles)
            if closed:
                self._clock.sleep(LONGEST_POLL_SECONDS, stop)

    def _can_open(self, admission: Admission, version: int, behind: _Behind) -> bool:
        """
        Return whether the caches have the slot's objects.

        The cache of an unsharded kind must reflect all writes from before the slot was added. The cache of a
        sharded kind must have relisted since then. A failing cache is ignored if the controller does not
        watch its kind.
        """
        return all(
            (each.has_listed(version) and all(one.is_done() for one in behind.get(each, ())))
            or (each not in admission.informers and any(map(failing, each.informers)))
            for each in (*admission.informers, *self.informers())
        )

    def _open_to(self, admission: Admission, tenure: _Tenure) -> None:
        with self._lock:
            tenure.open_to.add(admission)
            names = admission.waiting.pop(tenure.slot, set())
        for name in names:
            admission.worker.wake(name)
        admission.worker.share_grew(partial(admission.is_in, tenure.slot))

    def _drain(self, tenure: _Tenure) -> None:
        with self._lock:
            tenure.closing = True
            if not tenure.in_flight:
                tenure.idle.set()
        if not self._clock.sleep(self._drain_seconds, tenure.idle):
            busy = f"{tenure.in_flight} reconciles have not ended after {self._drain_seconds:g}s"
            raise StopTimeoutError(f"slot {tenure.slot}: {busy}")

    def _end(self, tenure: _Tenure) -> None:
        """
        Forget all data about the slot, because it would be outdated when this process takes the slot again.

        The controllers forget the slot's names before the slot is released. The names of slots that are added
        meanwhile are not affected.
        """
        with self._lock:
            tenure.closing = True
            tenure.over.set()
        for admission in self.admissions:
            admission.worker.memory.forget_names(partial(admission.is_in, tenure.slot))
        self._held.remove(tenure.slot)
        with self._lock:
            del self._tenures[tenure.slot]
            for admission in self.admissions:
                admission.waiting.pop(tenure.slot, None)
        for admission in self.admissions:
            admission.worker.share_shrank()
