"""The warning about a streamed list that does not end. Follows TestInitialEventsEndBookmarkTicker."""

from __future__ import annotations

import pytest

from handloop.informers import listing
from handloop.informers.listing import BookmarkTicker
from support.captured_logs import captured_logs
from support.fake_clock import FakeClock


class _Rig:
    """A ticker with a tick of 1 s."""

    def __init__(self) -> None:
        self.clock = FakeClock(start=100.0)
        self.ticker = BookmarkTicker("deployments.apps", clock=self.clock)

    def after(self, seconds: float) -> list[str]:
        """What a look some time later says."""
        self.clock.advance(seconds)
        with captured_logs() as logs:
            self.ticker.tick()
        return [entry["err"] for entry in logs]


@pytest.fixture
def rig(monkeypatch: pytest.MonkeyPatch) -> _Rig:
    monkeypatch.setattr(listing, "TICK_SECONDS", 1.0)
    return _Rig()


def test_a_silent_stream_is_warned_about_every_tick(rig: _Rig) -> None:
    """WL-11. Silent for 1 s: "no events received for 1s", then 2s."""
    rig.ticker.begin()
    assert rig.after(0.5) == []
    assert rig.after(0.5) == ["awaiting the bookmark that ends the list, no events received for 1s"]
    assert rig.after(0.5) == []
    assert rig.after(0.5) == ["awaiting the bookmark that ends the list, no events received for 2s"]


def test_events_put_the_warning_off(rig: _Rig) -> None:
    """WL-11. After an event, "received last event 1s ago", and only when it is that long ago."""
    rig.ticker.begin()
    rig.clock.advance(0.9)
    rig.ticker.heard()
    assert rig.after(0.1) == []
    assert rig.after(1.0) == ["awaiting the bookmark that ends the list, received last event 1s ago"]


def test_without_a_streamed_list_nothing_is_said(rig: _Rig) -> None:
    """WL-11. Before a list by stream, and after its end, never."""
    assert rig.after(60.0) == []
    rig.ticker.begin()
    rig.ticker.end()
    assert rig.after(60.0) == []


def test_the_next_list_begins_anew(rig: _Rig) -> None:
    """What came on an earlier stream counts for nothing."""
    rig.ticker.begin()
    rig.ticker.heard()
    rig.ticker.end()
    rig.clock.advance(5.0)
    rig.ticker.begin()
    assert rig.after(1.0) == ["awaiting the bookmark that ends the list, no events received for 1s"]


def test_the_warning_names_the_reflector(rig: _Rig) -> None:
    """One line, at warning level."""
    rig.ticker.begin()
    rig.clock.advance(1.0)
    with captured_logs() as logs:
        rig.ticker.tick()
    assert [(entry["event"], entry["log_level"], entry["reflector"]) for entry in logs] == [
        ("Event bookmark expired", "warning", "deployments.apps")
    ]
