"""Describes runs as text: their writes, how old the cache was at each write, and where two runs diverge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, zip_longest
from typing import Any, Final

from handloop_explore.difference import differences_of
from handloop_explore.played import Played, Told, Write
from handloop_explore.record import CLIENTS, RIVAL, Act, Object
from handloop_explore.strikes import place_of

MOST_LINES: Final = 40
_MOST_DIFFERENCES: Final = 3
_NEAR: Final = 2
"""How many lines are shown before and after a line that differs."""
_OK: Final = 200
_REDIRECTION: Final = 300
_UNTOLD: Final = ("resourceVersion", "generation", "managedFields", "observedGeneration")
_VERBS: Final = {"POST": "create", "DELETE": "delete"}


def in_words(story: Sequence[Told], writes: Sequence[Write], acts: Sequence[Act]) -> list[Told]:
    """Return a story in which the lines about writes say what the writes changed."""
    found = {act.version: act for act in acts}
    return [
        told._replace(words=told.words.partition("write ")[0] + _write(writes[told.write - 1], found, acts))
        if told.write and told.who != "plan"
        else told
        for told in story
    ]


def lines(undisturbed: Played, played: Played) -> list[str]:
    """
    Return a run's story as text for people, in about 40 lines.

    The story includes the rivals' changes and the cluster's own deletions. Lines that the undisturbed run
    also has are shown only near a difference.
    """
    told = list(with_others(played))
    usual = {_unnumbered(one) for one in undisturbed.story} if played is not undisturbed else set()
    eventful = [nth for nth, one in enumerate(told) if _unnumbered(one) not in usual]
    near = {nth + step for nth in eventful for step in range(-_NEAR, _NEAR + 1)}
    near |= {nth for nth, one in enumerate(told) if one.who == "user"}
    shown: list[str] = []
    for is_near, group in groupby(range(len(told)), key=near.__contains__):
        part = [told[nth] for nth in group]
        writes = sum(bool(one.write) for one in part)
        if is_near or len(part) <= _NEAR:
            shown += map(str, part)
        else:
            shown.append(f"{'...':>8}    {writes} writes as in the undisturbed run")
    left_out = len(shown) - MOST_LINES
    if left_out > 0:
        half = MOST_LINES // 2
        shown = [*shown[:half], f"{'...':>8}    {left_out} lines are left out", *shown[-half:]]
    return shown


def with_others(played: Played) -> Iterator[Told]:
    """Yield the story, with the rivals' changes and the cluster's own deletions inserted."""
    others = [act for act in played.acts if act.who == RIVAL or (act.who not in CLIENTS and act.new is None)]
    answered = {told.write for told in played.story if told.who != "plan"}
    found = {act.version: act for act in played.acts}
    for told in played.story:
        arrival = played.writes[told.write - 1].arrival if told.write and told.who != "plan" else None
        while others and (others[0].version <= arrival.before if arrival else others[0].at < told.at):
            yield _of_another(others.pop(0))
        yield told
        if told.who == "plan" and told.write and told.write not in answered:
            write = played.writes[told.write - 1]
            if write.arrival:
                yield Told(
                    told.at, "server", f"write {told.write}: {_deed(write, found)} -> no answer", told.write
                )
    yield from map(_of_another, others)


def parting(undisturbed: Played, played: Played) -> str:
    """Describe the first write in which a run differs from the undisturbed one, or return "" if none does."""
    usual, here = parts_at(undisturbed, played)
    if not (usual or here):
        return ""
    good, bad = dict(_deeds(undisturbed)), dict(_deeds(played))
    words = _with_number(good, usual), _with_number(bad, here)
    return "the runs diverge: undisturbed, the operator {}; here it {}".format(*words)


def parts_at(undisturbed: Played, played: Played) -> tuple[int, int]:
    """Return each run's number for the first write that differs, or 0 if a run has no such write."""
    # Equal writes after that are ignored, because a controller can repeat a write.
    for (usual, good), (here, bad) in zip_longest(_deeds(undisturbed), _deeds(played), fillvalue=(0, "")):
        if good != bad:
            return usual, here
    return 0, 0


