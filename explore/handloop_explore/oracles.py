"""
The oracles, which are rules that every run must follow.

Each yields a sentence for every violation. An oracle's docstring states its rule.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from handloop_explore.administrator import Object
from handloop_explore.chance import Chance
from handloop_explore.difference import differences_of
from handloop_explore.end_state import MADE_BY_CLUSTER, plain_name, renamed
from handloop_explore.plan import LATE, Plan
from handloop_explore.played import Played, Rival, State
from handloop_explore.record import OPERATOR, USER, key_of
from handloop_explore.strikes import place_of
from handloop_explore.write_oracles import (
    SPARE,
    claims_no_generation_ahead,
    generates_once,
    keeps_the_edits_of_others,
    logs_no_error_unexplained,
    logs_no_traceback,
    makes_none_twice,
    writes_as_often_as_undisturbed,
    writes_no_foreign_object,
    writes_nothing_for_the_gone,
    writes_status_last,
    writes_what_changes_something,
)

Oracle: TypeAlias = Callable[[Played, Played], Iterator[str]]
"""A function that receives the undisturbed run and the run to judge, and yields the faults."""


def verdicts(undisturbed: Played, played: Played) -> list[str]:
    """Return a run's faults except habits, or the reasons why the undisturbed run cannot be the baseline."""
    if played is undisturbed:
        return _judged(ORACLES, undisturbed, played)
    found = _judged((*ORACLES, *WRITE_ORACLES), undisturbed, played)
    usual = habits(undisturbed) if found else []
    return [words for words in found if words not in usual]


def habits(undisturbed: Played) -> list[str]:
    """Return the habits, which are the faults of writes that occur even in the undisturbed run."""
    return _judged(WRITE_ORACLES, undisturbed, undisturbed)


def _judged(oracles: Sequence[Oracle], undisturbed: Played, played: Played) -> list[str]:
    found = (words for oracle in oracles for words in oracle(undisturbed, played))
    return list(dict.fromkeys(found))


def ends_quiet(_: Played, played: Played) -> Iterator[str]:
    """When nothing else changes in the cluster, the operator stops writing."""
    if played.busy:
        yield f"it does not come to rest: {played.busy} writes although nothing else happens"


def lives(_: Played, played: Played) -> Iterator[str]:
    """The operator's processes do not end on their own."""
    if played.died:
        yield f"the process ended by itself: {played.died}"


def reconciles_in_time(_: Played, played: Played) -> Iterator[str]:
    """Each reconcile ends before its deadline, even if one of its requests receives no answer."""
    seconds, queue = played.slowest
    if seconds > played.deadline_seconds:
        yield f"a reconcile of {queue} took {seconds:.0f} s, but the limit is {played.deadline_seconds:g} s"


def works(undisturbed: Played, played: Played) -> Iterator[str]:
    """In the undisturbed run, at least one reconcile succeeds."""
    if played is undisturbed:
        failing = [one.failing for one in played.states if one.failing is not None]
        if failing and all(failing):
            yield f"it never succeeds: {failing[-1]}"


def writes_only_while_it_leads(_: Played, played: Played) -> Iterator[str]:
    """If several processes run, only the one with the Lease writes."""
    for write in played.writes:
        if write.objection:
            yield f"process {write.process} writes without the Lease: {write.objection}: {write}"


def makes_no_storm(undisturbed: Played, played: Played) -> Iterator[str]:
    """Objects are not created repeatedly."""
    excused = SPARE * max(1, len(played.plan.strikes))
    for path, times in played.made.items():
        if times > undisturbed.made.get(path, 0) + excused:
            yield f"a storm: {times} creates at {path}, undisturbed {undisturbed.made.get(path, 0)}"


def ends_as_undisturbed(undisturbed: Played, played: Played) -> Iterator[str]:
    """A fault can delay the end state, but changes it only if a rival has deleted or changed an object."""
    takes_name = any(rival.what == "rival-takes-name" for rival in played.rivals)
    # An operator need not retry a write that the server calls invalid.
    if takes_name or _undisturbed_is_judged(played.plan) or any(one.struck == "422" for one in played.writes):
        return
    for number, (good, state) in enumerate(zip(undisturbed.states, played.states, strict=True), 1):
        if state.is_down:
            continue
        expected = dict(good.objects)
        for rival, left in zip(played.rivals, state.left, strict=False):
            if rival.what == "rival-drift":  # both states are right, with and without the drift
                key = key_of(rival.made or {})
                expected |= {key: state.objects[key]} if key in state.objects else {}
            elif _is_lost(rival, left, state, expected):
                if _is_told(rival, state, played):
                    return
                _take_away(expected, rival.target)
            elif rival.what in ("rival-delete", "rival-finalizer") and not rival.rested_at and left is None:
                found = renamed(state.objects, expected)
                _take_away(expected, rival.target)
                if any(_plural(f"{kind} ") in rival.target for kind in played.reconciled):
                    # A finalizer may have deleted objects that the finalized object did not own.
                    expected = {key: obj for key, obj in expected.items() if key in found}
        yield from _compared(undisturbed.chance, expected, state.objects, _when(number, played))


