"""Recorders, and when what they record is written."""

from __future__ import annotations

import threading

import pytest

from handloop.apis.core_v1 import Event
from handloop.controller.runtime.events.recorders import FLUSH_SECONDS, Recorders
from handloop.seams.seams import Seams
from handloop.testing.eventually import eventually
from handloop.testing.fake_clock import FakeClock
from support.builders.foo_builders import new_foo
from support.checks.captured_logs import captured_logs
from support.checks.threads import StuckThread
from support.rigs.managed_sandbox import ManagedSandbox


class _Rig:
    """Recorders on a sandbox."""

    def __init__(self) -> None:
        self.client = ManagedSandbox().client
        self.recorders = Recorders(self.client)

    def messages(self) -> list[str]:
        """The messages of all events."""
        return sorted(event.message for event in self.client.resource(Event).list("default").items)


@pytest.fixture
def rig() -> _Rig:
    return _Rig()


def _threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("events-")]


def test_events_are_written_from_the_start_on(rig: _Rig) -> None:
    """Also those of a recorder that is taken later; two threads write and log them, and end."""
    rig.recorders.start()
    rig.recorders.recorder("foos").event(new_foo(), "Normal", "Synced", "later")
    assert sorted(_threads()) == ["events-log", "events-sink-1"]
    eventually(lambda: rig.messages() == ["later"], "the event")
    rig.recorders.shutdown()
    assert _threads() == []


def test_after_the_end_nothing_is_written(rig: _Rig) -> None:
    """A recorder from before logs, as does one that is taken then; neither leaves a thread."""
    recorder = rig.recorders.recorder("foos")
    rig.recorders.start()
    rig.recorders.shutdown()
    with captured_logs() as logs:
        recorder.event(new_foo(), "Normal", "Synced", "late")
        rig.recorders.recorder("foos").event(new_foo(), "Normal", "Synced", "later")
    assert [entry["err"] for entry in logs] == ["broadcaster is shut down"] * 2
    assert (rig.messages(), _threads()) == ([], [])


def test_a_shutdown_has_one_limit_for_all() -> None:
    """All threads share it; an Event that could not be written is logged."""
    clock = FakeClock()
    recorders = Recorders(
        ManagedSandbox().client, seams=Seams(clock=clock, spawn=lambda _name, _target: StuckThread(clock))
    )
    recorders.start()
    assert recorders.shutdown(60) == 1
    assert clock.now() == FLUSH_SECONDS
