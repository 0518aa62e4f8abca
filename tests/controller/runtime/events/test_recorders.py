"""Recorders, and when what they record is written."""

from __future__ import annotations

import threading

import pytest

from handloop.apis import events_v1
from handloop.apis.core_v1 import Event
from handloop.controller.runtime.events.recorders import FLUSH_SECONDS, Recorders
from handloop.testing.eventually import eventually
from handloop.workqueue.seams import Seams
from support.captured_logs import captured_logs
from support.fake_clock import FakeClock
from support.foo_builders import new_foo
from support.managed_sandbox import ManagedSandbox
from support.threads import StuckThread


class _Rig:
    """Recorders on a sandbox."""

    def __init__(self) -> None:
        self.client = ManagedSandbox().client
        self.recorders = Recorders(self.client)

    def notes(self) -> list[str]:
        """The notes of all events; those of core/v1 among them."""
        return sorted(event.note for event in self.client.resource(events_v1.Event).list("default").items)

    def messages(self) -> list[str]:
        return sorted(event.message for event in self.client.resource(Event).list("default").items)


@pytest.fixture
def rig() -> _Rig:
    return _Rig()


def _threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("events-")]


def test_both_kinds_of_events_are_written(rig: _Rig) -> None:
    """Each is seen in both groups of the server."""
    series = rig.recorders.series_recorder("example.com/foos")
    rig.recorders.start()
    rig.recorders.recorder("foos").event(new_foo(), "Normal", "Synced", "core")
    series.event(new_foo(), "Normal", "Synced", "series")
    eventually(lambda: rig.notes() == ["core", "series"], "both")
    assert rig.messages() == ["core", "series"]
    rig.recorders.shutdown()
    assert _threads() == []


def test_a_series_recorder_can_be_taken_later(rig: _Rig) -> None:
    """Its events are written from then on, through the one broadcaster there is."""
    rig.recorders.start()
    rig.recorders.series_recorder("example.com/a").event(new_foo(), "Normal", "Synced", "one")
    rig.recorders.series_recorder("example.com/b").event(new_foo(), "Normal", "Synced", "two")
    eventually(lambda: rig.notes() == ["one", "two"], "both")
    assert _threads().count("events-series-sink") == 1
    rig.recorders.shutdown()


def test_who_asks_for_no_series_has_no_thread_for_them(rig: _Rig) -> None:
    """The threads of events.k8s.io/v1 are started for whoever needs them."""
    rig.recorders.start()
    assert sorted(_threads()) == ["events-log", "events-sink-1"]
    rig.recorders.shutdown()


def test_after_the_end_nothing_is_written(rig: _Rig) -> None:
    """A recorder from before logs, one that is taken then is silent; neither leaves a thread."""
    recorder = rig.recorders.recorder("foos")
    rig.recorders.start()
    rig.recorders.shutdown()
    with captured_logs() as logs:
        recorder.event(new_foo(), "Normal", "Synced", "late")
        rig.recorders.series_recorder("example.com/foos").event(new_foo(), "Normal", "Synced", "later")
    assert [entry["err"] for entry in logs] == ["broadcaster is shut down"]
    assert (rig.notes(), _threads()) == ([], [])


def test_a_shutdown_has_one_limit_for_all() -> None:
    """Both broadcasters and the upkeep of series share it; what could not be written is told."""
    clock = FakeClock()
    recorders = Recorders(
        ManagedSandbox().client, seams=Seams(clock=clock, spawn=lambda _name, _target: StuckThread(clock))
    )
    recorders.series_recorder("example.com/foos")
    recorders.start()
    assert not recorders.shutdown(60)
    assert clock.now() == FLUSH_SECONDS