def line_of(story: Sequence[Told], write: int) -> int:
    """Return the index of the line with a write's result, or the story's length if no line has it."""
    found = (nth for nth, told in enumerate(story) if write and told.write == write)
    return max(found, default=len(story))


def deed(act: Act) -> str:
    """Return an object's change in words, such as `creates Deployment default/a`."""
    if act.old is None:
        return f"creates {act.key}"
    if act.new is None:
        metadata = act.old["metadata"]
        if "deletionTimestamp" in metadata and metadata.get("finalizers"):
            return f"removes the last finalizer of {act.key}, which deletes it"
        return f"deletes {act.key}"
    if act.ends and "deletionTimestamp" not in act.old["metadata"]:
        return f"begins to delete {act.key}"
    paths = list(differences_of(act.key, _told(act.old), _told(act.new)))
    more = len(paths) - _MOST_DIFFERENCES
    shown = "; ".join(paths[:_MOST_DIFFERENCES]) + (f"; and {more} more" if more > 0 else "")
    return f"changes {act.key}: {shown}" if shown else f"changes {act.key}"


def _with_number(deeds: Mapping[int, str], number: int) -> str:
    """Return the description of a write, with the write's number."""
    return f"{deeds[number]} (write {number})" if number else "writes nothing there"


def _unnumbered(told: Told) -> str:
    return told.words.partition(": ")[2] if told.write else told.words


def _deeds(played: Played) -> list[tuple[int, str]]:
    """Return the number and the description of each write that reached the server."""
    acts = {act.version: act for act in played.acts}
    return [(one.number, _deed(one, acts)) for one in played.writes if one.arrival]


def _write(write: Write, found: dict[int, Act], acts: Sequence[Act]) -> str:
    answer = write.status or "no answer"
    return f"write {write.number}: {_deed(write, found)}{_view(write, found, acts)} -> {answer}"


def _deed(write: Write, found: dict[int, Act]) -> str:
    act = found.get(write.arrival.version) if write.arrival else None
    if act is not None:
        return deed(act)
    _, collection, name = place_of(write.path)
    target = "/".join([collection.rpartition("/")[2], *([name] if name else [])])
    of = "the status of " if write.path.endswith("/status") else ""
    if _OK <= write.status < _REDIRECTION:
        return f"writes {of}{target}, which changes nothing"
    return f"tries to {_VERBS.get(write.method, 'change')} {of}{target}"


def _view(write: Write, found: dict[int, Act], acts: Sequence[Act]) -> str:
    """Return how far the cache was behind the server, or "" if it was up to date."""
    if write.arrival is None:
        return ", which never reaches the server"
    _, _, name = place_of(write.path)
    act = found.get(write.arrival.version)
    before = [one for one in acts if one.version <= write.arrival.before and _is_of(one, write, act, name)]
    if not before or before[-1].new is None:
        return ""
    if not write.arrival.seen:
        return " (its cache does not have it yet)"
    missed = sum(one.version > write.arrival.seen for one in before)
    newest = before[-1].version
    seen = f"its cache has version {write.arrival.seen}, the server {newest}"
    return f" ({seen}: {missed} change{'s' * (missed > 1)} behind)" if missed else ""


def _is_of(one: Act, write: Write, act: Act | None, name: str) -> bool:
    """Return whether an earlier change affected the object of a write."""
    if act is not None:
        return one.uid == act.uid
    collection = place_of(write.path)[1].rpartition("/")[2]
    kind = one.obj["kind"].lower()
    return bool(name) and one.obj["metadata"]["name"] == name and collection.startswith(kind[:-1])


def _of_another(act: Act) -> Told:
    who = "the rival" if act.who == RIVAL else "the cluster"
    return Told(act.at, "rival" if act.who == RIVAL else "server", f"{who} {deed(act)}")


def _told(obj: Object) -> Object:
    """Return an object without the fields that every change updates, or a status with only these fields."""
    told: Object = _without_counts(obj)
    return told if told.get("status") else {key: one for key, one in told.items() if key != "status"}


def _without_counts(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_counts(one) for one in value]
    if not isinstance(value, dict):
        return value
    items = ((key, one) for key, one in value.items() if key not in _UNTOLD and not key.endswith("Time"))
    return {key: _without_counts(one) for key, one in items}
