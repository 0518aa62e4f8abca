"""The recordings: each is made anew, and those in the repository are what the page needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import pytest

from handloop.picture.recording import GAP
from handloop.seams.quiet_logs import quiet_logs
from support.builders.whole_states import whole_states
from tools.recorded_runs.catalog import FOO, RUNS, Run
from tools.recorded_runs.recording import MarkMissingError, recording, retold
from tools.recorded_runs.scripts import SCRIPTS
from tools.recorded_runs.shelf import FOLDER, read, write

MOST_BYTES: Final = 60_000
STEP: Final = {"seq", "t", "thread", "step", "component", "key", "facts", "why"}

BUSY: Final = ("queued", "dirty", "processing")

each_run: Final = pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)


class Story:
    """The steps of a run, for questions about them."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.steps: list[dict[str, Any]] = document["steps"]
        self.marks: dict[str, int] = document["marks"]

    def count(self, number: int, key: str = FOO, since: str = "", until: str = "", **facts: Any) -> int:
        """How many steps of a number and a key have these facts; from a mark, and before another."""
        first, end = self.marks.get(since, 1), self.marks.get(until, len(self.steps) + 1)
        told = [
            step for step in self.steps[first - 1 : end - 1] if (step["step"], step["key"]) == (number, key)
        ]
        return sum(facts.items() <= step["facts"].items() for step in told)

    def waits(self) -> list[float]:
        """The seconds of each add rate limited."""
        facts = [step["facts"] for step in self.steps if step["step"] == 11]
        return [each["seconds"] for each in facts if "seconds" in each]


PROMISES: Final[Mapping[str, Callable[[Story], bool]]] = {
    "apply": lambda story: not story.waits(),
    "merge": lambda story: (
        story.count(7, until="got") == 7
        and story.count(7, until="got", merged=True) == 6
        and story.count(8, until="scaled") == 1
    ),
    "in-flight": lambda story: story.count(8, since="got", until="again") == 1 and not story.waits(),
    "missing-done": lambda story: not story.count(8, since="lost", until="done"),
    "expired": lambda story: (
        not story.count(2, "default/gone-foo", since="broke", until="tombstone")
        and not story.count(7, "default/gone-foo", since="told")
    ),
    "failures": lambda story: story.waits() == [0.005, 0.01, 0.02],
    "conflict": lambda story: len(story.waits()) == story.count(10, code="409") > 0,
    "restart": lambda story: (
        not story.count(10, "default/", since="killed", verb="create")
        and story.count(12, since="status", again=False) == 1
    ),
    "lease": lambda story: not story.count(8, since="gone", until="taken"),
    "storm": lambda story: (
        story.count(10, "default/", until="hardened", verb="create", code="201") >= 3
        and story.count(7, until="hardened", merged=True, in_flight=False) >= 2
        and not story.count(10, "default/", since="hardened", verb="create")
    ),
}


@cache
def kept(name: str) -> dict[str, Any]:
    """A run of the repository."""
    return read(name)


@each_run
def test_a_run_is_made_anew(run: Run, tmp_path: Path) -> None:
    """The real program still shows all of it, in as few steps; and what is written is what is read."""
    with quiet_logs():
        document = recording(run, SCRIPTS[run.name]())
    is_whole(document)
    assert PROMISES[run.name](Story(document)), document["steps"]
    # a leader that is refused in the middle of a sync tries more often before it gives up: 33 kB become 60
    assert write(document, tmp_path) <= 2 * MOST_BYTES
    assert read(run.name, tmp_path) == document


@each_run
def test_a_run_of_the_repository_is_up_to_date(run: Run) -> None:
    """What the page says of it is what the code says today."""
    document = kept(run.name)
    is_whole(document)
    assert PROMISES[run.name](Story(document))
    assert retold(run, document) == document, "python -m tools.recorded_runs --retell"
    assert (FOLDER / f"{run.name}.json").stat().st_size <= MOST_BYTES


def test_each_file_is_a_run() -> None:
    """Nothing else lies in the folder."""
    assert {path.stem for path in FOLDER.iterdir()} == {run.name for run in RUNS} == SCRIPTS.keys()


def test_a_run_that_does_not_show_what_it_promises_is_refused() -> None:
    """A mark without its step."""
    steps = [step | {"facts": {}} for step in kept("apply")["steps"]]
    with pytest.raises(MarkMissingError, match="apply: no step after step 0 matches the mark `listed`"):
        recording(RUNS[0], [steps])


def is_whole(document: Mapping[str, Any]) -> None:
    """Steps count from 1, in time order; states belong to them; and each mark is the seq of one."""
    steps, states = document["steps"], document["states"]
    assert [step["seq"] for step in steps] == list(range(1, len(steps) + 1))
    assert all(
        step.keys() == STEP or (step.keys() == STEP | {"gap"} and step["step"] == GAP) for step in steps
    )
    assert 20 <= len(steps) <= 200
    assert steps[0]["t"] == 0
    assert all(0 <= later["t"] - step["t"] < 10 for step, later in pairwise(steps))
    seqs = [state["seq"] for state in states]
    assert seqs == sorted(set(seqs))
    assert set(document["marks"].values()) <= set(range(1, len(steps) + 1))
    assert seqs[-1] == len(steps)
    assert 5 <= len(document["says"]) <= 8
    whole = list(whole_states(document).values())
    assert all(state.keys() == whole[-1].keys() for state in whole if state["ready"])
    assert not any(queue[keys] for queue in whole[-1]["queues"] for keys in BUSY), "it comes to rest"
