"""The work of slots: who may begin a reconcile, what may be written, and what a slot leaves behind."""

from __future__ import annotations

import threading
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest

from handloop.apis.grammar.shard_selector import slot_of_namespace
from handloop.controller.runtime.election.leader_election import StopTimeoutError
from handloop.controller.runtime.guards.name_memory import Chosen, NameMemory
from handloop.controller.runtime.sharding.slot_work import (
    OPENING_SECONDS,
    Admission,
    SlotNotHeld,
    SlotOpening,
    SlotWork,
)
from handloop.informers.keys import ObjectName
from handloop.informers.sharding.held_slots import HeldSlots
from handloop.seams.seams import Seams
from handloop.testing.eventually import eventually
from handloop.testing.fake_clock import FakeClock
from support.checks.captured_logs import captured_logs
from support.checks.threads import Background, Gate

SLOTS = 4


def name_in(slot: int, name: str = "a") -> ObjectName:
    """A name in a namespace of that slot."""
    candidates = (f"ns-{number}" for number in range(100))
    return ObjectName(next(ns for ns in candidates if slot_of_namespace(ns, SLOTS) == slot), name)


class Cache:
    """A sharded informer: whether it has all slots that are held, and whether its list fails."""

    restricts = True

    def __init__(self) -> None:
        self.has_all = True
        self.error = ""
        reflector = SimpleNamespace(last_error="")
        self.informers = (SimpleNamespace(statistics=lambda: SimpleNamespace(reflector=reflector)),)
        self._reflector = reflector

    def fail(self) -> None:
        """Its list is refused from here on."""
        self.has_all, self._reflector.last_error = False, "forbidden"

    def has_listed(self, _version: int) -> bool:
        return self.has_all

    def listing_troubles(self, _version: int) -> list[str]:
        return [] if self.has_all else [f"foos: {self._reflector.last_error}"]


class Slots:
    """One controller on the slots of a process; seconds of the Leases that are held, by slot."""

    def __init__(self, *, by_namespace: bool = True) -> None:
        self.clock = FakeClock()
        self.held = HeldSlots(SLOTS)
        self.seconds: dict[int, float] = {}
        self.work = SlotWork(
            self.held,
            by_namespace=by_namespace,
            seconds_of=lambda slot: self.seconds.get(slot, 0.0),
            drain_seconds=30.0,
            seams=Seams(clock=self.clock),
        )
        self.cache = Cache()
        self.work.informers = lambda: [self.cache]  # type: ignore[list-item]
        self.woken: list[ObjectName] = []
        self.forgotten: list[bool] = []
        self.memory = NameMemory()
        self.memory.keep(self)
        self.admission = self.admit(self.cache)

    def admit(self, cache: Cache) -> Admission:
        """One more controller."""
        informers: Any = [cache]
        return Admission(self.work, informers, worker=self)

    def wake(self, name: ObjectName) -> None:
        self.woken.append(name)

    def share_grew(self, names: Chosen) -> None:
        """Nothing was there before."""

    def share_shrank(self) -> None:
        """Nothing ends with it."""

    def forget_names(self, gone: Chosen) -> None:
        self.forgotten = [gone(name_in(slot)) for slot in range(SLOTS)]

    def serve(self, slot: int) -> tuple[Background[None], threading.Event]:
        """The slot's Lease is ours."""
        stop, self.seconds[slot] = threading.Event(), 10.0
        return Background(lambda: self.work.serve(slot, stop)), stop

    def is_admitted(self, slot: int, admission: Admission | None = None, *, name: str = "a") -> bool:
        """Whether a name of the slot may be reconciled now; one that may not is woken when it may."""
        with suppress(SlotNotHeld, SlotOpening), (admission or self.admission).admitted(name_in(slot, name)):
            return True
        return False

    def may_write(self, slot: int) -> bool:
        """Whether a write into a namespace of the slot leaves."""
        path = f"/api/v1/namespaces/{name_in(slot).namespace}/configmaps"
        return self.work.seconds_to_write(path) > 0


@pytest.fixture
def slots() -> Slots:
    """No slot is held."""
    return Slots()


def test_names_are_admitted_in_slots_that_are_held(slots: Slots) -> None:
    """A name of another slot is dropped, in words; at the end its slot is, too, and is forgotten."""
    with pytest.raises(SlotNotHeld, match=rf"^{name_in(1)} is in slot 1, which this replica does not hold$"):
        slots.admission.admitted(name_in(1)).__enter__()
    served, stop = slots.serve(1)
    eventually(lambda: slots.is_admitted(1), "open")
    assert not slots.is_admitted(2)
    assert slots.held.slots == {1}
    stop.set()
    served.result()
    assert not slots.is_admitted(1)
    assert not slots.held.slots
    assert slots.forgotten == [False, True, False, False]


