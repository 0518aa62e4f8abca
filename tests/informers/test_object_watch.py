"""One object of a name on one thread: what is stored, and what is told."""

from __future__ import annotations

import pytest

from handloop.apis.apps_v1 import Deployment
from handloop.client.decoding.pages import ListPage
from handloop.client.decoding.watch_stream import WatchEvent
from handloop.client.options import ListOptions
from handloop.informers.delta_fifo import DeltaType, Listed
from handloop.informers.event_intake import translate
from handloop.informers.informer_options import InformerOptions
from handloop.informers.keys import DeletedFinalStateUnknown, ObjectName
from handloop.informers.listwatch import Watch
from handloop.informers.object_watch import ObjectWatch
from handloop.seams.seams import Seams
from handloop.testing.fake_clock import FakeClock
from support.builders.deployments import deleted, deployment, modified
from support.checks.threads import Background
from support.doubles.fake_lister_watcher import FakeSource

NAME = ObjectName("default", "a")


class Objects:
    """A source as the client has it: with a namespace."""

    def __init__(self, source: FakeSource) -> None:
        self.source = source

    def list(self, _namespace: str = "", *, options: ListOptions) -> ListPage[Deployment]:
        return self.source.list(options)

    def watch(self, _namespace: str = "", *, options: ListOptions) -> Watch[Deployment]:
        return self.source.watch(options)


class Rig:
    """A watch that a test feeds by hand, and what it tells: versions before and now, and whether at first."""

    def __init__(self, **options: object) -> None:
        self.told: list[tuple[str, str, bool]] = []
        self.watch: ObjectWatch[Deployment] = ObjectWatch(
            Objects(FakeSource()),
            Deployment,
            NAME,
            self._changed,
            options=InformerOptions(**options),  # type: ignore[arg-type]
            seams=Seams(clock=FakeClock()),
        )

    def _changed(self, before: Deployment | None, now: Deployment | None, is_first: bool) -> None:
        versions = ["" if each is None else each.metadata.resource_version for each in (before, now)]
        self.told.append((versions[0], versions[1], is_first))

    def listed(self, *objects: Deployment) -> None:
        """A complete list has come."""
        found: Listed[Deployment] = Listed()
        for each in objects:
            found.take("default/a", each)
        self.watch.replace(found, "9")

    def sent(self, *events: WatchEvent[Deployment]) -> None:
        """A block of events has come."""
        seen = self.told[-1][1]
        self.watch._reflector._intake.put(translate(list(events), Deployment, seen=seen))


def test_a_first_list_of_nothing_tells_nothing() -> None:
    """But it is known from then on that there is none."""
    rig = Rig()
    assert not rig.watch.has_synced()
    rig.listed()
    assert (rig.watch.has_synced(), rig.watch.read(), rig.told) == (True, None, [])


def test_lists_and_events_tell_what_is_new() -> None:
    """Each with the state before. A list without the object is its end."""
    rig = Rig()
    rig.listed(deployment("a", 1))
    rig.sent(modified(deployment("a", 3)))
    gone = DeletedFinalStateUnknown[Deployment]("default/a", None)
    rig.watch.enqueue_batch([(DeltaType.DELETED, gone), (DeltaType.ADDED, deployment("a", 5))])
    rig.listed()
    assert rig.told == [
        ("", "1", True),
        ("1", "3", False),
        ("3", "", False),
        ("", "5", False),
        ("5", "", False),
    ]
    assert rig.watch.get() is None


def test_an_object_made_anew_takes_the_place_of_its_predecessor() -> None:
    """Whatever its version: after a restored backup it may be an older number."""
    rig = Rig()
    rig.listed(deployment("a", 5, uid="one"))
    rig.listed(deployment("a", 2, uid="two"))
    assert rig.told[-1] == ("5", "2", False)


def test_a_list_of_a_rewound_history_replaces_the_newer_state() -> None:
    """The reflector has made sure of it. Otherwise the lost state would stay until a newer version."""
    rig = Rig()
    rig.listed(deployment("a", 5))
    rig.listed(deployment("a", 2))
    assert rig.told[-1] == ("5", "2", False)
    rig.sent(modified(deployment("a", 3)))
    assert rig.told[-1] == ("2", "3", False)


def test_events_of_the_past_are_dropped() -> None:
    """An old state, the deletion of the predecessor, and an old state of the object that is deleted."""
    rig = Rig()
    rig.listed(deployment("a", 3, uid="two"))
    rig.sent(modified(deployment("a", 5, uid="two")), modified(deployment("a", 4, uid="two")))
    rig.sent(deleted(deployment("a", 2, uid="one")))
    rig.sent(deleted(deployment("a", 7, uid="two")), modified(deployment("a", 6, uid="two")))
    assert rig.told == [("", "3", True), ("3", "5", False), ("5", "", False)]


def test_a_read_before_the_first_list_waits_for_it() -> None:
    """As fill says, and with its error; what it lacks is told in words."""
    rig = Rig()

    def fill(watch: ObjectWatch[Deployment], _namespace: str) -> None:
        raise LookupError(watch.troubles()[0])

    rig.watch._fill = fill
    with pytest.raises(
        LookupError, match=r"deployments\.apps\[\.metadata\.name=a\]@default: no complete list yet"
    ):
        rig.watch.read()
    rig.listed(deployment("a", 1))
    assert rig.watch.read() is not None
    assert rig.watch.troubles() == []


def test_it_runs_until_it_is_stopped() -> None:
    """From the server on: one thread, which lists, watches and tells."""
    source = FakeSource(deployment("a"))
    told: list[Deployment | None] = []
    watch: ObjectWatch[Deployment] = ObjectWatch(
        Objects(source),
        Deployment,
        NAME,
        lambda _before, now, _is_first: told.append(now),
        options=InformerOptions(),
        seams=Seams(clock=FakeClock()),
    )
    running = Background(watch.run)
    while not source.open_watches():
        assert not running.has_ended()
    source.modify(deployment("a", labels={"changed": "yes"}))
    while len(told) < 2:
        assert not running.has_ended()
    watch.stop()
    running.result()
    assert [each is not None and dict(each.metadata.labels) for each in told] == [{}, {"changed": "yes"}]
    assert watch.has_ended
