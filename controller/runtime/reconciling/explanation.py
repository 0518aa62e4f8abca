"""
Explain in sentences what happens to a name, or why nothing happens. The newest sentence comes first.

    the current state (queue, worker, pause, cache)     --> the first sentences
    the recent decisions (sources/decisions.py) --> one sentence each

The functions are pure: the caller collects the state and the decisions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from handloop.controller.runtime.sources.decisions import (
    DROPPED,
    FAILED,
    GAVE_UP,
    IGNORED,
    PARKED,
    PAUSED,
    RECONCILES,
    TOLD,
    WAITS,
    Decision,
)
from handloop.controller.runtime.sources.reconcile_queue import RETRY, Standing

_MINUTE: Final = 60
_HOUR: Final = 3600
_MOST: Final = 3
_ROUNDED: Final = 0.001
_COMPARED: Final = 2_000
"""The most names that are compared letter by letter. Comparing twenty names takes one millisecond."""


class Now(NamedTuple):
    """
    The state of a name in a controller.

    Fields: queue, its state in the queue; running, how long its reconcile has run and the line that it is
    executing, or None if no reconcile is running; paused, the reason for its pause, or "" if it is not
    paused; misfit, whether the object exists but does not fit its type; troubles, the reasons why the caches
    are not filled; known, whether the cache has the object; deleting, whether the object has a deletion
    timestamp; poke, the annotation that triggers a reconcile; status, the problems that the object's
    conditions report.
    """

    queue: Standing
    running: tuple[float, str] | None = None
    paused: str = ""
    misfit: bool = False
    troubles: Sequence[str] = ()
    known: bool = True
    deleting: bool = False
    poke: str = ""
    status: Sequence[str] = ()


def explained(now: Now, decisions: Sequence[Decision], at: float) -> tuple[str, ...]:
    """Return the sentences. Args: decisions are sorted by time; at is the time now, on the same clock."""
    return (*_present(now, decisions), *(_told(each, at) for each in reversed(decisions)))


def _present(now: Now, decisions: Sequence[Decision]) -> Iterator[str]:
    last = next((each for each in reversed(decisions) if each.what in RECONCILES), None)
    if now.troubles:
        yield f"waits for the caches: {'; '.join(now.troubles)}"
    if now.misfit:
        yield "is not reconciled: the object does not fit its type; see the Event InvalidObject"
    elif not now.known:
        yield "the cache has no such object"
    if now.running is not None:
        seconds, where = now.running
        yield f"has been in its reconcile for {_seconds(seconds)}, at {where}"
    if now.paused:
        yield f"is paused {now.paused}{'' if not now.deleting else ', its deletion too'}"
    if now.queue.gave_up:
        error = f": {last.text}" if last is not None and last.text else ""
        yield (
            f"waits for a change, as the last reconcile failed permanently{error} "
            f"(`kubectl annotate ... {now.poke}=...` tries it again)"
        )
    waits = list(_waits(now, decisions, last))
    yield from waits
    if not (waits or now.running or now.paused or now.queue.gave_up or now.troubles or now.misfit):
        yield _nothing(decisions, last)
    yield from (f"its status says {each}" for each in now.status)


def _waits(now: Now, decisions: Sequence[Decision], last: Decision | None) -> Iterator[str]:
    queue = now.queue
    if queue.causes:
        causes = ", ".join(map(str, queue.causes))
        parked = decisions[-1] if decisions and decisions[-1].what == PARKED else None
        if now.running is not None:
            yield f"is reconciled again afterwards, for {causes}"
        elif parked is not None:
            yield f"waits at most {_took(parked)}, because {parked.text}; then it is reconciled for {causes}"
        else:
            yield f"waits for a worker, for {causes}"
    if queue.due is None or queue.due_in is None:
        if queue.failures and now.running is None and not queue.causes:
            yield f"backs off after {_counted(queue.failures, 'failure')}{_last(last)}"
        return
    seconds = _seconds(max(0.0, queue.due_in))
    if queue.due.subject == RETRY:
        yield f"waits {seconds} more after {_counted(queue.failures, 'failure')}{_last(last)}"
    elif last is not None and last.what == WAITS:
        yield f"waits for a watch event, for at most another {seconds}: {last.text}"
    else:
        yield f"is reconciled again in {seconds}, as its last reconcile requested"


def _last(last: Decision | None) -> str:
    return "" if last is None or not last.text else f", the last: {last.text}"


def _nothing(decisions: Sequence[Decision], last: Decision | None) -> str:
    since = [each for each in decisions if last is None or each.at > last.at]
    said = [f"{_counted(each.count, 'event')} since {_was(each)}" for each in since if each.what == DROPPED]
    said += [f"{_counted(each.count, 'cause')} since {_was(each)}" for each in since if each.what == IGNORED]
    if last is None:
        first = "nothing to do: this process has no record of a reconcile"
    else:
        first = f"nothing to do: the last reconcile wrote {last.changes or 'nothing'}"
    began = 0.0 if last is None else last.at - last.milliseconds / 1000 - _ROUNDED
    told = [each for each in decisions if each.what == TOLD and each.at >= began]
    said += [f"the user was warned: {each.text}" for each in told]
    return "; ".join([first, *said])


def _was(each: Decision) -> str:
    plural = "was" if each.count == 1 else "were"
    if each.what == DROPPED:
        return f"{plural} dropped by {each.by} ({each.text})"
    return f"had no effect, as {each.by} ({each.text})"


def _told(each: Decision, at: float) -> str:
    ago = f"{_seconds(at - each.at)} ago"
    if each.what == DROPPED:
        return f"{ago}: {_counted(each.count, 'event')} {_was(each)}"
    if each.what == IGNORED:
        return f"{ago}: {_counted(each.count, 'cause')} {_was(each)}"
    if each.what == TOLD:
        return f"{ago}: warned the user{'' if each.count == 1 else f' {each.count} times'}: {each.text}"
    if each.what == PARKED:
        often = "" if each.count == 1 else f", {each.count} times"
        return f"{ago}: parked, because {each.text}{often}"
    because = f" for {each.cause}" if each.cause else ""
    if each.what == PAUSED:
        return f"{ago}: not reconciled, because it is paused{because}"
    often = "" if each.count == 1 else f" {each.count} times, the last"
    return f"{ago}: reconciled{often} in {_took(each)}{because}: {_outcome(each)}"


def _took(each: Decision) -> str:
    return _seconds(each.milliseconds / 1000)


def _outcome(each: Decision) -> str:
    wrote = f"wrote {each.changes or 'nothing'}"
    if each.what == WAITS:
        return f"{wrote}, and waits: {each.text}"
    if each.what in (FAILED, GAVE_UP):
        return f"{wrote}, and failed{' permanently' if each.what == GAVE_UP else ''}: {each.text}"
    return wrote


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _seconds(seconds: float) -> str:
    """Return a duration as text, such as `0.004 s`, `41 s` or `3 min`."""
    if seconds < 1:
        return f"{seconds:.3f} s"
    if seconds < 2 * _MINUTE:
        return f"{seconds:.0f} s"
    return f"{seconds / _MINUTE:.0f} min" if seconds < 2 * _HOUR else f"{seconds / _HOUR:.1f} h"


def near(name: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return up to three names: the same name in other namespaces, then similar names in the same one."""
    from difflib import get_close_matches  # noqa: PLC0415 - needed only after a typo

    namespace, _, last = name.rpartition("/")
    elsewhere: list[str] = []
    beside: list[str] = []
    for each in dict.fromkeys(names):
        if each.rpartition("/")[2] == last:
            elsewhere.append(each)
        elif each.rpartition("/")[0] == namespace and len(beside) < _COMPARED:
            beside.append(each)
    return tuple([*elsewhere, *get_close_matches(name, beside, _MOST, 0.6)][:_MOST])
