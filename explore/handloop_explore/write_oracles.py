"""Oracles that judge a run's writes, as recorded at the server. Each docstring states the oracle's rule."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any, Final

from handloop_explore.chance import Chance
from handloop_explore.difference import value_at
from handloop_explore.end_state import plain_name, without_counts
from handloop_explore.plan import CRASHES
from handloop_explore.played import Played
from handloop_explore.record import OPERATOR, RIVAL, USER, Act, Object, chain, controller_of
from handloop_explore.rivals import FINALIZER
from handloop_explore.rivals import RIVAL as RIVALS_LABEL

SPARE: Final = 3
"""For each strike, a run may have this many creates or idle writes more than the undisturbed run."""
_TOGETHER_SECONDS: Final = 1.0
_EXCUSED_SECONDS: Final = 60.0
_LONGEST_SECONDS: Final = 180.0
_EXPLAINED_SECONDS: Final = {**dict.fromkeys((*CRASHES, "crash"), -1.0), "rival-takes-name": math.inf}
"""How long each of these strikes explains errors. All others explain errors for _LONGEST_SECONDS."""
_DETAILS: Final = re.compile(r"\S*\d\S*")
_MADE: Final = "made by others"
_DELETED: Final = "deleted by others"
_READY: Final = ("Ready", "Available")
_OK: Final = 200
_REDIRECTION: Final = 300


def makes_none_twice(undisturbed: Played, played: Played) -> Iterator[str]:
    """
    An owner does not have more objects of a kind at once than in the undisturbed run.

    For each write that was in flight when its process ended or stopped, one more object is excused, because
    the next process cannot see that write at first.
    """
    unknown = _under_way(played)
    usual = _most_at_once(undisturbed)
    for (owner, kind), most in _most_at_once(played).items():
        if 0 < usual[owner, kind] < most - unknown:
            of = f" of {owner}" if owner else ""
            yield f"{most} objects of kind {kind}{of} at once, undisturbed at most {usual[owner, kind]}"


def writes_no_foreign_object(_: Played, played: Played) -> Iterator[str]:
    """
    The operator does not write an object if only foreign objects control it, directly or indirectly.

    A process is excused if its cache does not show the new controller yet.
    """
    seen = {one.arrival.version: one.arrival.seen for one in played.writes if one.arrival}
    ours: set[str] = set()
    controllers: dict[str, str] = {}
    since: dict[str, int] = {}
    written: dict[str, int] = {}
    for act in played.acts:
        above = list(chain(act.uid, controllers))
        if act.who == OPERATOR and act.old and above and not ours.intersection(above):
            known = max(seen.get(act.version, 0), written.get(act.uid, 0))
            if not 0 < known < since[act.uid]:
                yield f"{act.key} has another controller, but the operator wrote it"
        if act.who == OPERATOR:
            written[act.uid] = act.version
        if act.obj["kind"] in played.reconciled or (act.who == OPERATOR and act.old is None):
            ours.add(act.uid)
        if controllers.get(act.uid) != controller_of(act.obj):
            controllers[act.uid] = controller_of(act.obj)
            since[act.uid] = act.version


def keeps_the_edits_of_others(_: Played, played: Played) -> Iterator[str]:
    """
    The operator does not remove a label or finalizer that another client has set.

    A removal shows that the operator wrote an object that it had read before the other client's edit.
    """
    for act in played.acts:
        if act.who == OPERATOR and act.old and _is_held(act.old) and not _is_held(act.new):
            yield f"the operator removed another client's finalizer from {act.key}"
        if act.who == OPERATOR and act.old and act.new and _has_label(act.old) and not _has_label(act.new):
            yield f"the operator removed another client's label from {act.key}"


def writes_nothing_for_the_gone(undisturbed: Played, played: Played) -> Iterator[str]:
    """After an owner's deletion, the operator creates at most a few more objects for it."""
    usual = sum(_made_for_the_gone(undisturbed).values())
    for owner, times in _made_for_the_gone(played).items():
        if times > usual + SPARE * max(1, len(played.plan.strikes)):
            yield f"{times} objects were created for {owner} after its deletion"


