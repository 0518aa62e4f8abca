"""What becomes of one event; when it is tried again is in test_event_writer.py."""

from __future__ import annotations

import threading
from collections.abc import Callable

from handloop.apis.core_v1 import Event
from handloop.controller.runtime.events.delivery import EventDelivery, SinkStatistics
from handloop.workqueue.seams import Seams
from support.api_errors import api_error
from support.event_builders import new_event
from support.fake_clock import FakeClock
from support.fake_event_sink import FakeEventSink

_PATCH = {"count": 2, "lastTimestamp": "2023-11-14T22:13:20Z", "message": "message"}


class _Rig:
    """A delivery to a sink whose calls fail as told."""

    def __init__(self, outcome: Callable[[int], Exception | None] = lambda _call: None) -> None:
        self.sink = FakeEventSink(outcome)
        self.answers: list[Event] = []
        self.delivery = EventDelivery(
            self.sink,
            threading.Event(),
            on_written=self.answers.append,
            seams=Seams(clock=FakeClock(moves_itself=True), random=lambda: 0.5),
        )


def test_the_answer_is_handed_on() -> None:
    """What the server says of an event that was written is for whoever counts."""
    rig = _Rig()
    rig.delivery.deliver(new_event(), None)
    (answer,) = rig.answers
    assert answer.metadata.resource_version == "1"


def test_a_refused_event_has_no_answer() -> None:
    """It is given up with the first try."""
    rig = _Rig(lambda _call: api_error(409, "AlreadyExists"))
    rig.delivery.deliver(new_event(), None)
    assert (rig.answers, len(rig.sink.calls)) == ([], 1)
    assert rig.delivery.statistics() == SinkStatistics(abandoned=1)


def test_an_event_that_appears_while_it_is_created_is_patched() -> None:
    """The patch finds nothing, the create finds it there: the next try patches it."""
    rig = _Rig({0: api_error(404, "NotFound"), 1: api_error(409, "AlreadyExists")}.get)
    rig.sink.stored["my-object.1"] = new_event()
    rig.delivery.deliver(new_event(), _PATCH)
    assert [call.patch for call in rig.sink.calls] == [_PATCH, None, _PATCH]
    assert rig.delivery.statistics() == SinkStatistics(written=1)


def test_what_is_not_to_be_written_is_counted() -> None:
    """No request is made."""
    rig = _Rig()
    rig.delivery.skip()
    assert rig.sink.calls == []
    assert rig.delivery.statistics() == SinkStatistics(skipped=1)
