"""What is asked of a server for some slots, and what is found out from its answers."""

from __future__ import annotations

import threading
from typing import Literal

import pytest

from handloop.apis.apps_v1 import Deployment
from handloop.apis.grammar.shard_selector import slot_of, slot_of_namespace
from handloop.client.decoding.pages import ListPage
from handloop.client.decoding.sieve import Foreign
from handloop.client.decoding.watch_stream import WatchEvent
from handloop.client.errors import APIError
from handloop.client.options import ListOptions
from handloop.informers.sharding.held_slots import Held, HeldSlots
from handloop.informers.sharding.shard_scope import ShardScope
from handloop.informers.sharding.sharded_source import ShardedSource
from handloop.testing.fake_clock import FakeClock
from support.builders.deployments import added, bookmark, deployment
from support.checks.api_errors import api_error
from support.checks.captured_logs import captured_logs
from support.doubles.fake_lister_watcher import FakeListerWatcher, FakeWatch, page
from support.doubles.recording_metrics import RecordingMetricsProvider

# UIDs and namespaces by their slots of 4
UID = {slot_of(f"{i}-u", 4): f"{i}-u" for i in range(100)}
NAMESPACE = {slot_of_namespace(f"n{i}", 4): f"n{i}" for i in range(100)}
REFUSED = api_error(500, "InternalError", "invalid shard selector: unexpected expression kind 3")


def obj(name: str, slot: int) -> Deployment:
    return deployment(name, namespace=NAMESPACE[slot], uid=UID[slot])


class Rig:
    """A source of which slots 0 and 1 are held and asked for."""

    def __init__(self, by: Literal["namespace", "uid", "label"], fake: FakeListerWatcher) -> None:
        self.fake = fake
        self.held = HeldSlots(4)
        self.metrics = RecordingMetricsProvider()
        self.clock = FakeClock(moves_itself=True)
        self.source = ShardedSource(
            fake,
            ShardScope(self.held, by),
            metrics=self.metrics.for_informer("deployments.apps"),
            name="deployments.apps",
            clock=self.clock,
        )
        for slot in (0, 1):
            self.held.add(slot)
        assert self.source.before_list(threading.Event())

    @property
    def sent(self) -> ListOptions:
        return [*self.fake.list_options, *self.fake.watch_options][-1]

    def names(self, **options: int | str) -> list[str]:
        """What a list brings."""
        return [each.metadata.name for each in self.source.list(ListOptions(**options)).items]  # type: ignore[arg-type]

    def read(self, *events: WatchEvent[Deployment], **options: bool) -> list[str]:
        """What a watch brings for those of the server."""
        self.fake.watches.append(FakeWatch(list(events)))
        watch = self.source.watch(ListOptions(allow_watch_bookmarks=True, **options))  # type: ignore[arg-type]
        events_read = [each for _, each in watch.read()]
        return ["foreign" if isinstance(each, Foreign) else type(each).__name__ for each in events_read]

    @property
    def metadata_first(self) -> bool:
        sieve = self.sent.sieve
        assert sieve is not None
        return sieve.metadata_first


def ours(count: int) -> list[Deployment]:
    """Different objects of the slots of a rig."""
    uids = [uid for uid in (f"{i}-v" for i in range(100)) if slot_of(uid, 4) < 2]
    return [deployment(f"d{n}", namespace=NAMESPACE[0], uid=uid) for n, uid in enumerate(uids[:count])]


def test_a_server_that_obeys_is_found_out_by_what_it_sends() -> None:
    """So many of ours, and nothing foreign, are no chance: all is decoded whole, and each is looked at."""
    rig = Rig("uid", FakeListerWatcher(lists=[page(*ours(10))]))
    assert rig.source.sharded_by == ""
    assert len(rig.names()) == 10
    assert rig.sent.shard_selector.startswith("shardRange(object.metadata.uid")
    assert (rig.source.sharded_by, rig.metadata_first) == ("server", False)
    assert rig.read(added(obj("c", 0))) == ["Deployment"]
    assert not rig.metadata_first


