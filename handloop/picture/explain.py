"""One plain sentence for a step: what happened, and why it matters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from handloop.picture.recorder import Step


def explain(step: Step) -> str:
    """The sentence for a step."""
    facts = step.facts
    tell = next((tell for fact, tell in _BY_FACT.items() if fact in facts), _SENTENCES[step.number])
    return tell(step, facts)


def document(step: Step) -> dict[str, Any]:
    """A step as the page gets it."""
    return {
        "seq": step.seq,
        "t": round(step.at, 6),
        "thread": step.thread,
        "step": step.number,
        "component": step.component,
        "key": step.key,
        "facts": step.facts,
        "why": explain(step),
    }


def seconds_text(seconds: float) -> str:
    """A duration in its usual form: `5 ms`, `1.28 s`."""
    return f"{seconds * 1000:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


_WHY_LISTING: Final[Mapping[str, str]] = {
    "first": "the cache is empty",
    "expired": "the server no longer has the events since that version (410)",
    "too-large": "the server has not seen that version",
    "rewound": "by a bookmark the server is behind that version",
    "error": "the last try failed",
    "unreadable": "watch after watch brought nothing that could be read",
    "slots": "this process holds more slots than before",
    "takeover": "this process takes over another one's work, and its cache is from before",
    "silent": "the watches stayed silent, and the server is behind that version",
}
"""By handloop.informers.relist_policy.RelistReason, and "first"."""

_BROKE: Final[Mapping[str, str]] = {
    "LIST": "The list of {} failed",
    "OPEN_WATCH": "No watch of {} could be opened",
    "READ_WATCH": "The watch of {} broke",
}
"""By handloop.informers.outage.Doing."""


def _list_and_watch(step: Step, facts: Mapping[str, Any]) -> str:
    version = facts["resource_version"]
    if "listed" in facts:
        objects = _count(facts["listed"], "object")
        return f"The reflector listed {objects} of {step.component}, at resource version {version}."
    if not facts["events"]:
        return f"The server sent a bookmark: nothing of {step.component} changed up to version {version}."
    changes = _count(facts["events"], "watch event")
    return f"One block of the watch brought {changes} of {step.component}."


def _listing(step: Step, facts: Mapping[str, Any]) -> str:
    version = facts["resource_version"]
    again = f" again (it had version {version})" if version else ""
    how = "page by page" if facts["by"] == "pages" else "by a watch that begins with all objects"
    return f"The reflector lists {step.component}{again} {how}: {_WHY_LISTING[facts['listing']]}."


def _opened(step: Step, facts: Mapping[str, Any]) -> str:
    version = facts["resource_version"]
    return f"A watch of {step.component} is open: the server sends every change after version {version}."


def _ended(step: Step, facts: Mapping[str, Any]) -> str:
    if facts["ended"]:
        return f"The watch of {step.component} was silent for too long ({facts['ended']}): it is closed."
    version = facts["resource_version"]
    return (
        f"The server ended the watch of {step.component}, as it does after some minutes: "
        f"the next one goes on from version {version}."
    )


def _broke(step: Step, facts: Mapping[str, Any]) -> str:
    wait = seconds_text(facts["seconds"])
    if "expired" in facts:
        return (
            f"The server answered 410 to {step.component}: it no longer has the events since our version, "
            f"so a watch cannot go on. The reflector lists again in {wait}."
        )
    what = _BROKE[facts["doing"]].format(step.component)
    return f"{what}: {facts['broke']}. The reflector tries again in {wait}; the cache stays as it is."


def _add_object(step: Step, facts: Mapping[str, Any]) -> str:
    if facts["tombstone"]:
        return (
            f"{step.key} is not in the new list, and its deletion was never seen: "
            "a tombstone (DeletedFinalStateUnknown) goes into the FIFO."
        )
    if facts["type"] == "Sync":
        return (
            f"A resync: {step.key} goes into the FIFO once more, as the cache has it. "
            "Nothing has changed, and no server was asked; the handlers are to look again."
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
    if facts["resync"]:
        return f"{step.component} {step.key} stays in its indexes: {indexes}."
    return f"{step.component} {step.key} was entered in its indexes: {indexes}."


def _store(step: Step, facts: Mapping[str, Any]) -> str:
    if facts.get("resync"):
        return f"{step.component} {step.key} stays in the store as it is: nothing has changed."
    change = "left" if facts.get("deleted") else "is new in" if facts["new"] else "was replaced in"
    return f"{step.component} {step.key} {change} the store, before any handler hears of it."


def _dispatch(step: Step, facts: Mapping[str, Any]) -> str:
    what = facts["what"].removesuffix("Notification").lower()
    news = f"{step.key} once more, unchanged" if facts["resync"] else f"the {what} of {step.key}"
    if what == "delete":
        return f"{step.component} gets {news}. On its thread the handler's function for deletes runs, if any."
    return f"{step.component} gets {news}, and calls its handler on a thread of its own."


def _enqueue(step: Step, facts: Mapping[str, Any]) -> str:
    if facts["in_flight"] and facts["merged"]:
        return f"{step.key} was added once more while it is in processing: dirty holds it until done()."
    if facts["in_flight"]:
        return f"{step.key} was added while it is in processing: kept in dirty, until done() queues it."
    if facts["merged"]:
        return f"{step.key} waits in the queue already: this add and that one are a single run."
    return f"{step.key} went to the end of the queue {step.component}."


def _get_key(step: Step, facts: Mapping[str, Any]) -> str:
    return (
        f"{step.thread} got {step.key}: it is in processing, and no other worker can get it. "
        f"Still in the queue: {facts['waiting']}."
    )


def _get_object(step: Step, facts: Mapping[str, Any]) -> str:
    who = f"The handler of {step.thread}" if step.thread.startswith("listener-") else step.thread
    if facts["found"]:
        version = f" at version {facts['version']}" if "version" in facts else ""
        return f"{who} read {step.key} of {step.component}{version} from the cache: no request was sent."
    return f"{who} looked for {step.key} of {step.component}: the cache does not hold it."


def _write(step: Step, facts: Mapping[str, Any]) -> str:
    took = seconds_text(facts["seconds"])
    where = step.key.rstrip("/")
    if facts["verb"] in _READS:
        return (
            f"{step.thread} asked the server and not the cache: {facts['verb']} {step.component} {where}. "
            f"The server answered {facts['code']} after {took}."
        )
    words = f"{facts['verb']} {step.component} in {where}: the server answered {facts['code']} after {took}."
    return f"{words} {_of_a_lease(facts['code'])}" if step.component.startswith("leases.") else words


def _of_a_lease(code: str) -> str:
    if code.startswith("2"):
        return "So a process takes the lease, keeps it for some more seconds, or gives it up."
    return "If its holder cannot renew it in time, the holder stops working, and another process takes it."


def _forget(step: Step, facts: Mapping[str, Any]) -> str:
    if failures := facts["forgotten"]:
        return f"{step.key} gets no retry: forget() drops its {_count(failures, 'failure')}."
    return f"{step.key} gets no retry: forget() finds no failure to drop."


def _waits(step: Step, facts: Mapping[str, Any]) -> str:
    when = f"it comes back in {seconds_text(facts['seconds'])}. No failure is counted."
    if facts["waits"]:
        return f"{step.key} has to wait ({facts['waits']}): {when}"
    return f"{step.key} asked for another sync later: {when}"


def _failed(step: Step, facts: Mapping[str, Any]) -> str:
    error = f" ({facts['error']})" if facts["error"] else ""
    if facts["seconds"] is None:
        return f"{step.key} failed for good{error}: only a change leads to another try."
    return (
        f"{step.key} failed{error}, {_count(facts['failures'], 'failure')} in a row: "
        f"it comes back in {seconds_text(facts['seconds'])}."
    )


def _done(step: Step, facts: Mapping[str, Any]) -> str:
    if facts["again"]:
        return f"done(): {step.key} was added meanwhile, so it goes back to the end of the queue."
    return f"done(): {step.key} left processing. Once it is queued again, any worker may get it."


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


_READS: Final = frozenset({"get", "list", "watch"})

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
    11: _forget,
    12: _done,
}

_BY_FACT: Final[Mapping[str, Callable[[Step, Mapping[str, Any]], str]]] = {
    "listing": _listing,
    "opened": _opened,
    "ended": _ended,
    "broke": _broke,
    "error": _failed,
    "waits": _waits,
}
"""The ways in which (1) and (11) may go, by the fact that only they have; else _SENTENCES."""
