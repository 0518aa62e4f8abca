"""
Effects of a batch of deltas on the store and on handlers.

Of upstream's tests of its controller, those that need a whole informer are in test_shared_informer.py,
those of handlers in test_handlers.py. A list is one delta per object here, so none of them is atomic.
Upstream has a test mode in which a handler ends the process. Here a handler that raises never does:
test_processor.py.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import pytest

from handloop.apis.apps_v1 import Deployment
from handloop.informers import indexer
from handloop.informers.delta_fifo import Delta, DeltaFIFO, Deltas, DeltaType, Listed
from handloop.informers.delta_processing import DeltaProcessor
from handloop.informers.history_guard import HistoryGuard
from handloop.informers.indexer import Indexer, TransactionError
from handloop.informers.keys import DeletedFinalStateUnknown, deletion_handling_meta_namespace_key_func
from handloop.informers.processor import (
    AddNotification,
    DeleteNotification,
    Notification,
    SharedProcessor,
    UpdateNotification,
)
from handloop.seams.locks import new_lock
from handloop.seams.seams import Seams
from handloop.testing.fake_clock import FakeClock
from support.builders.deployments import at_version, deployment, names
from support.checks.rows import check_rows
from support.doubles.recording_metrics import RecordingMetricsProvider

ADDED, UPDATED, DELETED = DeltaType.ADDED, DeltaType.UPDATED, DeltaType.DELETED
REPLACED, SYNC = DeltaType.REPLACED, DeltaType.SYNC


class RecordingProcessor(SharedProcessor[Deployment]):
    """Keeps distributed notifications; on_distribute runs first, as a handler that reads the store would."""

    def __init__(self) -> None:
        super().__init__(seams=Seams(clock=FakeClock(moves_itself=True)))
        self.batches: list[tuple[list[Notification[Deployment]], list[Notification[Deployment]], int]] = []
        self.on_distribute: Callable[[], None] = lambda: None

    def distribute(
        self,
        notifications: Sequence[Notification[Deployment]],
        changes: Sequence[Notification[Deployment]],
        *,
        initial: int = 0,
    ) -> None:
        self.on_distribute()
        self.batches.append((list(notifications), list(changes), initial))

    def told(self) -> list[Notification[Deployment]]:
        return [notification for batch, _, _ in self.batches for notification in batch]


def refuse_bad(obj: Deployment | DeletedFinalStateUnknown[Deployment]) -> str:
    """The store's key function, failing for some objects, so that the store refuses them."""
    if isinstance(obj, Deployment) and "bad" in obj.metadata.labels:
        raise ValueError("test error")
    return deletion_handling_meta_namespace_key_func(obj)


class Rig:
    def __init__(self) -> None:
        self.metrics = RecordingMetricsProvider()
        self.guard: HistoryGuard[Deployment] = HistoryGuard()
        self.indexer: Indexer[Deployment] = Indexer()
        self.fifo: DeltaFIFO[Deployment] = DeltaFIFO(self.indexer)
        self.processor = RecordingProcessor()
        self.deltas = DeltaProcessor(
            indexer=self.indexer,
            processor=self.processor,
            block_deltas=new_lock("block_deltas", 30),
            guard=self.guard,
            metrics=self.metrics.for_informer("deployments.apps"),
            clock=FakeClock(moves_itself=True),
        )

    def process(self, *deltas: Deltas[Deployment] | Delta[Deployment], initial: bool = False) -> None:
        """Process a batch of the deltas of several keys."""
        self.deltas.process([([one] if isinstance(one, Delta) else one, initial) for one in deltas])

    def store(self, *objects: Deployment) -> None:
        self.process(*[Delta(ADDED, obj) for obj in objects])
        self.processor.batches.clear()

    def told(self) -> list[Notification[Deployment]]:
        return self.processor.told()


@pytest.fixture
def rig(monkeypatch: pytest.MonkeyPatch) -> Rig:
    monkeypatch.setattr(indexer, deletion_handling_meta_namespace_key_func.__name__, refuse_bad)
    return Rig()


def good(name: str, rv: int = 1) -> Deployment:
    return deployment(name, rv)


def bad(name: str) -> Deployment:
    return deployment(name, 1, labels={"bad": "yes"})