def test_too_few_objects_prove_nothing() -> None:
    """Of half the slots nine may come by chance, the tenth not; the same object again is no other one."""
    *few, tenth = ours(10)
    rig = Rig("uid", FakeListerWatcher(lists=[page(*few)]))
    rig.names()
    assert (rig.source.sharded_by, rig.metadata_first) == ("unknown", False)
    rig.read(*map(added, few))
    assert rig.source.sharded_by == "unknown"
    rig.read(added(tenth))
    assert rig.source.sharded_by == "server"


def test_who_holds_all_slots_finds_out_nothing_until_some_leave() -> None:
    """Then each request is for all objects; what counts comes with the first watch of fewer."""
    rig = Rig("uid", FakeListerWatcher(lists=[page(*ours(20))]))
    rig.held.add(2)
    rig.held.add(3)
    rig.source.before_list(threading.Event())
    rig.names()
    assert rig.source.sharded_by == "unknown"
    rig.held.remove(2)
    rig.held.remove(3)
    rig.read(*map(added, ours(10)))
    assert rig.source.sharded_by == "server"


def test_a_server_that_ignores_the_selector_is_found_out_by_a_foreign_object() -> None:
    """From then on metadata comes first, until a list has brought enough of ours alone; a gauge says so."""
    pages = [page(obj("a", 0), obj("x", 2), token="t"), page(obj("b", 1)), page(*ours(9)), page(*ours(10))]
    rig = Rig("uid", FakeListerWatcher(lists=pages))
    gauge = rig.metrics.made["drops_foreign", "deployments.apps"]
    assert rig.names() == ["a"]
    assert (rig.source.sharded_by, rig.metadata_first, gauge.value) == ("client", True, 1)
    assert rig.names(continue_token="t") == ["b"]
    assert rig.read(added(obj("c", 3)), added(obj("d", 1))) == ["foreign", "Deployment"]
    assert (rig.source.sharded_by, rig.metadata_first) == ("client", True)
    rig.names()
    assert (rig.source.sharded_by, rig.metadata_first) == ("client", True)
    rig.names()
    assert (rig.source.sharded_by, rig.metadata_first, gauge.value) == ("server", False, 0)


def test_a_foreign_event_is_as_good_as_a_listed_object() -> None:
    """The first list was empty, which proves nothing; a streamed one counts as any."""
    rig = Rig("uid", FakeListerWatcher())
    assert rig.read(bookmark(5, ends_list=True), send_initial_events=True) == ["Bookmark"]
    assert rig.source.sharded_by == "unknown"
    assert rig.read(added(obj("c", 3))) == ["foreign"]
    assert (rig.source.sharded_by, rig.metadata_first) == ("client", True)


def test_shard_info_is_proof() -> None:
    """No object of such a list is looked at."""
    whole = ListPage([obj("a", 0), obj("x", 2)], "1", narrowed=True)
    rig = Rig("uid", FakeListerWatcher(lists=[whole]))
    assert rig.names() == ["a", "x"]
    assert rig.source.sharded_by == "server"


@pytest.mark.parametrize("code", [400, 500])
def test_a_refused_selector_is_not_sent_again(code: int) -> None:
    """The same request goes on without it at once, and so do all later ones; what comes is sorted here."""
    refused = api_error(code, "InternalError", REFUSED.status.message)
    rig = Rig("uid", FakeListerWatcher(lists=[refused, page(obj("a", 0), obj("x", 2)), page(obj("b", 1))]))
    with captured_logs() as logs:
        assert rig.names() == ["a"]
        assert rig.names() == ["b"]
    assert [options.shard_selector == "" for options in rig.fake.list_options] == [False, True, True]
    assert (rig.source.sharded_by, rig.metadata_first) == ("client", True)
    assert [line["event"] for line in logs if line["log_level"] == "warning"] == [
        "The server refuses the shard selector"
    ]


def test_another_error_is_not_about_the_selector() -> None:
    """It goes to the caller, who tries again with it."""
    rig = Rig("uid", FakeListerWatcher(lists=[api_error(500, "InternalError", "etcd is gone"), page()]))
    with pytest.raises(APIError, match="etcd is gone"):
        rig.names()
    assert rig.names() == []
    assert rig.sent.shard_selector