def claims_no_generation_ahead(_: Played, played: Played) -> Iterator[str]:
    """A status does not claim a generation that the object has not reached."""
    for act in played.acts:
        if act.who == OPERATOR and act.changes("status"):
            generation = act.obj["metadata"].get("generation", 0)
            for observed in _observed(act.obj["status"]):
                if observed > generation:
                    yield f"the status of {act.key} claims generation {observed}, but it has {generation}"


def writes_status_last(undisturbed: Played, played: Played) -> Iterator[str]:
    """
    A status that reports success is written after the objects that it describes.

    A status reports success if Ready or Available is True, or if it equals the undisturbed run's last status
    of the same generation. The oracle judges the writes in the second after the status, unless another client
    has caused them.
    """
    final = {
        (act.key, _generation(act)): without_counts(act.obj["status"])
        for act in undisturbed.acts
        if _is_status(act, played.reconciled)
    }
    claims: dict[str, Act] = {}
    disturbed: defaultdict[str, float] = defaultdict(lambda: -_EXCUSED_SECONDS)
    for act in played.acts:
        if _is_status(act, played.reconciled):
            claims.pop(act.uid, None)
            calm = act.at - disturbed[act.uid] >= _EXCUSED_SECONDS
            if act.who == OPERATOR and calm and _claims_all(act.obj, final.get((act.key, _generation(act)))):
                claims[act.uid] = act
            continue
        for owner in {act.uid, *act.owners}:
            if act.who == RIVAL or (act.who == USER and owner != act.uid):
                disturbed[owner] = act.at
            claim = claims.pop(owner, None)
            if claim is None or act.who != OPERATOR or owner == act.uid:
                continue
            if act.at - claim.at <= _TOGETHER_SECONDS:
                yield f"the status of {claim.key} said that all is done before {act.key} was written"


def writes_as_often_as_undisturbed(undisturbed: Played, played: Played) -> Iterator[str]:
    """
    The operator deletes and creates objects no more often than in the undisturbed run, unless another client
    causes it.

    Another client excuses all deletes and creates if it recreates an object of a reconciled kind, or controls
    an object for a while, because the operator may then have to delete dependent objects.
    """
    usual, now = _summary(undisturbed), _summary(played)
    lives = (
        _under_way(played)
        + sum(rival.what == "rival-owner" for rival in played.rivals)
        + sum(
            max(0, counts[_MADE] - usual[name][_MADE])
            for name, counts in now.items()
            if name.partition(" ")[0] in played.reconciled
        )
    )
    for name, counts in now.items():
        for what, excuse in (("deletes", _MADE), ("creates", _DELETED)):
            more, excused = counts[what] - usual[name][what], counts[excuse] - usual[name][excuse]
            if more > max(lives, excused):
                yield f"the operator {what} {name} {counts[what]} times, undisturbed {usual[name][what]}"


def generates_once(undisturbed: Played, played: Played) -> Iterator[str]:
    """The operator does not replace a generated value, such as a password, with a new one."""
    usual = _generated(undisturbed, undisturbed.chance)
    for (name, path), times in _generated(played, undisturbed.chance).items():
        if times > usual[name, path]:
            yield f"the operator generated {path} of {name} again, and replaced the existing value"


def writes_what_changes_something(undisturbed: Played, played: Played) -> Iterator[str]:
    """Each strike causes at most a few additional writes that change nothing."""
    usual, now = _idle(undisturbed), _idle(played)
    if now > usual + SPARE * len(played.plan.strikes):
        yield f"{now} writes change nothing, undisturbed {usual}"


def logs_no_traceback(undisturbed: Played, played: Played) -> Iterator[str]:
    """The operator logs a traceback, as for a TypeError, only if the undisturbed run also logs it."""
    for words in played.bugs:
        if played is undisturbed or words not in undisturbed.bugs:
            yield f"a traceback in the log: {words}"


def logs_no_error_unexplained(undisturbed: Played, played: Played) -> Iterator[str]:
    """
    Each error in the log is explained by a strike, or is also in the undisturbed run's log. Two errors count
    as equal if only words with digits differ.

    A refusal, a rival or a stale view explains errors for three minutes, and a rival that has taken a name
    explains them forever. A crash explains none, because the next process should accept the objects that the
    last one has left.
    """
    usual = set(map(_without_details, undisturbed.errors))
    strikes = [(told.at, told.words.rpartition(": ")[2]) for told in played.story if told.who == "plan"]
    for words, at in played.errors.items():
        if _without_details(words) not in usual and not any(
            since <= at <= since + _EXPLAINED_SECONDS.get(what, _LONGEST_SECONDS) for since, what in strikes
        ):
            yield f"an error in the log that no strike explains: {words}"


