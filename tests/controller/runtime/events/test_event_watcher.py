from __future__ import annotations

import threading
from collections.abc import Callable

from handloop.apis.core_v1 import Event
from handloop.controller.runtime.events.delivery import EventWatcher
from handloop.workqueue.seams import Seams
from support.captured_logs import captured_logs
from support.event_builders import new_event
from support.fake_clock import FakeClock

_DEADLINE_SECONDS = 20.0


def _event(number: int) -> Event:
    return new_event(message=str(number))


def _watcher(handle: Callable[[Event], None], *, length: int = 1000) -> EventWatcher[Event]:
    return EventWatcher("test", handle, length=length, seams=Seams(clock=FakeClock()))


class _Gate:
    """A handler that holds the first event until it is let go."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.open = threading.Event()
        self.handled: list[str] = []

    def __call__(self, event: Event) -> None:
        self.entered.set()
        assert self.open.wait(_DEADLINE_SECONDS)
        self.handled.append(event.message)


def test_events_are_handled_in_the_order_offered() -> None:
    """One thread hands over what was offered, first in first out."""
    handled: list[str] = []
    watcher = _watcher(lambda event: handled.append(event.message))
    assert all(watcher.offer(_event(number)) for number in range(100))
    watcher.close()
    assert watcher.join(_DEADLINE_SECONDS)
    assert handled == [str(number) for number in range(100)]


def test_a_full_queue_refuses_without_waiting() -> None:
    """EV-27. One event is in hand and two fit in the queue: the fourth is refused at once."""
    gate = _Gate()
    watcher = _watcher(gate, length=2)
    assert watcher.offer(_event(0))
    assert gate.entered.wait(_DEADLINE_SECONDS)
    assert [watcher.offer(_event(number)) for number in (1, 2, 3)] == [True, True, False]
    assert len(watcher) == 2
    gate.open.set()
    watcher.close()
    assert watcher.join(_DEADLINE_SECONDS)
    assert gate.handled == ["0", "1", "2"]


def test_a_closed_watcher_hands_over_what_it_has_and_takes_no_more() -> None:
    """Closing refuses new events, not queued ones."""
    gate = _Gate()
    watcher = _watcher(gate)
    watcher.offer(_event(0))
    watcher.offer(_event(1))
    watcher.close()
    assert not watcher.offer(_event(2))
    gate.open.set()
    assert watcher.join(_DEADLINE_SECONDS)
    assert gate.handled == ["0", "1"]


def test_discard_leaves_only_the_event_in_hand() -> None:
    """After discard the thread ends with the event it is busy with."""
    gate = _Gate()
    watcher = _watcher(gate)
    watcher.offer(_event(0))
    assert gate.entered.wait(_DEADLINE_SECONDS)
    watcher.offer(_event(1))
    watcher.close()
    assert not watcher.join(0.0)
    watcher.discard()
    assert len(watcher) == 0
    gate.open.set()
    assert watcher.join(_DEADLINE_SECONDS)
    assert gate.handled == ["0"]


def test_a_handler_that_raises_gets_the_next_event() -> None:
    """An exception is logged and costs its event only."""
    handled: list[str] = []

    def handle(event: Event) -> None:
        handled.append(event.message)
        raise RuntimeError("broken")

    with captured_logs() as logs:
        watcher = _watcher(handle)
        watcher.offer(_event(0))
        watcher.offer(_event(1))
        watcher.close()
        assert watcher.join(_DEADLINE_SECONDS)
    assert handled == ["0", "1"]
    assert [entry["event"] for entry in logs] == ["Event watcher failed"] * 2
