"""Builds a recording's document, for the page and for the repository."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from handloop.picture.explain import explain
from handloop.picture.recorder import Step
from handloop.picture.recording import GAP, Entry, numbered
from tools.recorded_runs.catalog import PRESENT, Mark, Run


class MarkMissingError(Exception):
    """A run does not show one of its marks."""


def recording(run: Run, parts: Sequence[Iterable[Entry]]) -> dict[str, Any]:
    """
    Return a run's document, with its steps, states and marks. Steps are numbered from 1, and the first step's
    time is 0.

    Args: parts: the entries that each process reported. Raises: MarkMissingError if the run does not show a
    mark.
    """
    told = numbered(parts, run.opening)
    return {**_head(run, told["steps"]), **told}


def retold(run: Run, document: Mapping[str, Any]) -> dict[str, Any]:
    """
    Return a document with the same steps, but current sentences, title and marks.

    Raises: MarkMissingError if the steps do not show a mark.
    """
    opening, *told = document["steps"]
    told = [step if step["step"] == GAP else {**step, "why": sentence(step)} for step in told]
    steps = [{**opening, "why": run.opening}, *told]
    return {**_head(run, steps), "steps": steps, "states": document["states"]}


def _head(run: Run, steps: Sequence[Entry]) -> dict[str, Any]:
    words = {"name": run.name, "title": run.title, "about": run.about, "key": run.key}
    return {**words, "shows": list(run.shows), "marks": _marked(run, steps), "says": dict(run.says)}


def sentence(step: Mapping[str, Any]) -> str:
    """Return the page's current sentence about a step."""
    words = ("thread", "step", "component", "key", "facts")
    return explain(Step(step["seq"], step["t"], *(step[word] for word in words)))


def _marked(run: Run, steps: Sequence[Entry]) -> dict[str, int]:
    """Return the seq of each mark, which is the seq of the nth matching step after the previous mark."""
    marks: dict[str, int] = {}
    at = 0
    for mark in run.marks:
        like = (step["seq"] for step in steps[at:] if _is_like(mark, step))
        found = next(islice(like, mark.nth - 1, None), None)
        if found is None:
            raise MarkMissingError(f"{run.name}: no step after step {at} matches the mark `{mark.name}`")
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