def makes_again_what_is_lost(undisturbed: Played, played: Played) -> Iterator[str]:
    """
    A child that a rival deletes while the cluster is at rest is recreated, or its owner's status changes.

    A Job need not be recreated, because it runs only once.
    """
    for nth, rival in enumerate(played.rivals):
        states = [
            state for state in zip(undisturbed.states, played.states, strict=True) if state[1].left[nth:]
        ]
        good, state = states[0]
        key = key_of(rival.made or {}) if rival.rested_at else ""
        if key not in good.objects or key.startswith("Job ") or _is_told(rival, state, played):
            continue
        if _is_lost(rival, state.left[nth], state, good.objects):
            why = "its owner was reconciled since then"
            if not _is_heard(rival, state):
                why = "no reconcile follows; check that the operator owns or watches it"
            yield f"{key} does not come back after another client has deleted it at rest: {why}"


def ends_by_what_users_want(undisturbed: Played, played: Played) -> Iterator[str]:
    """
    The end state does not depend on history, so an operator that starts later ends in the same state.

    The run's operator starts after the users' steps, or restarts while the cluster is at rest. If this run's
    end state differs, the undisturbed run is wrong.
    """
    if not _undisturbed_is_judged(played.plan):
        return
    begins = "the process ends at rest and another starts"
    if played.plan.starts_at is not None:
        begins = "the operator starts after the users' steps"
    for number, (usual, state) in enumerate(zip(undisturbed.states, played.states, strict=True), 1):
        if not state.is_down:
            when = _when(number, played)
            for words in _compared(undisturbed.chance, state.objects, usual.objects, when):
                yield f"the undisturbed run ends differently than if {begins}: {words}"


def ends_as(reference: Played, played: Played, undisturbed: Played) -> bool:
    """Return whether a run differs from the undisturbed one, in exactly the same way as a reference run."""
    chance, differs = undisturbed.chance, False
    for usual, other, state in zip(undisturbed.states, reference.states, played.states, strict=True):
        if other.is_down or state.is_down:
            continue
        good = chance.without(usual.objects)
        found, there = (chance.without(renamed(one.objects, usual.objects)) for one in (state, other))
        for key in good.keys() | found.keys():
            if good.get(key) != found.get(key):
                if found.get(key) != there.get(key):
                    return False
                differs = True
    return differs


def _undisturbed_is_judged(plan: Plan) -> bool:
    """Return whether a plan only restarts the operator or delays its start."""
    return bool(plan.strikes) and all(one.what == LATE or one.where == "q" for one in plan.strikes)


def _when(number: int, played: Played) -> str:
    return "in the end" if number == len(played.states) else f"at settled() {number}"


def _is_lost(rival: Rival, left: Object | None, state: State, expected: Mapping[str, Any]) -> bool:
    """Return whether an object that a rival deleted at rest has not been replaced, even under a new name."""
    if not rival.rested_at or left is not None:
        return False
    name = plain_name(key_of(rival.made or {}))
    return all(plain_name(key) != name for key in state.objects.keys() - expected.keys())


def _is_heard(rival: Rival, state: State) -> bool:
    """Return whether the object's owner was reconciled after a rival changed the object at rest."""
    made = (rival.made or {})["metadata"]
    names = [one["name"] for one in made["ownerReferences"]]
    names += [f"{made.get('namespace')}/{name}" for name in names]
    return any(state.reconciled_at.get(name, 0.0) >= rival.rested_at for name in names)


def _is_told(rival: Rival, state: State, played: Played) -> bool:
    """Return whether the owner's status, which can report a loss, changed after a rival acted at rest."""
    owners = {one["uid"] for one in (rival.made or {})["metadata"]["ownerReferences"]}
    since = (act for act in played.acts if rival.rested_at <= act.at <= state.at and act.who == OPERATOR)
    return any(act.uid in owners and act.changes("status") for act in since)


