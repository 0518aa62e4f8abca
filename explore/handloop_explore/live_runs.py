"""Writes the undisturbed run and the failed runs to a folder, as a live page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from handloop.picture.page_data import INDEX, is_page, write_page
from handloop.picture.recording import Entry
from handloop_explore.plan import Plan
from handloop_explore.play import play
from handloop_explore.report import Failure, Report
from handloop_explore.story import line_of, parts_at
from handloop_explore.tape import Tape
from handloop_explore.workload import Workload


def write_live_page(folder: Path, workload: Workload, report: Report, title: str) -> None:
    """
    Play the undisturbed run and each failing plan again, and write a page that shows these runs.

    Blocks: for about a second per run.
    """
    failures = [(nth, failure) for nth, failure in enumerate(report.failures, 1) if str(failure.plan)]
    marks = {f"plan-{number}": _strike(failure) for number, failure in failures}
    words = {"name": "undisturbed", "title": "Undisturbed", "about": "What happens without a plan."}
    runs = [*_runs(workload, Plan(), words, marks)]
    for number, failure in failures:
        runs += _failing_runs(number, failure, report, workload)
    write_page(folder, runs, title=title)


def is_free_for_page(folder: Path) -> bool:
    """Return whether a folder is missing, empty, or contains only a live page."""
    return not folder.exists() or all(is_page(file) for file in folder.iterdir())


def remove_page(folder: Path) -> None:
    """Remove an older page, which could be opened by mistake."""
    (folder / INDEX).unlink(missing_ok=True)


def links(number: int, failure: Failure) -> dict[str, str]:
    """Map each link's text to a URL fragment in INDEX. Args: number: the failure's number, from 1."""
    if not str(failure.plan):
        return {"the run": "#run=undisturbed"}
    parts = {"where it diverges from the undisturbed run": f"#run=plan-{number}&at=parts"}
    return {
        "the failing run, where the plan strikes": f"#run=plan-{number}&at=strike",
        **(parts if failure.parting else {}),
        "the undisturbed run at the strike": f"#run=undisturbed&at=plan-{number}",
    }


def _failing_runs(number: int, failure: Failure, report: Report, workload: Workload) -> Iterator[Entry]:
    words = {"name": f"plan-{number}", "title": failure.title, "about": "; ".join(failure.verdicts)}
    here = parts_at(report.undisturbed, failure.played)[1]
    marks = {"strike": _strike(failure), "parts": line_of(failure.played.story, here)}
    return _runs(workload, failure.plan, words, marks)


def _runs(workload: Workload, plan: Plan, head: dict[str, str], marks: dict[str, int]) -> Iterator[Entry]:
    """Yield an entry for each of a run's processes, because each has its own caches and queues."""
    tape = Tape()
    play(workload, plan, recording=tape.recording)
    opening = f"The operator starts with empty caches. {head['title']}: {head['about']}"
    if workload.replicas == 1:
        yield tape.document(head, marks, opening)
        return
    for nth, process in enumerate(tape.processes()):
        name = head["name"] + f"-{process.replace(' ', '-')}" * (nth > 0)
        words = {"name": name, "title": f"{head['title']}, {process}"}
        yield tape.document(head | words, marks, opening, process)


def _strike(failure: Failure) -> int:
    """Return the story's line where the plan first strikes. Earlier lines are equal in both runs."""
    return next((nth for nth, told in enumerate(failure.played.story) if told.who == "plan"), 0)
