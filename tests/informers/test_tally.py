"""The counts of a reflector, as its statistics and its metrics show them."""

from __future__ import annotations

from handloop.informers.informer_metrics import InformerMetrics
from handloop.informers.reflector import Tally
from handloop.informers.relist_policy import RelistReason
from support.fake_clock import FakeClock
from support.recording_metrics import RecordingMetricsProvider

NAME = "deployments.apps"


class Counted:
    """A tally with what it publishes."""

    def __init__(self) -> None:
        self.provider = RecordingMetricsProvider()
        self.clock = FakeClock()
        self.tally = Tally(InformerMetrics(NAME, self.provider), self.clock)


def test_the_first_list_is_no_relist() -> None:
    """Lists after the first are counted by reason, here and in the metrics."""
    counted = Counted()
    for reason in (RelistReason.ERROR, RelistReason.EXPIRED, RelistReason.EXPIRED):
        counted.tally.list_taken(reason)
    assert counted.tally.relists == {RelistReason.EXPIRED: 2}
    assert counted.provider.made["relists", NAME, RelistReason.EXPIRED].count == 2
    assert ("relists", NAME, RelistReason.ERROR) not in counted.provider.made


def test_the_relists_that_were_read_are_a_copy() -> None:
    """What a reader holds does not change under it."""
    tally = Counted().tally
    before = tally.relists
    tally.list_taken(RelistReason.ERROR)
    tally.list_taken(RelistReason.ERROR)
    assert (before, tally.relists) == ({}, {RelistReason.ERROR: 1})


def test_the_first_watch_is_no_restart() -> None:
    """Every stream is counted, and those after the first are restarts."""
    counted = Counted()
    for _ in range(3):
        counted.tally.watch_opened()
    assert counted.tally.watches == 3
    assert counted.provider.made["watch_restarts", NAME].count == 2


def test_when_the_server_was_last_heard_of() -> None:
    """Statistics count as the clock's now, the metric in Unix seconds."""
    counted = Counted()
    seen = [counted.tally.last_event_at]
    counted.clock.advance(7)
    counted.tally.heard()
    seen.append(counted.tally.last_event_at)
    assert seen == [None, counted.clock.now()]
    assert counted.provider.made["last_event_timestamp", NAME].values == [counted.clock.time()]