def _without_details(words: str) -> str:
    return _DETAILS.sub("*", words)


def _most_at_once(played: Played) -> Counter[tuple[str, str]]:
    """Return, for each owner and kind, the largest number of the operator's objects at the same time."""
    keys = {act.uid: plain_name(act.key) for act in played.acts}
    ours: set[str] = set()
    alive: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    most: Counter[tuple[str, str]] = Counter()
    for act in played.acts:
        if act.who == OPERATOR and act.old is None:
            ours.add(act.uid)
        if act.uid in ours:
            owner = controller_of(act.obj)
            place = (owner, act.obj["kind"])
            (alive[place].discard if act.ends else alive[place].add)(act.uid)
            found = (keys.get(owner, ""), act.obj["kind"])
            most[found] = max(most[found], len(alive[place]))
    return most


def _under_way(played: Played) -> int:
    """Return how many writes reached the server after their process had ended or been stopped."""
    return sum(one.struck in ("crash-sent", "pause") and one.arrival is not None for one in played.writes)


def _made_for_the_gone(played: Played) -> Counter[str]:
    gone: dict[str, str] = {}
    made: Counter[str] = Counter()
    for act in played.acts:
        if act.new is None:
            gone[act.uid] = act.key
        elif act.old is None and act.who == OPERATOR:
            made.update(gone[owner] for owner in act.owners if owner in gone)
    return made


def _generated(played: Played, chance: Chance) -> Counter[tuple[str, str]]:
    """Return how often the operator overwrote each generated value in its objects."""
    found: Counter[tuple[str, str]] = Counter()
    for act in played.acts:
        if act.who != OPERATOR or not (act.old and act.new) or act.obj["kind"] in played.reconciled:
            continue
        for path in chance.paths_of(act.key):
            old, new = value_at(act.old, path), value_at(act.new, path)
            if path[0] not in ("metadata", "status") and None not in (old, new) and old != new:
                found[plain_name(act.key), ".".join(map(str, path))] += 1
    return found


def _summary(played: Played) -> defaultdict[str, Counter[str]]:
    """Return, for each object, how often the operator and others create and delete it."""
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for act in played.acts:
        ours = act.who == OPERATOR
        if act.old is None:
            found[plain_name(act.key)]["creates" if ours else _MADE] += 1
        elif act.ends and "deletionTimestamp" not in act.old["metadata"]:
            found[plain_name(act.key)]["deletes" if ours else _DELETED] += 1
    return found


def _is_held(obj: Object | None) -> bool:
    return FINALIZER in ((obj or {"metadata": {}})["metadata"].get("finalizers") or ())


def _has_label(obj: Object) -> bool:
    return RIVALS_LABEL in (obj["metadata"].get("labels") or ())


def _idle(played: Played) -> int:
    """Return how many accepted writes changed nothing."""
    return sum(
        _OK <= one.status < _REDIRECTION and not one.arrival.version for one in played.writes if one.arrival
    )


def _is_status(act: Act, reconciled: frozenset[str]) -> bool:
    return act.obj["kind"] in reconciled and act.changes("status") and not act.changes("spec")


def _generation(act: Act) -> int:
    generation: int = act.obj["metadata"].get("generation", 0)
    return generation


def _observed(status: Object) -> Iterator[int]:
    """Yield the generations that a status and its conditions claim."""
    for part in (status, *(status.get("conditions") or ())):
        if isinstance(part.get("observedGeneration"), int):
            yield part["observedGeneration"]


def _claims_all(obj: Object, final: Any) -> bool:
    """Return whether a status reports success. Args: final: the undisturbed run's last status, or None."""
    status: Any = obj.get("status") or {}
    generation = obj["metadata"].get("generation", 0)
    if "deletionTimestamp" in obj["metadata"] or status.get("observedGeneration", generation) != generation:
        return False
    ready = [one["status"] for one in status.get("conditions") or () if one.get("type") in _READY]
    return all(one == "True" for one in ready) if ready else without_counts(status) == final
