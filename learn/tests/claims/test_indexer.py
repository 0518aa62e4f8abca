"""learn/docs/walkthrough.md, steps (4) and (5): the failures when a part of the cache is missing."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from handloop.apis.meta import ObjectMeta
from handloop.controller.foo import production
from handloop.controller.foo.types import Foo
from handloop.informers.delta_fifo import Delta, Deltas, DeltaType
from handloop.informers.delta_processing import DeltaProcessor
from handloop.informers.history_guard import HistoryGuard
from handloop.informers.indexer import Indexer, StoreIndex, TransactionError
from handloop.informers.informer_metrics import InformerMetrics
from handloop.informers.processor import Notification, SharedProcessor
from handloop.seams.locks import new_lock
from support.builders.foo_builders import disowned, new_deployment, new_foo
from support.rigs.foo_rig import EXAMPLE, FooRig

INDEX = production.DEPLOYMENT_NAME_INDEX


def test_without_taking_old_values_out_an_index_finds_what_has_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A Foo is still found under the name that it no longer has, and a deleted one breaks the look-up."""
    monkeypatch.setattr(StoreIndex, "_remove", lambda *_: None)
    indexer: Indexer[Foo] = Indexer(indexers={INDEX: production._index_deployment_name})
    indexer.add(new_foo(deployment_name="before"))
    indexer.update(new_foo(deployment_name="after"))
    assert [foo.spec.deployment_name for foo in indexer.by_index(INDEX, "default/before")] == ["after"]
    indexer.delete(new_foo(deployment_name="after"))
    with pytest.raises(KeyError):
        indexer.by_index(INDEX, "default/after")


def test_without_the_index_a_foo_whose_name_becomes_free_sleeps_on(
    monkeypatch: pytest.MonkeyPatch, whole: bool
) -> None:
    """A foreign Deployment goes: only the index knows which Foo has waited for its name."""
    if not whole:
        monkeypatch.setattr(production, "_index_deployment_name", lambda _foo: ())
    foo = new_foo()
    foreign = disowned(new_deployment(foo))
    with FooRig(foo, foreign) as rig:
        rig.deployments.handlers[0].on_delete(foreign)
        assert rig.queued() == ([EXAMPLE] if whole else [])


class DispatchesFirst(DeltaProcessor[Foo]):
    def _apply(self, batch: list[tuple[Deltas[Foo], bool]]) -> list[TransactionError[Foo]]:
        self._distribute(batch, [None for deltas, _ in batch for _ in deltas], {})
        self._indexer.apply([delta for deltas, _ in batch for delta in deltas])
        return []


class WorksAtOnce(SharedProcessor[Foo]):
    """Stands for a handler and a worker that are faster than the informer's thread."""

    def __init__(self, rig: FooRig) -> None:
        super().__init__()
        self._rig = rig

    def distribute(
        self,
        notifications: Sequence[Notification[Foo]],
        changes: Sequence[Notification[Foo]],
        *,
        initial: int = 0,
    ) -> None:
        self._rig.work()


def test_without_store_before_dispatch_a_worker_finds_no_foo(whole: bool) -> None:
    """If handlers hear of a Foo before it is stored, a fast worker takes it for deleted, and is content."""
    with FooRig() as rig:
        rig.api.put(new_foo())
        deltas = (DeltaProcessor if whole else DispatchesFirst)(
            indexer=rig.foos.indexer,
            processor=WorksAtOnce(rig),
            block_deltas=new_lock("block_deltas", 30),
            guard=HistoryGuard(),
            metrics=InformerMetrics(),
            clock=rig.clock,
        )
        deltas.process([([Delta(DeltaType.ADDED, rig.foo())], False)])
        assert rig.writes == (
            [("POST", "deployments"), ("PATCH", "foos/example-foo/status")] if whole else []
        )
        assert rig.controller.outcomes.statistics().failed == 0
        assert sum(rig.queue.statistics()) == 0


class Memo(msgspec.Struct):
    """An object that can be changed."""

    metadata: ObjectMeta
    text: str


def test_without_frozen_objects_one_reader_changes_the_cache_for_all() -> None:
    """The cache hands out its own object: a worker's change of it never came from the server."""
    memos: Indexer[Memo] = Indexer()
    memos.add(Memo(ObjectMeta(name="a"), "as the server has it"))
    memos.list()[0].text = "changed in passing"
    assert memos.list()[0].text == "changed in passing"
    foos: Indexer[Foo] = Indexer()
    foos.add(new_foo())
    with pytest.raises(AttributeError, match="immutable"):
        foos.list()[0].spec.replicas = 7  # type: ignore[misc] # the point
