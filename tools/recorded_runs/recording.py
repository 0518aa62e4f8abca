"""
A recorded run as a document, for the page and for the repository.

Which steps are in it: all that were told, but bookmarks, requests about Events, and, after a process' first
one, successful renewals of a lease. They come with every run, and are never what it is about.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from handloop.walkthrough.live.explain import explain
from handloop.walkthrough.live.recorder import Step
from tools.recorded_runs.catalog import GAP, PRESENT, Mark, Run
from tools.recorded_runs.tape import Entry

_WRITE: Final = 10
_OK: Final = "200"


class MarkMissingError(Exception):
    """A run does not show what it promises."""


def recording(run: Run, parts: Sequence[Iterable[Entry]]) -> dict[str, Any]:
    """
    The document of a run: its steps counted from 1, in seconds from its first step, its states, and marks.

    Args: parts = what each process told. Raises: MarkMissingError.
    """
    chosen = [entry for part in parts for entry in _chosen(part)]
    begun_at = next(entry["t"] for entry in chosen if "t" in entry)
    first = chosen[: int("state" in chosen[0])]
    chosen = [*first, gap(begun_at, run.opening), *chosen]
    steps: list[Entry] = []
    states: dict[int, Any] = {}
    for entry in chosen:
        if "state" in entry:
            states[len(steps)] = entry["state"]  # the newest one, if what came between was not chosen
        else:
            steps.append({**entry, "seq": len(steps) + 1, "t": round(entry["t"] - begun_at, 6)})
    kept = [{"seq": seq, "state": state} for seq, state in states.items()]
    return {**_head(run, steps), "steps": steps, "states": kept}


def retold(run: Run, document: Mapping[str, Any]) -> dict[str, Any]:
    """The same steps with today's sentences, title and marks. Raises: MarkMissingError."""
    opening, *told = document["steps"]
    told = [step if step["step"] == GAP else {**step, "why": sentence(step)} for step in told]
    steps = [{**opening, "why": run.opening}, *told]
    return {**_head(run, steps), "steps": steps, "states": document["states"]}


def _head(run: Run, steps: Sequence[Entry]) -> dict[str, Any]:
    words = {"name": run.name, "title": run.title, "about": run.about, "key": run.key}
    return {**words, "shows": list(run.shows), "marks": _marked(run, steps)}


def sentence(step: Mapping[str, Any]) -> str:
    """What the page would say of a step now."""
    words = ("thread", "step", "component", "key", "facts")
    return explain(Step(step["seq"], step["t"], *(step[word] for word in words)))


def gap(at: float, why: str) -> Entry:
    """What was arranged or has happened outside of the program. Args: at, by the clock of steps."""
    return {
        "seq": 0,
        "t": at,
        "thread": "",
        "step": GAP,
        "component": "",
        "key": "",
        "facts": {},
        "gap": None,
        "why": why,
    }


def _chosen(entries: Iterable[Entry]) -> Iterator[Entry]:
    renewed = False
    for entry in entries:
        if entry.get("step") == 1 and entry["facts"].get("events") == 0:
            continue
        if entry.get("step") == _WRITE:
            resource = entry["component"].partition(".")[0]
            if resource == "events":
                continue
            if resource == "leases" and entry["facts"]["code"] == _OK:
                if renewed:
                    continue
                renewed = True
        yield entry


def _marked(run: Run, steps: Sequence[Entry]) -> dict[str, int]:
    """The seq of each mark: the nth step that is like it, after the mark before."""
    marks: dict[str, int] = {}
    at = 0
    for mark in run.marks:
        like = (step["seq"] for step in steps[at:] if _is_like(mark, step))
        found = next(islice(like, mark.nth - 1, None), None)
        if found is None:
            raise MarkMissingError(f"{run.name}: no step after {at} is `{mark.name}`")
        marks[mark.name] = at = found
    return marks


def _is_like(mark: Mark, step: Mapping[str, Any]) -> bool:
    return (
        step["step"] == mark.step
        and mark.thread in step["thread"]
        and mark.component in step["component"]
        and mark.key in step["key"]
        and all(
            name in step["facts"] and value in (PRESENT, step["facts"][name])
            for name, value in mark.facts.items()
        )
    )