def test_objects_of_a_slot_that_has_left_prove_nothing() -> None:
    """They were asked for: they are dropped, metadata first, until a request without their slot."""
    rig = Rig("uid", FakeListerWatcher(lists=[page(obj("a", 0))]))
    rig.names()
    wide = rig.sent.shard_selector
    watch = FakeWatch([added(obj("b", 1))], [added(obj("b", 1))])
    rig.fake.watches.append(watch)
    stream = rig.source.watch(ListOptions(allow_watch_bookmarks=True))
    assert not isinstance(stream.read()[0].object, Foreign)
    rig.held.remove(1)
    assert isinstance(stream.read()[0].object, Foreign)
    assert (rig.source.sharded_by, rig.metadata_first) == ("unknown", True)
    rig.read(added(obj("a", 0)))
    assert rig.sent.shard_selector != wide
    assert not rig.metadata_first


def test_a_namespace_that_was_met_is_left_out_of_the_next_request() -> None:
    """A stream on which it came is wide: another one would bring less."""
    rig = Rig("namespace", FakeListerWatcher(lists=[page(obj("a", 0))]))
    rig.names()
    assert (rig.sent.field_selector, rig.source.is_wide) == ("", False)
    foreign = added(obj("x", 3))
    assert rig.read(foreign, bookmark(1, ends_list=True), send_initial_events=True) == ["foreign", "Bookmark"]
    assert (rig.source.is_wide, rig.metadata_first, rig.source.sharded_by) == (True, True, "fields")
    assert rig.read(added(obj("a", 0))) == ["Deployment"]
    assert rig.sent.field_selector == f"metadata.namespace!={NAMESPACE[3]}"
    assert (rig.source.is_wide, rig.metadata_first) == (False, False)


def test_more_namespaces_than_a_selector_can_name_are_told() -> None:
    """Then the server sends most of the foreign objects, whose metadata comes first from then on."""
    rig = Rig("namespace", FakeListerWatcher(lists=[page(obj("a", 0)), page(obj("a", 0))]))
    rig.held.namespaces.learn(f"{number:060}" for number in range(200))
    gauge = rig.metrics.made["drops_foreign", "deployments.apps"]
    rig.names()
    assert (rig.source.sharded_by, gauge.value) == ("client", 1)
    rig.names()
    assert rig.metadata_first


def test_by_label_the_server_obeys() -> None:
    """Objects are not looked at: one whose label changes comes as a deletion, with any label."""
    rig = Rig("label", FakeListerWatcher(lists=[page(obj("a", 3))]))
    assert rig.names() == ["a"]
    assert rig.sent == ListOptions(label_selector="handloop.dev/slot in (0,1)")
    assert rig.read(added(obj("a", 3))) == ["Deployment"]
    assert rig.source.sharded_by == "labels"


def test_slots_that_come_within_a_moment_share_a_list() -> None:
    """Whoever asks waits for others; not when nothing has changed since, and not once stopped."""
    rig = Rig("uid", FakeListerWatcher())
    assert rig.clock.slept == [0.2]
    assert rig.source.before_list(threading.Event())
    assert rig.clock.slept == [0.2]
    stopped = threading.Event()
    stopped.set()
    rig.held.add(2)
    assert rig.source.must_list
    assert not rig.source.before_list(stopped)
    rig.source.wait(stopped)
    for slot in (0, 1, 2):
        rig.held.remove(slot)
    assert rig.source.is_empty
    assert not rig.source.before_list(threading.Event())


def test_a_slot_that_comes_just_after_the_last_has_left_waits_for_the_next_list(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No list could be asked for: it would name no slot."""
    rig = Rig("label", FakeListerWatcher())
    for slot in (0, 1):
        rig.held.remove(slot)

    def ask(source: ShardedSource[Deployment], held: Held) -> None:
        vars(source)["asked"] = held
        rig.held.add(2)

    monkeypatch.setattr(
        ShardedSource, "asked", property(lambda source: vars(source)["asked"], ask), raising=False
    )
    assert not rig.source.before_list(threading.Event())
    assert rig.source.before_list(threading.Event())
    assert rig.source.asked.slots == {2}
