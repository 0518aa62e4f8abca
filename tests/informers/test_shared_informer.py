"""
Informers that run, on a fake source and a fake clock.

INF scenarios that have no test in this form, and why:

    INF-04, INF-32  test_processor.py
    INF-21, INF-22, INF-25, INF-34    test_processor.py; the informer's side of INF-21 is here
    INF-14, INF-24  test_shared_informer_interleaving.py
    INF-26, INF-27  none; see test_sync.py
    INF-28          test_processor.py
    INF-29          none: nothing here is computed lazily
    INF-35          test_handlers.py
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import msgspec
import pytest
from structlog.testing import capture_logs

from handloop.apis.apps_v1 import Deployment
from handloop.apis.evolve import evolve
from handloop.apis.meta import Kind
from handloop.client.decoding.pages import ListPage, Undecodable
from handloop.client.decoding.watch_stream import EventType, WatchEvent
from handloop.client.options import ListOptions
from handloop.informers import indexer, shared_informer
from handloop.informers.handlers import ResourceEventHandlerFuncs
from handloop.informers.informer_errors import InformerStopped, MutableKind
from handloop.informers.keys import NoMetaError, deletion_handling_meta_namespace_key_func
from handloop.informers.shared_informer import (
    SharedIndexInformer,
)
from handloop.seams.seams import Seams
from support.builders.deployments import added, at_version, deployment, names
from support.checks.api_errors import api_error
from support.checks.threads import Background
from support.doubles.fake_lister_watcher import FakeListerWatcher, FakeSource, FakeWatch, expired, page
from support.doubles.recording_handler import Gate, RecordingHandler
from support.doubles.unspeakable import UNSPEAKABLE
from support.rigs.informer_rig import InformerRig

MakeRig = Callable[..., InformerRig]


@pytest.fixture
def make_rig() -> Iterator[MakeRig]:
    """Informers that are stopped at the end of the test."""
    rigs: list[InformerRig] = []

    def make(source: FakeListerWatcher | None = None, **options: Any) -> InformerRig:
        rig = InformerRig(source or FakeSource(deployment("pod1"), deployment("pod2")), **options)
        rigs.append(rig)
        return rig

    yield make
    for rig in rigs:
        rig.close()


@pytest.fixture
def rig(make_rig: MakeRig) -> InformerRig:
    """An informer of two Deployments."""
    return make_rig()


def source_of(rig: InformerRig) -> FakeSource:
    assert isinstance(rig.source, FakeSource)
    return rig.source


def by_app(obj: Deployment) -> list[str]:
    return [obj.metadata.labels["app"]] if "app" in obj.metadata.labels else []


def web(name: str) -> Deployment:
    return deployment(name, labels={"app": "web"})


# -- from the server to the handlers


def test_change_between_list_and_watch_is_seen(make_rig: MakeRig) -> None:
    """An event between the list and the opening of the watch comes over the watch."""
    source = FakeSource(deployment("a"), deployment("b"))

    def answer(options: ListOptions) -> ListPage[Deployment]:
        before = source.unscripted_list(options)
        source.modify(deployment("a"))
        source.delete("b")
        source.add(deployment("c"))
        return before

    source.lists.append(answer)
    rig = make_rig(source)
    handler, _ = rig.handle()
    rig.run()
    handler.wait_for(5)
    assert {o.metadata.name: o for o in rig.informer.indexer.list()} == source.objects()


def shout(obj: Deployment) -> Deployment:
    """A transform that leaves the names alone: labels only."""
    labels = msgspec.structs.replace(obj.metadata, annotations=type(obj.metadata.labels)({"loud": "yes"}))
    return msgspec.structs.replace(obj, metadata=labels)


def is_loud(obj: Deployment) -> bool:
    return obj.metadata.annotations.get("loud") == "yes"


def test_store_and_handlers_see_transformed_objects(make_rig: MakeRig) -> None:
    """The first list, and adds, updates and deletes after it."""
    loud: list[bool] = []
    noting = ResourceEventHandlerFuncs[Deployment](
        add_func=lambda obj: loud.append(is_loud(obj)),
        update_func=lambda old, new: loud.extend([is_loud(old), is_loud(new)]),
        delete_func=lambda obj: loud.append(isinstance(obj, Deployment) and is_loud(obj)),
    )
    rig = make_rig(FakeSource(deployment("a")), transform=shout)
    rig.informer.add_event_handler(noting)
    rig.run_watching()
    source_of(rig).add(deployment("b"))
    source_of(rig).modify(deployment("b"))
    rig.until(lambda: len(loud) == 4)
    assert all(is_loud(obj) for obj in rig.informer.indexer.list())
    source_of(rig).delete("a")
    rig.until(lambda: len(loud) == 5)
    assert loud == [True] * 5


@pytest.mark.parametrize("supports_watch_list", [False, True], ids=["pages", "stream"])
def test_transform_runs_once_per_object(make_rig: MakeRig, supports_watch_list: bool) -> None:
    """2 initial objects and 1 more make 3 calls (there 5: a streamed list passes it twice)."""
    calls: list[str] = []

    def count(obj: Deployment) -> Deployment:
        calls.append(obj.metadata.name)
        return shout(obj)

    rig = make_rig(
        FakeSource(deployment("a"), deployment("b"), supports_watch_list=supports_watch_list), transform=count
    )
    handler, _ = rig.handle()
    rig.run_watching()
    source_of(rig).add(deployment("c"))
    handler.wait_for(3)
    assert calls == ["a", "b", "c"]


@pytest.mark.parametrize("supports_watch_list", [False, True], ids=["pages", "stream"])
@pytest.mark.parametrize(
    "error",
    [ValueError("odd"), SystemExit(3), *UNSPEAKABLE],
    ids=lambda error: type(error).__name__,
)
def test_an_object_on_which_a_transform_fails_is_kept_whole(
    make_rig: MakeRig, supports_watch_list: bool, error: BaseException
) -> None:
    """In a list and in a watch: a text of one tenant ends no list of all others, and hides no change."""

    def refuse(obj: Deployment) -> Deployment:
        if obj.metadata.name.startswith("bad"):
            raise error
        return evolve(obj, "metadata.labels", {"passed": "yes"})

    source = FakeSource(deployment("a"), deployment("bad"), supports_watch_list=supports_watch_list)
    rig = make_rig(source, transform=refuse)
    handler, _ = rig.handle()
    with capture_logs() as logs:
        rig.run_watching()
        source.add(deployment("bad2"))
        source.add(deployment("b"))
        handler.wait_for(4)
    assert handler.names("add") == ["a", "b", "bad", "bad2"]
    whole = [obj.metadata.name for obj in rig.informer.indexer.list() if not obj.metadata.labels]
    assert sorted(whole) == ["bad", "bad2"]
    told = [line["key"] for line in logs if line["event"].startswith("Transform failed")]
    assert told == ["default/bad", "default/bad2"]


@pytest.mark.parametrize("supports_watch_list", [False, True], ids=["pages", "stream"])
@pytest.mark.parametrize(
    "result", [None, deployment("other")], ids=["a forgotten return", "an object of another name"]
)
def test_what_a_transform_must_not_return_is_not_stored(
    make_rig: MakeRig, supports_watch_list: bool, result: Any
) -> None:
    """The object is kept whole. Otherwise a cache that lacks it would be taken for filled."""
    source = FakeSource(deployment("a"), deployment("bad"), supports_watch_list=supports_watch_list)
    rig = make_rig(source, transform=lambda obj: result if obj.metadata.name.startswith("bad") else obj)
    handler, _ = rig.handle()
    with capture_logs() as logs:
        rig.run_watching()
        source.add(deployment("bad2"))
        handler.wait_for(3)
    assert handler.names("add") == names(rig.informer.indexer.list()) == ["a", "bad", "bad2"]
    told = [line["key"] for line in logs if line["event"].startswith("Transform failed")]
    assert told == ["default/bad", "default/bad2"]


@pytest.fixture
def _store_refuses_bad(monkeypatch: pytest.MonkeyPatch) -> None:
    key_func = deletion_handling_meta_namespace_key_func

    def refuse(obj: Any) -> str:
        if key_func(obj) == "default/bad":
            raise NoMetaError(obj)
        return key_func(obj)

    monkeypatch.setattr(indexer, "deletion_handling_meta_namespace_key_func", refuse)


@pytest.mark.usefixtures("_store_refuses_bad")
def test_an_object_that_cannot_be_taken_is_passed_over(make_rig: MakeRig) -> None:
    """The error is logged once, as the object is not tried again; the next one is processed."""
    rig = make_rig(FakeSource(deployment("a")))
    handler, _ = rig.handle()
    rig.run_watching()
    with capture_logs() as logs:
        source_of(rig).add(deployment("bad"))
        source_of(rig).add(deployment("good"))
        handler.wait_for(2)
        for _ in range(3):
            rig.pass_time(1)
    assert handler.names("add") == names(rig.informer.indexer.list()) == ["a", "good"]
    assert ["object has no meta" in entry["err"] for entry in logs] == [True]


@pytest.mark.usefixtures("_store_refuses_bad")
@pytest.mark.parametrize("supports_watch_list", [False, True], ids=["pages", "stream"])
def test_object_that_the_store_refuses_does_not_stop_a_list(
    make_rig: MakeRig, supports_watch_list: bool
) -> None:
    """It is refused alone; the others of its list are taken."""
    rig = make_rig(FakeSource(deployment("a"), deployment("bad"), supports_watch_list=supports_watch_list))
    with capture_logs() as logs:
        rig.run_synced()
        # refusals are raised once all have been tried
        rig.until(lambda: bool(logs))
    assert names(rig.informer.indexer.list()) == ["a"]
    assert ["object has no meta" in entry["err"] for entry in logs] == [True]


@pytest.mark.parametrize("supports_watch_list", [False, True], ids=["pages", "stream"])
def test_object_on_which_an_index_function_fails_is_mirrored(
    make_rig: MakeRig, supports_watch_list: bool
) -> None:
    """It is stored and handlers get it, listed or new, changed or deleted; one line and a count."""
    source = FakeSource(deployment("a"), web("b"), supports_watch_list=supports_watch_list)
    rig = make_rig(source, indexers={"app": lambda obj: [obj.metadata.labels["app"]]})
    handler, _ = rig.handle()
    with capture_logs() as logs:
        rig.run_watching()
        source.modify(web("a"))
        source.modify(deployment("b"))
        handler.wait_for(4)
        source.add(deployment("c"))
        source.delete("c")
        lines = handler.wait_for(6)
    assert sorted(lines[:2]) == ["add a 1 initial", "add b 1 initial"]
    assert lines[2:] == ["update a 1 2", "update b 1 3", "add c 4 late", "delete c 5"]
    assert names(rig.informer.indexer.list()) == ["a", "b"]
    assert names(rig.informer.indexer.by_index("app", "web")) == ["a"]
    assert rig.informer.statistics().unindexed == 1
    assert [(entry["index"], entry["key"], entry["err"]) for entry in logs] == [
        ("app", f"default/{name}", "KeyError('app')") for name in "abc"
    ]


def test_object_that_no_longer_fits_leaves_the_store(rig: InformerRig) -> None:
    """It is gone from the cache with its last state, is reported, and comes back when it fits."""
    handler, _ = rig.handle()
    told: list[Undecodable] = []
    rig.informer.on_undecodable(told.append)
    rig.run_watching()
    broken = Undecodable("default", "pod1", "2", b"{}", "does not fit")
    (watch,) = source_of(rig).open_watches()
    with capture_logs():
        watch.send(WatchEvent(EventType.MODIFIED, broken))
        handler.wait_for("delete default/pod1 gone")
        assert names(rig.informer.indexer.list()) == ["pod2"]
        assert rig.informer.quarantine.is_quarantined("default/pod1")
        assert rig.informer.statistics().quarantined == 1
        watch.send(WatchEvent(EventType.MODIFIED, deployment("pod1", 3)))
        handler.wait_for("add pod1 3 late")
    rig.until(lambda: rig.informer.statistics().quarantined == 0)
    assert told == [broken]


def test_object_that_does_not_fit_in_a_list_is_no_obstacle(make_rig: MakeRig) -> None:
    """The others are stored; the next list does not delete it twice nor report it again."""
    broken = Undecodable("default", "pod1", "2", b"{}", "does not fit")
    lists = [
        page(deployment("pod1"), deployment("pod2"), rv=1),
        ListPage([deployment("pod2")], "2", None, None, (broken,)),
        ListPage([deployment("pod2")], "3", None, None, (broken,)),
    ]
    expiring = WatchEvent[Deployment](EventType.ERROR, expired())
    watch: FakeWatch[Deployment] = FakeWatch()
    source = FakeListerWatcher(lists=lists, watches=[FakeWatch([expiring]), FakeWatch([expiring]), watch])
    rig = make_rig(source)
    handler, _ = rig.handle()
    told: list[Undecodable] = []
    rig.informer.on_undecodable(told.append)
    with capture_logs():
        rig.run()
        for rv in ("2", "3"):
            rig.until_pausing()
            rig.clock.advance(30)
            rig.until(lambda rv=rv: rig.informer.last_sync_resource_version() == rv)  # type: ignore[misc]
        rig.until_watching()
        watch.send(added(deployment("last", 4)))
        lines = handler.wait_for("add last 4 late")
    assert [line for line in lines if line.startswith("delete")] == ["delete default/pod1 gone"]
    assert len(told) == 1


@pytest.mark.parametrize("seed", range(20))
def test_events_out_of_order_end_in_the_newest_state(make_rig: MakeRig, seed: int) -> None:
    """Whatever the order of a block, and with one event twice, the cache ends as the source is."""
    chance = random.Random(seed)
    source = FakeSource()
    rig = make_rig(source)
    rig.run_watching()
    source.hold()
    for name in ("a", "b"):
        source.add(deployment(name, uid=f"first-{name}"))
        source.modify(deployment(name, uid=f"first-{name}"))
    source.delete("a")
    source.add(deployment("a", uid="second-a"))
    source.delete("b")

    def shuffle(events: list[WatchEvent[Deployment]]) -> list[WatchEvent[Deployment]]:
        shuffled = [*events, chance.choice(events)]
        chance.shuffle(shuffled)
        return shuffled

    with capture_logs():
        source.release(order=shuffle)
        source.add(deployment("last"))
        rig.until(lambda: rig.informer.indexer.get_by_key("default/last") is not None)
    assert {o.metadata.name: o for o in rig.informer.indexer.list()} == source.objects()


# -- indexes, synced, started, stopped


def test_indexes_before_and_after_the_start(make_rig: MakeRig) -> None:
    """An index works from the first object on; one added while running is complete at once."""
    rig = make_rig(FakeSource(web("a"), deployment("b")), indexers={"app": by_app})
    handler, _ = rig.handle()
    rig.run_watching()
    assert names(rig.informer.indexer.by_index("app", "web")) == ["a"]
    source_of(rig).add(web("c"))
    handler.wait_for(3)
    assert names(rig.informer.indexer.by_index("app", "web")) == ["a", "c"]
    rig.informer.add_indexers({"name": lambda obj: [obj.metadata.name]})
    assert names(rig.informer.indexer.by_index("name", "b")) == ["b"]


def test_index_cannot_be_added_after_the_stop(rig: InformerRig) -> None:
    """A stopped informer takes nothing more."""
    rig.run_synced()
    rig.close()
    with pytest.raises(InformerStopped, match="indexer was not added because it has stopped already"):
        rig.informer.add_indexers({"app": by_app})


def test_states_of_an_informer(rig: InformerRig) -> None:
    """Before run neither started nor stopped; running started; after the stop both."""
    states = []

    def note() -> None:
        states.append((rig.informer.statistics().started, rig.informer.statistics().stopped))

    note()
    assert rig.informer.last_sync_resource_version() == ""
    rig.run_synced()
    note()
    rig.close()
    note()
    assert states == [(False, False), (True, False), (True, True)]
    assert rig.informer.has_synced()


def test_informer_that_is_stopped_before_it_synced_never_syncs(make_rig: MakeRig) -> None:
    """Has_synced stays false for ever."""
    rig = make_rig(FakeListerWatcher(lists=[api_error(403, "Forbidden")]))
    with capture_logs():
        rig.run()
        rig.until_pausing()
        rig.close()
    assert not rig.informer.has_synced()


def test_informer_runs_once(rig: InformerRig) -> None:
    """A second run returns at once with a warning, while it runs and after it has stopped."""
    rig.run_synced()
    with capture_logs() as logs:
        rig.informer.run(threading.Event())
        rig.close()
        rig.informer.run(threading.Event())
    assert [entry["log_level"] for entry in logs] == ["warning", "warning"]


def test_stop_event_ends_the_informer_within_a_second(rig: InformerRig) -> None:
    """Setting the event given to run is enough: the loop looks at it once a second."""
    rig.run_synced()
    rig.until(rig._loop_waits)
    rig.stop.set()
    rig.clock.advance(1)
    rig.until(lambda: rig.informer.statistics().stopped)


def test_informer_stopped_before_run_ends_at_once(rig: InformerRig) -> None:
    """A stop that comes first is not lost."""
    rig.informer.stop()
    rig.run()
    rig.until(lambda: rig.informer.statistics().stopped)


def test_stopped_stop_event_ends_run_at_once(rig: InformerRig) -> None:
    """Run with an event that is already set starts and ends."""
    rig.stop.set()
    rig.informer.run(rig.stop)
    assert (rig.informer.statistics().started, rig.informer.statistics().stopped) == (True, True)


@pytest.mark.parametrize(("is_stop", "level"), [(True, "warning"), (False, "debug")])
def test_reflector_that_hangs_in_a_list_is_left_behind(
    make_rig: MakeRig, monkeypatch: pytest.MonkeyPatch, is_stop: bool, level: str
) -> None:
    """A list request cannot be cut short: its result is dropped. While all goes on, that is no news."""
    listing, go_on = threading.Event(), threading.Event()

    def hang(_: ListOptions) -> ListPage[Deployment]:
        listing.set()
        assert go_on.wait(30)
        return page(deployment("late"))

    monkeypatch.setattr(shared_informer, "REFLECTOR_GRACE_SECONDS", 0.01)
    rig = make_rig(FakeListerWatcher(lists=[hang]))
    with capture_logs() as logs:
        rig.run()
        assert listing.wait(30)
        if not is_stop:
            rig.informer.stop()
            rig.until(lambda: rig.informer.statistics().stopped)
        rig.close()
    assert [entry["log_level"] for entry in logs] == [level]
    go_on.set()
    assert rig.informer.indexer.list() == []


# -- handlers


def test_late_handler_gets_what_is_stored_as_initial(rig: InformerRig) -> None:
    """Long after the sync, the adds of its snapshot carry the initial mark."""
    first, _ = rig.handle()
    rig.run_watching()
    source_of(rig).add(deployment("pod3"))
    first.wait_for(3)
    late, _ = rig.handle()
    assert sorted(late.wait_for(3)) == ["add pod1 1 initial", "add pod2 1 initial", "add pod3 2 initial"]


def test_handler_is_not_added_to_a_stopped_informer(rig: InformerRig) -> None:
    """The error has the reason, and names the handler."""
    rig.run_synced()
    rig.close()
    with pytest.raises(
        InformerStopped,
        match="RecordingHandler was not added to shared informer because it has stopped already",
    ):
        rig.handle()


def test_removed_handlers_get_nothing_more(rig: InformerRig) -> None:
    """Two handlers, remove the second, then the first: 2, 1, 0 listeners."""
    first, first_registration = rig.handle()
    second, second_registration = rig.handle()
    rig.run_watching()
    second.wait_for(2)
    counts = [len(rig.informer.statistics().listeners)]
    rig.informer.remove_event_handler(second_registration)
    counts.append(len(rig.informer.statistics().listeners))
    source_of(rig).add(deployment("pod3"))
    first.wait_for(3)
    rig.informer.remove_event_handler(first_registration)
    counts.append(len(rig.informer.statistics().listeners))
    assert counts == [2, 1, 0]
    assert len(second.seen()) == 2


def test_foreign_and_removed_registrations_are_ignored(make_rig: MakeRig) -> None:
    """No error, and nothing changes."""
    rig, other = make_rig(), make_rig()
    _, registration = rig.handle()
    rig.run_synced()
    other.informer.remove_event_handler(registration)
    Background(lambda: other.informer.shut_down_event_handler(registration)).result()
    assert len(rig.informer.statistics().listeners) == 1
    rig.informer.remove_event_handler(registration)
    rig.informer.remove_event_handler(registration)
    assert rig.informer.statistics().listeners == ()


def test_what_is_no_registration_is_an_error(rig: InformerRig) -> None:
    """The wrong kind of object."""
    with pytest.raises(TypeError, match="invalid registration"):
        rig.informer.remove_event_handler("handler")  # type: ignore[arg-type] # the point of the test


def test_same_handler_may_be_added_twice(make_rig: MakeRig) -> None:
    """Two registrations, each gets everything; removing one keeps the other."""
    rig = make_rig(FakeSource(deployment("a")))
    handler = RecordingHandler()
    first = rig.informer.add_event_handler(handler)
    rig.informer.add_event_handler(handler)
    rig.run_watching()
    handler.wait_for(2)
    rig.informer.remove_event_handler(first)
    source_of(rig).add(deployment("b"))
    handler.wait_for("add b 2 late")
    source_of(rig).add(deployment("c"))
    assert handler.wait_for("add c 3 late").count("add b 2 late") == 1


def test_handler_may_be_removed_after_the_stop(rig: InformerRig) -> None:
    """No error."""
    _, registration = rig.handle()
    rig.run_synced()
    rig.close()
    rig.informer.remove_event_handler(registration)
    rig.informer.shut_down_event_handler(registration)


def test_registration_knows_when_its_handler_is_up_to_date(rig: InformerRig) -> None:
    """False before run, true after; a late one only when its adds have returned."""
    _, registration = rig.handle()
    assert not registration.has_synced()
    rig.run_synced()
    rig.until(registration.has_synced)
    gate = Gate()
    late, late_registration = rig.handle(gate)
    gate.wait()
    assert not late_registration.has_synced()
    assert [listener.synced for listener in rig.informer.statistics().listeners] == [True, False]
    gate.open()
    late.wait_for(2)
    rig.until(late_registration.has_synced)


def test_handler_that_fails_does_not_keep_the_informer_from_syncing(make_rig: MakeRig) -> None:
    """The informer is synced, and so is the registration: its adds were delivered, and failed."""

    def fail(_line: str) -> None:
        raise RuntimeError("test panic")

    rig = make_rig()
    _, registration = rig.handle(fail)
    with capture_logs():
        rig.run_synced()
        rig.until(lambda: rig.informer.statistics().listeners[0].panics == 2)
        rig.until(registration.has_synced)
        rig.close()
    assert rig.metrics.made["handler_panics", "deployments.apps"].value == 2


def test_removal_does_not_wait_for_a_running_call(make_rig: MakeRig) -> None:
    """Remove returns while the handler is blocked; the call ends later."""
    rig = make_rig(FakeSource(deployment("a")))
    gate = Gate()
    handler, registration = rig.handle(gate)
    rig.run_synced()
    gate.wait()
    rig.informer.remove_event_handler(registration)
    assert handler.seen() == []
    gate.open()
    handler.wait_for(1)


def test_shutting_down_a_handler_that_never_ran_returns_at_once(rig: InformerRig) -> None:
    """Added before the start, or after it, or never started at all."""
    _, before = rig.handle()
    rig.informer.shut_down_event_handler(before)
    rig.run_synced()
    _, after = rig.handle()
    rig.informer.shut_down_event_handler(after)
    assert rig.informer.statistics().listeners == ()


def test_handler_cannot_wait_for_its_own_end(make_rig: MakeRig) -> None:
    """It would wait for itself for ever, so it raises."""
    rig = make_rig(FakeSource(deployment("a")))
    errors: list[RuntimeError] = []

    def end_itself(_line: str) -> None:
        try:
            rig.informer.shut_down_event_handler(registration)
        except RuntimeError as error:
            errors.append(error)

    handler, registration = rig.handle(end_itself)
    rig.run_synced()
    handler.wait_for(1)
    assert "its own end" in str(errors[0])


# -- resyncs


@pytest.mark.parametrize("older", [0, 1])
def test_resyncs_go_to_those_who_are_due(make_rig: MakeRig, older: int) -> None:
    """
    Check 1 s, handlers 0, 2, 3 s: at 2 s only the second, at 3 s only the third.

    INF-03: handlers that are a second older than the informer are due at the same times.
    """
    rig = make_rig(resync_seconds=1)
    handlers = [rig.handle(resync_seconds=period)[0] for period in (0, 2, 3)]
    rig.clock.advance(older)
    rig.run_watching()
    for handler in handlers:
        assert sorted(handler.wait_for(2)) == ["add pod1 1 initial", "add pod2 1 initial"]
        handler.clear()
    for _ in range(1 - older):
        rig.pass_time(1)
        assert [handler.seen() for handler in handlers] == [[], [], []]
    resynced = ["update pod1 1 1", "update pod2 1 1"]
    rig.pass_time(1)
    assert sorted(handlers[1].wait_for(2)) == resynced
    assert (handlers[0].seen(), handlers[2].seen()) == ([], [])
    rig.pass_time(1)
    assert sorted(handlers[2].wait_for(2)) == resynced
    assert (handlers[0].seen(), len(handlers[1].seen())) == ([], 2)


def test_a_resync_repairs_no_missed_event(make_rig: MakeRig) -> None:
    """It repeats the cache, also an object whose deletion no watch has shown."""
    source = FakeSource(deployment("stays"), deployment("goes"))
    rig = make_rig(source, resync_seconds=1)
    handler, _ = rig.handle()
    rig.run_watching()
    handler.wait_for(2)
    handler.clear()
    with source.unseen():
        source.delete("goes")
    rig.pass_time(1)
    assert sorted(handler.wait_for(2)) == ["update goes 1 1", "update stays 1 1"]


def test_list_after_a_loss_is_a_resync_for_those_who_are_due(make_rig: MakeRig) -> None:
    """A changed and a new pod go to both, an unchanged one only to the handler that resyncs."""
    source = FakeSource(deployment("pod1"), deployment("pod2"))
    rig = make_rig(source, resync_seconds=1)
    plain, _ = rig.handle(resync_seconds=0)
    resyncing, _ = rig.handle(resync_seconds=1)
    rig.run_watching()
    for handler in (plain, resyncing):
        handler.wait_for(2)
        handler.clear()
    with source.unseen():
        source.modify(deployment("pod2"))
        source.add(deployment("pod3"))
    rig.pass_time(1)
    resyncing.wait_for(2)
    resyncing.clear()
    rig.expire(0.9)
    rig.until_watching()
    plain.wait_for(2)
    resyncing.wait_for(lambda lines: len({line.split()[1] for line in lines}) == 3)
    assert sorted({line.split()[1] for line in plain.seen()}) == ["pod2", "pod3"]


def test_no_listener_is_resynced_before_the_first_list(make_rig: MakeRig) -> None:
    """A resync of a store that is not filled would deliver nothing, so no listener is asked for one."""
    source = FakeListerWatcher()
    source.every_list = api_error(403, "Forbidden")
    rig = make_rig(source, resync_seconds=1)
    rig.handle()
    asked: list[float] = []

    def ask() -> bool:
        asked.append(rig.clock.now())
        return False

    rig.informer._processor.should_resync = ask  # type: ignore[method-assign]
    with capture_logs():
        rig.run()
        rig.until_pausing()
        rig.pass_time(1)
        assert asked == []
        # the second list has been refused, too: no list is under way that could meet the change
        rig.until_pausing()
        source.watches.append(FakeWatch())
        source.every_list = page(deployment("a"))
        rig.clock.advance(30)
        rig.until(rig.informer.has_synced)
        rig.pass_time(1)
    assert len(asked) >= 1


def test_resync_leaves_waiting_changes_alone(make_rig: MakeRig) -> None:
    """A resync queues the stored objects; it sends no request, and cannot fail."""
    rig = make_rig(resync_seconds=5)
    handler, _ = rig.handle()
    rig.run_watching()
    handler.wait_for(2)
    for _ in range(3):
        rig.pass_time(5)
    assert len(handler.wait_for(8)) == 8
    assert len(rig.source.list_options) == 1


# -- seen from outside


def test_statistics_are_a_snapshot_of_everything(rig: InformerRig) -> None:
    """Before run nothing is known of the reflector; after the sync all is."""
    handler, _ = rig.handle()
    before = rig.informer.statistics()
    assert (before.started, before.synced, before.objects, before.reflector) == (False, False, 0, None)
    rig.run_watching()
    handler.wait_for(2)
    now = rig.informer.statistics()
    assert (now.name, now.plural) == ("deployments.apps", "deployments")
    assert (now.started, now.stopped, now.synced, now.objects, now.queued) == (True, False, True, 2, 0)
    assert now.reflector is not None
    assert now.reflector.last_sync_resource_version == "1"
    assert rig.metrics.made["objects", "deployments.apps"].value == 2
    # set after the batch whose handlers were called
    rig.until(lambda: rig.metrics.made["queued_items", "deployments.apps"].values[-1:] == [0])


def test_defaults_make_a_working_informer() -> None:
    """Without options an informer runs on real time and threads of its own."""
    informer: SharedIndexInformer[Deployment] = SharedIndexInformer(
        FakeSource(at_version(deployment("a"), 4), supports_watch_list=True), Deployment
    )
    handler = RecordingHandler()
    informer.add_event_handler(handler)
    running = Background(partial(informer.run, threading.Event()))
    assert handler.wait_for(1) == ["add a 1 initial"]
    informer.stop()
    running.result()


def test_an_informer_knows_what_it_has_seen(make_rig: MakeRig) -> None:
    """Nothing before it runs; then all up to the last version it heard of, and nothing beyond."""
    rig = make_rig(FakeSource(deployment("a"), rv=5))
    assert not rig.informer.has_seen("1")
    rig.run_watching()
    assert rig.informer.has_seen("5")
    assert not rig.informer.has_seen("6")
    source_of(rig).delete("a")
    rig.until(lambda: rig.informer.has_seen("6"))
    assert rig.informer.indexer.get_by_key("default/a") is None


class Loose(Kind, group="example.com", version="v1"):
    """A kind that would let its cached objects be changed."""

    tags: list[str] | None = None


def test_a_kind_whose_objects_could_be_changed_is_refused() -> None:
    """A change of a cached object is not looked for, it is made impossible."""
    source: Any = FakeListerWatcher()
    with pytest.raises(MutableKind, match=r"^Loose is mutable at tags: cached objects are shared"):
        SharedIndexInformer(source, Loose)


def test_its_repr_shows_its_state(make_rig: MakeRig) -> None:
    """For a notebook, or a debugger."""
    rig = make_rig(FakeSource(deployment("a")))
    assert repr(rig.informer) == "<SharedIndexInformer of deployments.apps: not synced, 0 objects>"
    rig.run_synced()
    assert repr(rig.informer) == "<SharedIndexInformer of deployments.apps: synced, 1 objects>"


def test_what_ends_a_program_ends_no_informer(make_rig: MakeRig, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both threads go on after a SystemExit of a function of the author's, and health checks see no death."""
    rig = make_rig(FakeSource(deployment("a")))
    rig.run_synced()
    raised = iter([SystemExit(3)])
    process = rig.informer._deltas.process

    def once(*arguments: Any) -> Any:
        for error in raised:
            raise error
        return process(*arguments)

    monkeypatch.setattr(rig.informer._deltas, "process", once)
    with capture_logs() as logs:
        for name in "bc":  # the thread may wait with the old function
            rig.source.add(deployment(name))  # type: ignore[attr-defined]
            rig.until(lambda: rig.informer.last_sync_resource_version() == rig.source.rv)  # type: ignore[attr-defined]
            rig.until(lambda: rig.informer.statistics().queued == 0)
        rig.until(lambda: any("SystemExit(3)" in str(line.get("err")) for line in logs))
    assert not rig.informer.has_died()


def test_a_thread_that_has_died_can_be_seen(make_rig: MakeRig, monkeypatch: pytest.MonkeyPatch) -> None:
    """Liveness fails then, in place of a cache that stands still for ever; a stop is no death."""
    rig = make_rig(FakeSource(deployment("a")))
    rig.run_synced()
    assert not rig.informer.has_died()
    thread = rig.informer._reflector_thread
    assert thread is not None
    with monkeypatch.context() as patch:
        patch.setattr(thread, "is_alive", lambda: False)
        assert rig.informer.has_died()
    rig.close()
    assert not rig.informer.has_died()


@pytest.mark.parametrize("missing", ["reflector-", "listener-"])
def test_an_informer_without_room_for_its_threads_has_died(missing: str) -> None:
    """It would never be filled, and nobody begins it again."""

    def spawn(name: str, _target: Any) -> Any:
        if name.startswith(missing):
            raise RuntimeError("can't start new thread")
        return Background(lambda: None)

    informer = SharedIndexInformer(FakeSource(), Deployment, seams=Seams(spawn=spawn))
    informer.add_event_handler(ResourceEventHandlerFuncs())
    with pytest.raises(RuntimeError):
        informer.run(threading.Event())
    assert informer.has_died()
