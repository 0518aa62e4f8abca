from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest
from structlog.testing import capture_logs

from handloop.informers.informer_statistics import InformerStatistics
from handloop.informers.progress import TTY_INTERVAL_SECONDS, SyncProgress, describe
from handloop.informers.reflector import ReflectorStatistics, State
from handloop.testing.fake_clock import FakeClock

LISTING = ReflectorStatistics(
    state=State.LISTING,
    listed=3500,
    page=7,
    relists={},
    watches=0,
    last_sync_resource_version="",
    last_event_at=None,
    last_error="",
    retry_at=None,
)
DEPLOYMENTS = InformerStatistics(
    name="deployments.apps",
    plural="deployments",
    started=True,
    stopped=False,
    synced=False,
    objects=0,
    queued=0,
    quarantined=0,
    reflector=LISTING,
    listeners=(),
)
FOOS = msgspec.structs.replace(
    DEPLOYMENTS, name="foos.samplecontroller.k8s.io", plural="foos", synced=True, objects=12
)

replace = msgspec.structs.replace


class Source:
    """Has statistics that a test sets."""

    def __init__(self, statistics: InformerStatistics) -> None:
        self.now = statistics

    def statistics(self) -> InformerStatistics:
        return self.now


def run(progress: SyncProgress, clock: FakeClock, seconds: float) -> list[tuple[float, str, str]]:
    """Tick eight times a second; (second, level, line) of each log line."""
    said = []
    for _ in range(round(seconds * 8)):
        clock.advance(0.125)
        with capture_logs() as logs:
            progress.tick()
        said += [(round(clock.now(), 1), entry["log_level"], entry["event"]) for entry in logs]
    return said


def test_line_shows_how_far_each_informer_is() -> None:
    """Kinds being listed by objects and page, synced kinds, and for how long."""
    clock = FakeClock(moves_itself=True)
    progress = SyncProgress([Source(DEPLOYMENTS), Source(FOOS)], clock=clock)
    assert run(progress, clock, 20.5) == [
        (10.0, "info", "waiting for caches: deployments 3 500 objects (page 7), foos ✓ 12 — 10s"),
        (20.0, "info", "waiting for caches: deployments 3 500 objects (page 7), foos ✓ 12 — 20s"),
    ]


def test_terminal_gets_a_line_every_two_seconds() -> None:
    """On a terminal a line every 2 s."""
    clock = FakeClock(moves_itself=True)
    progress = SyncProgress([Source(DEPLOYMENTS)], interval_seconds=TTY_INTERVAL_SECONDS, clock=clock)
    assert [second for second, _, _ in run(progress, clock, 6.5)] == [2.0, 4.0, 6.0]


def test_five_minutes_are_worth_a_warning_with_the_last_errors() -> None:
    """WARN at 5 min with the last error; and again after five more."""
    clock = FakeClock(moves_itself=True)
    failing = replace(LISTING, last_error="403 Forbidden")
    source = Source(replace(DEPLOYMENTS, reflector=failing))
    progress = SyncProgress([source, Source(replace(FOOS, reflector=None))], clock=clock)
    levels = [(second, level) for second, level, _ in run(progress, clock, 610)]
    assert [second for second, level in levels if level == "warning"] == [300.0, 600.0]
    clock.advance(300)
    with capture_logs() as logs:
        progress.tick()
    assert logs[0]["lastErrors"] == {"deployments.apps": "403 Forbidden"}


def test_end_is_logged_if_the_trouble_was() -> None:
    """A quick sync writes nothing at all, a long one ends with a line, once."""
    clock = FakeClock(moves_itself=True)
    source = Source(DEPLOYMENTS)
    progress = SyncProgress([source], clock=clock)
    with capture_logs() as logs:
        progress.finished()
    assert logs == []
    run(progress, clock, 10)
    source.now = replace(DEPLOYMENTS, synced=True, objects=3500)
    with capture_logs() as logs:
        progress.finished()
        progress.finished()
    assert [entry["event"] for entry in logs] == ["caches are filled: deployments ✓ 3 500 — 10s"]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda s, _: replace(s, reflector=None), "deployments not started"),
        (lambda s, r: replace(s, reflector=replace(r, page=0)), "deployments 3 500 objects (streaming)"),
        (
            lambda s, r: replace(s, reflector=replace(r, page=0, last_event_at=88.0)),
            "deployments 3 500 objects (streaming, nothing for 12 s)",
        ),
        (
            lambda s, r: replace(s, reflector=replace(r, last_error="refused", retry_at=103.25)),
            "deployments ✗ refused, retrying in 3.2 s",
        ),
        (
            lambda s, r: replace(s, reflector=replace(r, state=State.WATCHING), objects=1500, queued=2000),
            "deployments 1 500 objects stored, 2 000 queued",
        ),
        (
            lambda s, r: replace(s, reflector=replace(r, state=State.EMPTY)),
            "deployments asking the server",
        ),
    ],
    ids=["not started", "streaming", "silent stream", "failing", "storing", "beginning"],
)
def test_every_state_has_its_words(
    change: Callable[[InformerStatistics, ReflectorStatistics], InformerStatistics], text: str
) -> None:
    """No state of a first sync is silent, a stream on which nothing comes least of all."""
    assert describe(change(DEPLOYMENTS, LISTING), 100.0) == text
