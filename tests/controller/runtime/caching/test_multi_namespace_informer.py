"""The informers of one kind, seen as one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from handloop.apis.apps_v1 import Deployment
from handloop.client.decoding.pages import Undecodable
from handloop.controller.runtime.caching.multi_namespace_informer import MultiNamespaceInformer
from handloop.controller.runtime.reconcile import WaitError
from handloop.informers.indexer import NAMESPACE_INDEX, namespace_index_func
from handloop.informers.keys import ObjectName
from handloop.informers.lister import NamespaceNotWatched
from support.builders.deployments import deployment
from support.checks.api_errors import api_error
from support.checks.threads import Background
from support.doubles.fake_lister_watcher import FakeSource
from support.rigs.informer_rig import InformerRig


@contextmanager
def running(**sources: FakeSource) -> Iterator[tuple[MultiNamespaceInformer[Deployment], list[InformerRig]]]:
    """A kind with one informer per namespace, each on its own source."""
    rigs = [
        InformerRig(source, indexers={NAMESPACE_INDEX: namespace_index_func}, name_suffix=f"@{namespace}")
        for namespace, source in sources.items()
    ]
    parts = {namespace: rig.informer for namespace, rig in zip(sources, rigs, strict=True)}
    try:
        yield MultiNamespaceInformer(Deployment, parts), rigs
    finally:
        for rig in rigs:
            rig.close()


def two() -> dict[str, FakeSource]:
    """Two namespaces with an object each, of one name."""
    return {
        namespace: FakeSource(
            deployment("a", namespace=namespace), deployment(f"in-{namespace}", namespace=namespace)
        )
        for namespace in ("one", "two")
    }


def test_several_namespaces_are_read_as_one() -> None:
    """The lister finds the objects of each, and keeps their namespaces apart."""
    with running(**two()) as (kind, rigs):
        for rig in rigs:
            rig.run_synced()
        assert len(kind.list()) == len(list(kind)) == 4
        assert "one/a" in kind
        assert [obj.metadata.name for obj in kind.list(namespace="two")] != []
        assert kind.get("in-two", namespace="one") is None
        assert kind.get_by_key("two/in-two") is not None
        assert kind.get_by_key("three/a") is None
        assert kind.get(ObjectName("two", "in-two")) is kind.get_by_key("two/in-two")


@pytest.mark.parametrize("watched", [("one",), ("one", "two")])
def test_a_namespace_that_is_not_watched_is_an_error_of_its_own(watched: tuple[str, ...]) -> None:
    """For the informer and its lister alike, and with a single namespace, too: it is not gone."""
    sources = {namespace: source for namespace, source in two().items() if namespace in watched}
    with running(**sources) as (kind, rigs):
        for rig in rigs:
            rig.run_synced()
        assert kind.get(ObjectName("one", "missing")) is None
        with pytest.raises(NamespaceNotWatched, match='namespace "three" is not watched'):
            kind.get(ObjectName("three", "a"))
        with pytest.raises(NamespaceNotWatched):
            kind.list(namespace="three")


def test_it_has_synced_when_every_part_has() -> None:
    """Until then it names the missing one, and the server's message."""
    refusing = FakeSource()
    refusing.lists.append(api_error(500, "InternalError", "no storage"))
    with running(**two(), three=refusing) as (kind, rigs):
        for rig in rigs[:2]:
            rig.run_synced()
        assert not kind.has_synced()
        assert kind.troubles() == ["deployments.apps@three: no complete list yet"]
        rigs[2].run()
        rigs[2].until_pausing()
        (trouble,) = kind.troubles()
        assert trouble.startswith("deployments.apps@three: ")
        assert "no storage" in trouble
        rigs[2].clock.advance(60)
        rigs[2].until(kind.has_synced)
        assert kind.troubles() == []


def test_one_handler_hears_of_all_namespaces() -> None:
    """It has synced when it has got every first list."""
    with running(**two()) as (kind, rigs):
        told: list[str] = []

        class Handler:
            def on_add(self, obj: Deployment, is_in_initial_list: bool) -> None:
                told.append(obj.metadata.namespace)

            def on_update(self, old: Deployment, new: Deployment) -> None:
                raise AssertionError

            def on_delete(self, obj: object) -> None:
                raise AssertionError

        registration = kind.add_event_handler(Handler())
        assert not registration.has_synced()
        for rig in rigs:
            rig.run_synced()
        rigs[0].until(registration.has_synced)
        assert sorted(told) == ["one", "one", "two", "two"]


def test_an_index_is_added_to_every_store() -> None:
    """And looked up in all of them."""
    with running(**two()) as (kind, rigs):
        kind.add_indexers({"name": lambda obj: (obj.metadata.name,)})
        for rig in rigs:
            rig.run_synced()
        found = kind.indexer.by_index("name", "a")
        assert sorted(obj.metadata.namespace for obj in found) == ["one", "two"]


def test_what_has_been_seen_is_asked_of_the_right_namespace() -> None:
    """A version that the informer has not heard of has not been seen; a namespace not watched is no news."""
    with running(**two()) as (kind, rigs):
        assert not kind.has_seen("one", "1")
        rigs[0].run_synced()
        rigs[0].until_watching()
        version = rigs[0].informer.last_sync_resource_version()
        assert kind.has_seen("one", version)
        assert not kind.has_seen("one", str(int(version) + 1))
        assert not kind.has_seen("two", version)
        assert kind.has_seen("elsewhere", "999")


def test_an_informer_of_all_namespaces_answers_for_each() -> None:
    """The part called "" stands for every namespace."""
    with running(**{"": FakeSource(deployment("a"))}) as (kind, rigs):
        rigs[0].run_synced()
        rigs[0].until(lambda: kind.has_seen("any", "1"))
        assert kind.indexer is rigs[0].informer.indexer


def test_undecodable_objects_of_every_namespace_are_reported() -> None:
    """The callback is with each part."""
    with running(**two()) as (kind, rigs):
        kind.on_undecodable(lambda _undecodable: None)
        assert [len(rig.informer.quarantine._callbacks) for rig in rigs] == [1, 1]


def test_a_callback_for_a_misfit_may_add_handlers_and_indexes() -> None:
    """No lock is held while it runs: those who read and register go on."""
    source = FakeSource(deployment("a", namespace="one"))
    with running(one=source) as (kind, rigs):
        rigs[0].run_synced()
        rigs[0].informer.quarantine.add(Undecodable("one", "odd", "1", b"{}", "does not fit"))
        called: list[str] = []

        def callback(undecodable: Undecodable) -> None:
            other = Background(lambda: kind.add_indexers({"late": lambda _obj: []}))
            other.result()
            called.append(undecodable.key_name)

        kind.on_undecodable(callback)
        assert called == ["odd"]
        assert kind.by_index("late", "x") == []


def test_an_object_that_does_not_fit_its_type_is_not_taken_for_gone() -> None:
    """None means that there is no such object, and a reconcile would clean up after it."""
    with running(one=FakeSource()) as (kind, rigs):
        rigs[0].run_synced()
        rigs[0].informer.quarantine.add(Undecodable("one", "odd", "1", b"{}", "does not fit"))
        for name in ("one/odd", ObjectName("one", "odd")):
            with pytest.raises(WaitError, match="Deployment one/odd does not fit its type"):
                kind.get(name)
        assert (kind.get("one/other"), kind.held(ObjectName("one", "odd"))) == (None, None)