def test_a_name_that_comes_before_the_opening_waits_for_it(slots: Slots) -> None:
    """It is not dropped: its event was the only one. The opening wakes it."""
    slots.cache.has_all = False
    served, stop = slots.serve(1)
    slots.clock.wait_for_waiters(1)
    with pytest.raises(SlotOpening, match=r"^slot 1 is not open yet$"):
        slots.admission.admitted(name_in(1)).__enter__()
    assert not slots.woken
    slots.cache.has_all = True
    slots.clock.advance(0.1)
    eventually(lambda: slots.woken, "woken")
    assert slots.woken == [name_in(1)]
    assert slots.is_admitted(1)
    stop.set()
    served.result()


def test_a_stop_during_an_opening_ends_it(slots: Slots) -> None:
    """Nobody is woken, then or when the slot comes back: the list of that time tells of its objects."""
    slots.cache.has_all = False
    served, stop = slots.serve(1)
    eventually(lambda: slots.held.slots, "held")
    assert not slots.is_admitted(1)
    stop.set()
    served.result()
    assert not slots.held.slots
    slots.cache.has_all = True
    served, stop = slots.serve(1)
    # by another name: who asks before the slot is open is woken
    eventually(lambda: slots.is_admitted(1, name="b"), "open")
    assert name_in(1) not in slots.woken
    stop.set()
    served.result()


def test_a_cache_in_trouble_keeps_no_other_controller_waiting(slots: Slots) -> None:
    """Its own controller waits for it; a minute later the log says why."""
    broken = Cache()
    broken.fail()
    slots.work.informers = lambda: [slots.cache, broken]  # type: ignore[list-item]
    waits = slots.admit(broken)
    served, stop = slots.serve(1)
    eventually(lambda: slots.is_admitted(1), "open to one")
    assert not slots.is_admitted(1, waits)
    with captured_logs() as logs:
        slots.clock.advance(OPENING_SECONDS)
        eventually(lambda: logs, "told")
    assert (logs[0]["slot"], logs[0]["troubles"]) == (1, ["foos: forbidden"])
    stop.set()
    served.result()


def test_a_slot_leaves_after_its_reconciles(slots: Slots) -> None:
    """One that began in the instant before may write until its end; none begins after it."""
    served, stop = slots.serve(1)
    eventually(lambda: slots.is_admitted(1), "open")
    with slots.admission.admitted(name_in(1)):
        stop.set()
        eventually(lambda: not Background(lambda: slots.is_admitted(1)).result(), "closed")
        assert not served.has_ended()
        assert slots.held.slots == {1}
        assert slots.may_write(2), "a reconcile writes in its own slot, wherever the object is"
    served.result()


def test_a_reconcile_that_hangs_never_writes_again(slots: Slots) -> None:
    """Neither after a lost Lease, nor once the slot is back; the next one in that slot does."""
    served, stop = slots.serve(1)
    eventually(lambda: slots.is_admitted(1), "open")
    wrote, hang = list[bool](), Gate()

    def hanging() -> None:
        with slots.admission.admitted(name_in(1)):
            wrote.append(slots.may_write(1))
            hang()
            wrote.append(slots.may_write(1))

    reconcile = Background(hanging)
    hang.wait_entered()
    slots.work.lost(1)
    slots.seconds[1] = 0.0
    stop.set()
    slots.clock.wait_for_waiters(1)
    slots.clock.advance(30.0)
    with pytest.raises(StopTimeoutError, match=r"^slot 1: 1 reconciles have not ended after 30s$"):
        served.result()
    assert not slots.held.slots
    served, stop = slots.serve(1)
    eventually(lambda: slots.is_admitted(1), "open again")
    hang.open()
    reconcile.result()
    assert wrote == [True, False]
    with slots.admission.admitted(name_in(1)):
        assert slots.may_write(1)
    stop.set()
    served.result()


def test_what_waits_in_a_lost_slot_is_cancelled_alone(slots: Slots) -> None:
    """At once; a wait in another slot, or outside of a reconcile, goes on."""
    lost, kept, otherwise = slots.serve(1), slots.serve(2), threading.Event()
    eventually(lambda: slots.is_admitted(1) and slots.is_admitted(2), "open")

    def stop_in(slot: int) -> threading.Event:
        with slots.admission.admitted(name_in(slot)):
            return slots.work.stop_of_waits(otherwise)

    stops = [stop_in(1), stop_in(2), slots.work.stop_of_waits(otherwise)]
    slots.work.lost(1)
    assert [each.is_set() for each in stops] == [True, False, False]
    assert stops[2] is otherwise
    for served, stop in (lost, kept):
        stop.set()
        served.result()


@pytest.mark.parametrize("by_namespace", [True, False])
def test_outside_of_a_reconcile_the_namespace_of_the_path_decides(by_namespace: bool) -> None:
    """By UID nothing is known of a path; of a cluster-scoped object's nothing either."""
    slots = Slots(by_namespace=by_namespace)
    slots.seconds[1] = 10.0
    assert slots.may_write(1) is by_namespace
    assert not slots.may_write(2)
    assert slots.work.seconds_to_write("/api/v1/nodes/a") == 0
