"""
Converts recorded steps and states to the page's form, in which steps are counted from 1.

A recording leaves out bookmarks, writes of Events, and a process's lease renewals after the first one. Every
run has such steps, and no recording is about them.

A state is stored as its differences from the previous state, by path: {"informers/1/fifo": 0}.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

Entry: TypeAlias = dict[str, Any]
"""A step in the page's form, or {"state": SNAPSHOT}, which follows the steps that the snapshot includes."""

GAP: Final = 0
"""
The step number of an entry that is not one of the twelve steps, but an event outside the program.
"""

_WRITE: Final = 10
_OK: Final = "200"
_NOTHING: Final = object()


def gap(at: float, why: str, *, goes_on: bool = False, stale: Sequence[str] = ()) -> Entry:
    """
    Return an entry about an event outside the program, or about how the run was prepared.

    Args: at is the time, on the clock of the steps. goes_on is true if the program kept running during the
    event; otherwise a new program starts after this entry. stale has the kind's plural and the key of the
    object whose cached copy is out of date after the event.
    """
    facts: dict[str, Any] = {"goes_on": True} if goes_on else {}
    return {
        "seq": 0,
        "t": at,
        "thread": "",
        "step": GAP,
        "component": "",
        "key": "",
        "facts": facts | ({"stale": list(stale)} if stale else {}),
        "gap": None,
        "why": why,
    }


def numbered(parts: Sequence[Iterable[Entry]], opening: str) -> dict[str, Any]:
    """
    Return a run's `steps` and its `states`. The steps' times are in seconds after the first step.

    Each state is stored as its `changes` from the previous one.

    Args: parts holds the entries of each process. opening is a sentence to show before the first step.
    """
    chosen = [entry for part in parts for entry in _chosen(part)]
    begun_at = next(entry["t"] for entry in chosen if "t" in entry)
    first = chosen[: int("state" in chosen[0])]
    chosen = [*first, gap(begun_at, opening), *chosen]
    steps: list[Entry] = []
    states: dict[int, Any] = {}
    for entry in chosen:
        if "state" in entry:
            states[len(steps)] = entry["state"]  # replaces an earlier state if no step in between was chosen
        else:
            steps.append({**entry, "seq": len(steps) + 1, "t": round(entry["t"] - begun_at, 6)})
    return {"steps": steps, "states": list(_shrunk(states))}


def _shrunk(states: Mapping[int, Any]) -> Iterator[Entry]:
    before: Any = {}
    for seq, state in states.items():
        yield {"seq": seq, "changes": dict(sorted(_changes(before, state, ())))}
        before = state


def _changes(before: Any, after: Any, path: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """
    Yield the path and the new value of each difference.

    A list whose length changed, or a map that lost a key, is replaced as a whole.
    """
    if isinstance(before, dict) and isinstance(after, dict) and _is_grown(before, after):
        for key, value in after.items():
            yield from _changes(before.get(key, _NOTHING), value, (*path, key))
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, pair in enumerate(zip(before, after, strict=True)):
            yield from _changes(*pair, (*path, str(index)))
    elif before != after:
        yield "/".join(path), after


def _is_grown(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Return whether a map lost no keys, and no key contains the slash that separates a path's parts."""
    return before.keys() <= after.keys() and not any("/" in key for key in after)


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