@pytest.mark.parametrize(
    ("objects", "told", "text"),
    [
        ([bad("cm1")], [], r"failed to execute \(1/1\) transactions"),
        ([good("cm1"), bad("cm2")], ["cm1"], r"failed to execute \(1/2\) transactions"),
        ([good("cm1"), bad("cm2"), good("cm3")], ["cm1", "cm3"], r"failed to execute \(1/3\) transactions"),
    ],
    ids=["1 of 1", "1 of 2", "1 of 3"],
)
def test_only_stored_changes_are_delivered(
    rig: Rig, objects: list[Deployment], told: list[str], text: str
) -> None:
    """An object that the store refuses is an error; handlers get all others."""
    with pytest.raises(TransactionError, match=text):
        rig.process(*[Delta(ADDED, obj) for obj in objects])
    assert [one.new.metadata.name for one in rig.told() if isinstance(one, AddNotification)] == told
    assert names(rig.indexer.list()) == told


def replace(rig: Rig, *objects: Deployment) -> None:
    """Put a list through the FIFO."""
    listed: Listed[Deployment] = Listed()
    for obj in objects:
        listed.take(f"default/{obj.metadata.name}", obj)
    rig.fifo.replace(listed, "1")
    while len(rig.fifo):
        rig.fifo.pop_batch(rig.deltas.process)


def missed(obj: Deployment) -> DeleteNotification[Deployment]:
    """A deletion that was missed, with the last known state."""
    tombstone = DeletedFinalStateUnknown(f"default/{obj.metadata.name}", obj)
    return DeleteNotification[Deployment](tombstone)


def test_the_store_is_at_the_version_of_each_change(rig: Rig) -> None:
    """
    An update, then a deletion: the store is as after the event before the handler is called.

    Follows TestStoreResourceVersion.
    """
    replace(rig, good("pod-1", 1))
    versions = versions_when_told(rig)
    rig.fifo.enqueue_batch([(DeltaType.UPDATED, good("pod-1", 2))])
    rig.fifo.pop_batch(rig.deltas.process)
    rig.fifo.enqueue_batch([(DeltaType.DELETED, good("pod-1", 3))])
    rig.fifo.pop_batch(rig.deltas.process)
    assert versions == [["2"], []]


def versions_when_told(rig: Rig) -> list[list[str]]:
    """The versions of the stored objects, noted at each call of a handler."""
    noted: list[list[str]] = []
    rig.processor.on_distribute = lambda: noted.append(
        [obj.metadata.resource_version for obj in rig.indexer.list()]
    )
    return noted


def test_list_updates_adds_and_deletes(rig: Rig) -> None:
    """Against 1, 2, 3 the list 1', 2', 4 updates two, adds one, deletes one; the store is first."""
    replace(rig, good("pod-1", 1), good("pod-2", 2), good("pod-3", 3))
    rig.processor.batches.clear()
    stored: list[list[str]] = []
    rig.processor.on_distribute = lambda: stored.append(names(rig.indexer.list()))
    replace(rig, good("pod-1", 4), good("pod-2", 5), good("pod-4", 6))
    assert rig.told() == [
        UpdateNotification(good("pod-1", 1), good("pod-1", 4)),
        UpdateNotification(good("pod-2", 2), good("pod-2", 5)),
        AddNotification(good("pod-4", 6), False),
        missed(good("pod-3", 3)),
    ]
    assert stored == [["pod-1", "pod-2", "pod-4"]]


def test_store_decides_between_add_and_update(rig: Rig) -> None:
    """Updated on an absent key is an add, Added on a present one an update."""
    rig.process(Delta(UPDATED, good("a", 1)))
    rig.process(Delta(ADDED, good("a", 2)))
    assert rig.told() == [
        AddNotification(good("a", 1), False),
        UpdateNotification(good("a", 1), good("a", 2)),
    ]


def test_deltas_of_a_key_are_delivered_one_by_one(rig: Rig) -> None:
    """Each delta of a key is delivered against the state before it, oldest first."""
    a1, a2, a3 = good("a", 1), good("a", 2), good("a", 3)
    rig.process([Delta(ADDED, a1), Delta(UPDATED, a2), Delta(DELETED, a3), Delta(ADDED, a1)])
    assert rig.told() == [
        AddNotification(a1, False),
        UpdateNotification(a1, a2),
        DeleteNotification(a3),
        AddNotification(a1, False),
    ]


def test_initial_adds_are_marked_and_counted(rig: Rig) -> None:
    """Adds of the first list carry the mark, and the batch has their number."""
    rig.process(Delta(REPLACED, good("a")), Delta(REPLACED, good("b")), initial=True)
    assert rig.told() == [AddNotification(good("a"), True), AddNotification(good("b"), True)]
    assert rig.processor.batches[0][2] == 2


