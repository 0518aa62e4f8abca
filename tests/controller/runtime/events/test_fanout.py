"""One stream, several watchers."""

from __future__ import annotations

import threading

from handloop.controller.runtime.events.delivery import EventFanout
from handloop.workqueue.seams import Seams
from support.fake_clock import FakeClock

_DEADLINE_SECONDS = 20.0


def test_every_watcher_sees_every_event_in_one_order() -> None:
    """From its start on."""
    fanout: EventFanout[str] = EventFanout(seams=Seams(clock=FakeClock()))
    first: list[str] = []
    second: list[str] = []
    fanout.start_event_watcher("first", first.append)
    assert fanout.publish("a") == ""
    fanout.start_event_watcher("second", second.append)
    assert fanout.publish("b") == ""
    assert fanout.shutdown(_DEADLINE_SECONDS)
    assert (first, second) == (["a", "b"], ["b"])


def test_a_full_watcher_is_named_and_the_others_go_on() -> None:
    """EV-27. Only the one that is behind misses the event."""
    entered, release = threading.Event(), threading.Event()

    def hang(_event: str) -> None:
        entered.set()
        assert release.wait(_DEADLINE_SECONDS)

    fanout: EventFanout[str] = EventFanout(queue_length=1, seams=Seams(clock=FakeClock()))
    fanout.start_event_watcher("slow", hang)
    fanout.publish("in hand")
    assert entered.wait(_DEADLINE_SECONDS)
    fanout.publish("queued")
    seen: list[str] = []
    fanout.start_event_watcher("quick", seen.append)
    assert fanout.publish("lost") == "too many queued events for slow"
    release.set()
    assert fanout.shutdown(_DEADLINE_SECONDS)
    assert seen == ["lost"]


def test_after_shutdown_nothing_is_taken() -> None:
    """Whoever publishes is told; a watcher that starts then sees nothing and leaves no thread."""
    fanout: EventFanout[str] = EventFanout(seams=Seams(clock=FakeClock()))
    assert fanout.shutdown(_DEADLINE_SECONDS)
    assert fanout.publish("late") == "broadcaster is shut down"
    seen: list[str] = []
    assert fanout.start_event_watcher("late", seen.append).join(_DEADLINE_SECONDS)
    assert seen == []
