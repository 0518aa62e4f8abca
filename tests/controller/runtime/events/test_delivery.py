"""What becomes of one event; that both kinds of events wait and give up alike is in test_sink.py."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from handloop.apis.events_v1 import Event
from handloop.client.errors import ConnectionRefused
from handloop.controller.runtime.events.delivery import EventDelivery, Outcome, SinkStatistics
from handloop.workqueue.seams import Seams
from support.api_errors import api_error
from support.captured_logs import captured_logs
from support.fake_clock import FakeClock
from support.fake_series_sink import FakeSeriesSink
from support.series_builders import new_series_event

_PATCH = {"series": {"count": 2, "lastObservedTime": "2023-11-14T22:13:20.000000Z"}}


class _Rig:
    """A delivery to a sink whose calls fail as told."""

    def __init__(self, outcome: Callable[[int], Exception | None] = lambda _call: None) -> None:
        self.sink = FakeSeriesSink(outcome)
        self.answers: list[Event] = []
        self.delivery: EventDelivery[Event] = EventDelivery(
            self.sink,
            lambda event: event.regarding,
            threading.Event(),
            on_written=self.answers.append,
            seams=Seams(clock=FakeClock(moves_itself=True), random=lambda: 0.5),
        )


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (None, Outcome.WRITTEN),
        (api_error(403, "Forbidden"), Outcome.REFUSED),
        (api_error(409, "AlreadyExists"), Outcome.REFUSED),
        (TypeError("cannot encode"), Outcome.REFUSED),
        (ConnectionRefused("refused"), Outcome.TRY_AGAIN),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
def test_one_try_ends_in_one_of_three_ways(error: Exception | None, outcome: Outcome) -> None:
    """Written, refused for good, or worth another try; only what is settled is counted."""
    rig = _Rig(lambda _call: error)
    with captured_logs():
        assert rig.delivery.try_once(new_series_event(), None) is outcome
    settled = outcome is not Outcome.TRY_AGAIN
    assert sum(rig.delivery.statistics()) == settled
    assert len(rig.answers) == (outcome is Outcome.WRITTEN)


def test_the_answer_is_handed_on() -> None:
    """What the server says of an event that was written is for whoever counts."""
    rig = _Rig()
    rig.delivery.deliver(new_series_event(), None)
    (answer,) = rig.answers
    assert answer.metadata.resource_version == "1"


def test_an_event_that_appears_while_it_is_created_is_patched() -> None:
    """The patch finds nothing, the create finds it there: the next try patches it."""
    rig = _Rig({0: api_error(404, "NotFound"), 1: api_error(409, "AlreadyExists")}.get)
    rig.sink.stored["my-object.1"] = new_series_event()
    rig.delivery.deliver(new_series_event(), _PATCH)
    assert rig.sink.verbs == ["patch", "create", "patch"]
    assert rig.delivery.statistics() == SinkStatistics(written=1)


def test_what_is_not_to_be_written_is_counted() -> None:
    """No request is made."""
    rig = _Rig()
    rig.delivery.skip()
    assert rig.sink.calls == []
    assert rig.delivery.statistics() == SinkStatistics(skipped=1)