def test_delete_is_delivered_even_if_nothing_was_stored(rig: Rig) -> None:
    """The handler gets the deleted object itself, stored or not."""
    rig.process(Delta(DELETED, good("a", 9)))
    assert rig.told() == [DeleteNotification(good("a", 9))]


def test_tombstone_without_a_state_gets_the_stored_one(rig: Rig) -> None:
    """An object that became undecodable is delivered with the last state that could be read."""
    rig.store(good("a", 1))
    rig.process(Delta(DELETED, DeletedFinalStateUnknown[Deployment]("default/a", None)))
    assert rig.told() == [missed(good("a", 1))]


def test_tombstone_of_an_unknown_object_stays_without_a_state(rig: Rig) -> None:
    """Without a known state, the tombstone has none."""
    stateless = DeletedFinalStateUnknown[Deployment]("default/a", None)
    rig.process(Delta(DELETED, stateless))
    assert rig.told() == [DeleteNotification[Deployment](stateless)]


def test_unchanged_objects_are_for_syncing_listeners_only(rig: Rig) -> None:
    """An update between equal versions is among all notifications, and not among the changes."""
    rig.store(good("a", 1), good("b", 1))
    rig.process(
        Delta(REPLACED, good("a", 2)),
        Delta(REPLACED, good("b", 1)),
        Delta(SYNC, good("a", 2)),
        Delta(ADDED, good("c", 3)),
    )
    every, changes, _ = rig.processor.batches[0]
    changed = [UpdateNotification(good("a", 1), good("a", 2)), AddNotification(good("c", 3), False)]
    assert changes == changed
    assert every == [
        changed[0],
        UpdateNotification(good("b", 1), good("b", 1)),
        UpdateNotification(good("a", 2), good("a", 2)),
        changed[1],
    ]


def test_batch_is_measured(rig: Rig) -> None:
    """Each batch leaves its time and the number of stored objects, also when a part of it failed."""
    rig.process(Delta(ADDED, good("a")), Delta(ADDED, good("b")))
    assert rig.metrics.made["objects", "deployments.apps"].value == 2
    assert rig.metrics.made["processing_latency", "deployments.apps"].values == [0]
    with pytest.raises(TransactionError):
        rig.process(Delta(ADDED, bad("c")))
    assert len(rig.metrics.made["processing_latency", "deployments.apps"].values) == 2


def test_one_refused_object_does_not_stop_the_others_of_a_suspicious_server(rig: Rig) -> None:
    """With the guard awake every delta that can be stored is, and all errors are raised together."""
    rig.guard.saw_disorder()
    with pytest.raises(ExceptionGroup) as caught:
        rig.process(
            Delta(ADDED, good("a")), Delta(ADDED, bad("b")), Delta(ADDED, bad("c")), Delta(ADDED, good("d"))
        )
    assert len(caught.value.exceptions) == 2
    assert names(rig.indexer.list()) == ["a", "d"]


HISTORY = [
    Delta(ADDED, deployment("a", 11, uid="u1")),
    Delta(UPDATED, deployment("a", 12, uid="u1")),
    Delta(DELETED, deployment("a", 13, uid="u1")),
    Delta(ADDED, deployment("a", 14, uid="u2")),
    Delta(UPDATED, deployment("a", 15, uid="u2")),
]


@pytest.mark.parametrize("length", [3, 5], ids=["deleted", "made again"])
def test_any_order_of_a_history_ends_in_the_same_state(length: int) -> None:
    """Events in any order, and the first of them once more: the newest state is in the cache, or none."""
    newest = HISTORY[length - 1]

    def ends_with_the_newest(order: tuple[int, ...]) -> None:
        rig = Rig()
        rig.guard.saw_disorder()
        for number in (*order, order[0]):
            if HISTORY[number].type is DELETED:
                rig.guard.note_deleted(HISTORY[number].object)  # as the reflector does
            rig.process(HISTORY[number])
        assert rig.indexer.list() == ([] if newest.type is DELETED else [newest.object])

    check_rows(itertools.permutations(range(length)), ends_with_the_newest)


def test_list_may_go_back_in_time_even_then(rig: Rig) -> None:
    """A list is the truth, also of a rewound history."""
    rig.guard.saw_disorder()
    rig.process(Delta(ADDED, deployment("a", 20, uid="u1")))
    rig.process(Delta(REPLACED, deployment("a", 10, uid="u1")))
    assert rig.indexer.get_by_key("default/a") == at_version(deployment("a", 20, uid="u1"), 10)