def _compared(
    chance: Chance, expected: Mapping[str, Any], state: Mapping[str, Any], when: str
) -> Iterator[str]:
    good, found = chance.without(expected), chance.without(renamed(state, expected))
    for key in sorted(good.keys() | found.keys()):
        if MADE_BY_CLUSTER in (found.get(key) or good[key])["metadata"]:
            continue  # the object depends on others, which are compared
        if key not in found:
            yield f"{key} is missing {when}"
        elif key not in good:
            twins = sum(plain_name(other) == plain_name(key) for other in found)
            again = " once more" if twins > 1 else ""
            yield f"{key} exists{again} {when}, but should not"
        elif good[key] != found[key]:
            yield f"{key} differs {when}: {', '.join(differences_of(key, good[key], found[key]))}"


def leaves_foreign_objects_alone(_: Played, played: Played) -> Iterator[str]:
    """
    The operator does not change or delete an object that a rival created under a name the operator uses.

    A user can delete that object.
    """
    given_up = {act.uid for act in played.acts if act.who == USER and act.ends}
    for rival, left in zip(played.rivals, played.states[-1].left, strict=True):
        if rival.what != "rival-takes-name" or rival.made is None:
            continue
        if rival.made["metadata"].get("uid") in given_up:
            continue
        if left is None:
            # A client can delete the object or its namespace. The operator must not delete it, even through
            # an owner that the operator has set.
            ends = [act for act in played.acts if act.uid == rival.made["metadata"].get("uid") and act.ends]
            if not ends or ends[0].who == OPERATOR or ends[0].owners:
                yield f"the foreign object {rival.target} was deleted"
        elif paths := list(differences_of(f"{left.get('kind')} ", _own_part(rival.made), _own_part(left))):
            yield f"the foreign object {rival.target} was written: {', '.join(paths)}"


def lets_deletions_end(_: Played, played: Played) -> Iterator[str]:
    """A deletion completes, unless the operator is supposed to keep the object."""
    for key, obj in played.states[-1].objects.items():
        name = re.sub(r" .*/", " ", key)
        if obj["metadata"].get("deletionTimestamp") and name not in played.refused:
            yield f"{key} is still being deleted, and waits for {obj['metadata'].get('finalizers')}"


def keeps_invariants(_: Played, played: Played) -> Iterator[str]:
    """The author's own invariants hold."""
    yield from played.broken


ORACLES: Final[tuple[Oracle, ...]] = (
    lives,
    reconciles_in_time,
    works,
    writes_only_while_it_leads,
    ends_quiet,
    makes_no_storm,
    ends_as_undisturbed,
    makes_again_what_is_lost,
    ends_by_what_users_want,
    leaves_foreign_objects_alone,
    lets_deletions_end,
    keeps_invariants,
)
WRITE_ORACLES: Final[tuple[Oracle, ...]] = (
    makes_none_twice,
    writes_no_foreign_object,
    keeps_the_edits_of_others,
    writes_nothing_for_the_gone,
    claims_no_generation_ahead,
    writes_status_last,
    writes_as_often_as_undisturbed,
    writes_what_changes_something,
    generates_once,
    logs_no_traceback,
    logs_no_error_unexplained,
)


def _take_away(expected: dict[str, dict[str, Any]], target: str) -> None:
    """Remove an object, and all objects that it owns, from `expected`."""
    namespace, _, name = place_of(target)
    gone = [key for key in expected if key.endswith(f" {namespace}/{name}") and _plural(key) in target]
    while gone:
        key = gone.pop()
        expected.pop(key, None)
        kind, _, place = key.partition(" ")
        namespace, _, name = place.partition("/")
        gone += [
            other
            for other, obj in expected.items()
            if f"{kind} {name}" in obj["metadata"]["owners"]
            and (not namespace or other.partition(" ")[2].startswith(f"{namespace}/"))
        ]


def _plural(key: str) -> str:
    """Return the first part of a kind's plural in a path, such as `/deployment`."""
    return f"/{key.partition(' ')[0].lower()}"


def _own_part(obj: Mapping[str, Any]) -> dict[str, Any]:
    metadata = obj["metadata"]
    kept = {key: metadata.get(key) for key in ("labels", "ownerReferences", "finalizers")}
    return {
        **{key: value for key, value in obj.items() if key not in ("metadata", "status")},
        "metadata": kept,
    }
