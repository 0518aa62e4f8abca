"""learn/docs/walkthrough.md, steps (2) and (3): the failures when a part of the FIFO is missing."""

from __future__ import annotations

from contextlib import closing

import pytest

from handloop.apis.apps_v1 import Deployment
from handloop.informers import delta_fifo
from handloop.informers.delta_fifo import Delta, DeltaFIFO, Deltas, DeltaType, Listed, ProcessBatchFunc
from handloop.informers.indexer import Indexer
from handloop.informers.keys import DeletedFinalStateUnknown
from support.builders.deployments import deployment
from support.checks.threads import Background
from support.doubles.fake_lister_watcher import FakeSource
from support.rigs.informer_rig import InformerRig


class WithoutTombstones(DeltaFIFO[Deployment]):
    def _known_but_not_queued_locked(self) -> list[DeletedFinalStateUnknown[Deployment]]:
        return []


class ProcessesWithoutLock(DeltaFIFO[Deployment]):
    def pop_batch(
        self,
        process: ProcessBatchFunc[Deployment],
        max_keys: int = 256,
        timeout_seconds: float | None = None,
    ) -> int:
        with self._lock:
            batch = self._take_locked(max_keys)
        process(batch)
        return len(batch)


Batch = list[tuple[Deltas[Deployment], bool]]


def store_into(indexer: Indexer[Deployment]) -> ProcessBatchFunc[Deployment]:
    """What the informer does with a batch, without handlers."""

    def process(batch: Batch) -> None:
        indexer.apply([delta for deltas, _ in batch for delta in deltas])

    return process


def test_without_tombstones_a_deleted_object_stays_in_the_cache(whole: bool) -> None:
    """An object that was deleted while no watch was open is missing in the list; no event shows it."""
    indexer: Indexer[Deployment] = Indexer()
    fifo = DeltaFIFO(indexer) if whole else WithoutTombstones(indexer)
    fifo.enqueue_batch([(DeltaType.ADDED, deployment("a"))])
    fifo.pop_batch(store_into(indexer))
    fifo.replace(Listed(), "9")
    fifo.pop_batch(store_into(indexer), timeout_seconds=0)
    assert indexer.list_keys() == ([] if whole else ["default/a"])


def test_without_all_deltas_a_new_object_of_the_name_is_an_update(
    monkeypatch: pytest.MonkeyPatch, whole: bool
) -> None:
    """If only the newest delta of a key is kept, handlers never hear that the first object went."""
    told = ["delete a 2", "add a 3 late"] if whole else ["update a 1 3"]
    if not whole:
        monkeypatch.setattr(delta_fifo, "extend", only_the_newest)
    source = FakeSource(deployment("a", uid="first"))
    rig = InformerRig(source)
    handler, _ = rig.handle()
    with closing(rig):
        rig.run_watching()
        handler.wait_for(1)
        handler.clear()
        source.hold()
        source.delete("a")
        source.add(deployment("a", uid="second"))
        source.release(order=lambda events: events)
        assert handler.wait_for(len(told)) == told


def only_the_newest(deltas: Deltas[Deployment], delta: Delta[Deployment]) -> None:
    deltas[:] = [delta]


def test_without_the_lock_around_process_a_missed_deletion_is_never_found() -> None:
    """A relist between pop and store finds the object neither in line nor stored: it stays for ever."""
    indexer: Indexer[Deployment] = Indexer()
    fifo = ProcessesWithoutLock(indexer)
    fifo.enqueue_batch([(DeltaType.ADDED, deployment("a"))])

    def process(batch: Batch) -> None:
        Background(lambda: fifo.replace(Listed(), "9")).result()
        store_into(indexer)(batch)

    fifo.pop_batch(process)
    assert len(fifo) == 0
    assert indexer.list_keys() == ["default/a"]


def test_with_the_lock_around_process_a_relist_waits() -> None:
    """The same relist comes after the object is stored, and takes it out."""
    indexer: Indexer[Deployment] = Indexer()
    fifo: DeltaFIFO[Deployment] = DeltaFIFO(indexer)
    fifo.enqueue_batch([(DeltaType.ADDED, deployment("a"))])
    relists: list[Background[None]] = []

    def process(batch: Batch) -> None:
        relists.append(Background(lambda: fifo.replace(Listed(), "9")))
        store_into(indexer)(batch)

    fifo.pop_batch(process)
    relists[0].result()
    fifo.pop_batch(store_into(indexer), timeout_seconds=0)
    assert indexer.list_keys() == []
