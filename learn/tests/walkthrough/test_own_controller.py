"""The plain controller with a reader's parts: what runs in the place of what."""

from __future__ import annotations

import io
from functools import partial
from pathlib import Path

import pytest

from handloop_learn.ch16_your_own import chapter
from handloop_learn.ex16_your_own import FOO, TRIALS, tried
from handloop_learn.line_trace import LineTrace
from handloop_learn.own_controller import INDEX, add_own_foo
from handloop_learn.own_pieces import PARTS, own_pieces
from handloop_learn.screen import Screen
from handloop_learn.stage import Stage
from handloop_learn.waiting import until

SOLUTIONS = Path(__file__).parents[2] / "solutions"
PIECES = own_pieces({name: part.file for name, part in PARTS.items()}, SOLUTIONS)


@pytest.mark.parametrize("name", PARTS)
def test_a_part_runs_in_the_place_of_ours(name: str) -> None:
    """Alone among ours it passes each trial, and its lines run."""
    pieces = own_pieces({name: PARTS[name].file}, SOLUTIONS)
    trace = LineTrace(pieces.places())
    assert [*tried(pieces, trace)] == [*TRIALS]
    assert len(trace.hits) >= 3


def test_a_resync_and_a_bookmark_reach_the_readers_parts() -> None:
    """As updates of what is stored, and as a version."""
    add = partial(add_own_foo, workers=1, pieces=PIECES)
    with Stage(bookmark_seconds=0.2) as stage, stage.running(add) as manager:
        stage.apply()
        until(lambda: stage.send("GET", FOO).get("status", {}).get("availableReplicas") == 1, "the status")
        foos = next(each for each in manager.informers() if each.kind.resource.plural == "foos")
        fifo = foos._fifo
        assert fifo is not None
        handled = sum(each.handled for each in foos.statistics().listeners)
        fifo.resync()
        until(lambda: sum(each.handled for each in foos.statistics().listeners) > handled, "the resync")
        deployments = next(each for each in manager.informers() if each.kind.resource.plural == "deployments")
        assert len(deployments.indexer.by_index(INDEX, "default/example-foo")) == 1


def test_the_chapter_shows_the_readers_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder with solutions these are the parts, and a mark stands at each line that ran."""
    monkeypatch.chdir(SOLUTIONS)
    out = io.StringIO()
    end = chapter(Screen(out))
    assert (end.own, end.passed) == ([*PARTS], [trial.comes for trial in TRIALS])
    assert "process    yours" in out.getvalue()
    assert "8 * |         try:" in out.getvalue()
    assert end.lines["work"] == 11
