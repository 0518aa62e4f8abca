"""One plain sentence for a step: what happened, and why it matters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from handloop.walkthrough.live.recorder import Step


def explain(step: Step) -> str:
    """The sentence for a step."""
    return _SENTENCES[step.number](step, step.facts)


def seconds_text(seconds: float) -> str:
    """A duration in its usual form: `5 ms`, `1.28 s`."""
    return f"{seconds * 1000:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def _list_and_watch(step: Step, facts: Mapping[str, Any]) -> str:
    version = facts["resource_version"]
    if "listed" in facts:
        objects = _count(facts["listed"], "object")
        return f"The reflector listed {objects} of {step.component}, at resource version {version}."
    if not facts["events"]:
        return f"The server sent a bookmark: nothing of {step.component} changed up to version {version}."
    changes = _count(facts["events"], "watch event")
    return f"One block of the watch brought {changes} of {step.component}."


def _add_object(step: Step, facts: Mapping[str, Any]) -> str:
    if facts["tombstone"]:
        return (
            f"{step.key} is not in the new list, and its deletion was never seen: "
            "a tombstone (DeletedFinalStateUnknown) goes into the FIFO."
        )
    if joins := facts["joins"]:
        waiting = _count(joins, "delta")
        return f"{step.key} waits in the FIFO with {waiting}: {facts['type']} joins, and one pop takes all."
    return f"{facts['type']} of {step.key} went into the FIFO, its key to the end of the line."


def _pop(step: Step, facts: Mapping[str, Any]) -> str:
    types = ", ".join(facts["types"])
    return f"The informer popped {step.key} with what happened to it: {types}. Keys left: {facts['left']}."


def _update_index(step: Step, facts: Mapping[str, Any]) -> str:
    indexes = ", ".join(facts["indexes"]) or "no index"
    if facts.get("deleted"):
        return f"{step.component} {step.key} left its indexes: {indexes}."
    return f"{step.component} {step.key} was entered in its indexes: {indexes}."


def _store(step: Step, facts: Mapping[str, Any]) -> str:
    change = "left" if facts.get("deleted") else "is new in" if facts["new"] else "was replaced in"
    return f"{step.component} {step.key} {change} the store, before any handler hears of it."


def _dispatch(step: Step, facts: Mapping[str, Any]) -> str:
    kind = facts["what"].removesuffix("Notification").lower()
    return f"{step.component} gets the {kind} of {step.key} and calls its handler on a thread of its own."


def _enqueue(step: Step, facts: Mapping[str, Any]) -> str:
    if facts["in_flight"] and facts["merged"]:
        return f"{step.key} was added once more while a worker has it: dirty holds it, one run follows."
    if facts["in_flight"]:
        return (
            f"{step.key} was added while a worker was processing it: kept in dirty, not queued; "
            "done() will queue it."
        )
    if facts["merged"]:
        return f"{step.key} waits in the queue already: this add and that one are a single run."
    return f"{step.key} went to the end of the queue {step.component}."


def _get_key(step: Step, facts: Mapping[str, Any]) -> str:
    return (
        f"{step.thread} got {step.key}: it is in processing, and no other worker can get it. "
        f"Still in the queue: {facts['waiting']}."
    )


def _get_object(step: Step, facts: Mapping[str, Any]) -> str:
    if facts["found"]:
        return f"{step.thread} read {step.key} of {step.component} from the cache: no request was sent."
    return f"{step.thread} looked for {step.key} of {step.component}: the cache does not hold it."


def _write(step: Step, facts: Mapping[str, Any]) -> str:
    took = seconds_text(facts["seconds"])
    where = step.key.rstrip("/")
    return f"{facts['verb']} {step.component} in {where}: the server answered {facts['code']} after {took}."


def _forget_or_add_rate_limited(step: Step, facts: Mapping[str, Any]) -> str:
    if "forgotten" not in facts:
        return (
            f"{step.key} failed, {_count(facts['failures'], 'failure')} in a row: "
            f"it comes back in {seconds_text(facts['seconds'])}."
        )
    if failures := facts["forgotten"]:
        return f"{step.key} gets no retry: forget() drops its {_count(failures, 'failure')}."
    return f"{step.key} gets no retry: forget() finds no failure to drop."


def _done(step: Step, facts: Mapping[str, Any]) -> str:
    if facts["again"]:
        return f"done(): {step.key} was added meanwhile, so it goes back to the end of the queue."
    return f"done(): {step.key} left processing. The next change may queue it again."


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


_SENTENCES: Final[Mapping[int, Callable[[Step, Mapping[str, Any]], str]]] = {
    1: _list_and_watch,
    2: _add_object,
    3: _pop,
    4: _update_index,
    5: _store,
    6: _dispatch,
    7: _enqueue,
    8: _get_key,
    9: _get_object,
    10: _write,
    11: _forget_or_add_rate_limited,
    12: _done,
}
