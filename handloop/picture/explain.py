"""Explains each step in one plain sentence: what happened, and why it matters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from handloop.picture.recorder import Step


def explain(step: Step) -> str:
    """Return the sentence that explains a step."""
    facts = step.facts
    tell = next((tell for fact, tell in _BY_FACT.items() if fact in facts), _SENTENCES[step.number])
    return tell(step, facts)


def document(step: Step) -> dict[str, Any]:
    """Return a step in the form that the page receives."""
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
    """Format a duration, such as `5 ms` or `1.28 s`."""
    return f"{seconds * 1000:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


_WHY_LISTING: Final[Mapping[str, str]] = {
    "first": "the cache is still empty",
    "expired": "the server no longer has the events since that version (410)",
    "too-large": "the server has not reached that version yet",
    "rewound": "a bookmark says that the server is behind that version",
    "error": "the last list or watch failed",
    "unreadable": "several watches in a row delivered no readable event",
    "slots": "this process now holds more slots, and must also cache their objects",
    "takeover": "this process takes over from another one, and its cache may lack that process's last writes",
    "silent": "several watches delivered nothing, and the server is behind that version",
}
"""The reason for a list. Keys: "first", and the values of handloop.informers.relist_policy.RelistReason."""

_BROKE: Final[Mapping[str, str]] = {
    "LIST": "The list of {} failed",
    "OPEN_WATCH": "Opening a watch of {} failed",
    "READ_WATCH": "The watch of {} broke",
}
"""What failed. Keys: the names of handloop.informers.outage.Doing."""

_EVENTS: Final[Mapping[str, str]] = {"Added": "ADDED", "Updated": "MODIFIED", "Deleted": "DELETED"}
"""Maps each delta type to the type of its watch event."""

_KINDS: Final[Mapping[str, str]] = {"foos": "Foo", "deployments": "Deployment", "myapps": "MyApp"}
"""Maps plurals to kinds. Sentences use the plural of all other kinds."""

_WRITES: Final[Mapping[str, str]] = {
    "create": "creates",
    "update": "updates",
    "update status": "writes the status of",
    "patch": "patches",
    "patch status": "patches the status of",
    "delete": "deletes",
    "apply": "applies",
}
"""What a thread does to an object. Keys: the verbs of requests."""


def _list_and_watch(step: Step, facts: Mapping[str, Any]) -> str:
    version, kind = facts["resource_version"], _plural(step.component)
    if "listed" in facts:
        objects = _count(facts["listed"], "object")
        return f"The reflector received the list of {kind}: {objects}, as of resource version {version}."
    if not facts["events"]:
        return (
            f"The server sent a bookmark: it has already sent all changes to {kind} up to version {version}."
        )
    if "name" in facts:
        event = f"{_EVENTS.get(facts['type'], facts['type'])} {_name(facts['name'])}"
        return f"The watch of {kind} delivered one event: {event}."
    return f"The watch of {kind} delivered {facts['events']} events."


def _listing(step: Step, facts: Mapping[str, Any]) -> str:
    version = facts["resource_version"]
    again = f" again (the cache has version {version})" if version else ""
    how = "page by page" if facts["by"] == "pages" else "through a watch that starts with all objects"
    return (
        f"The reflector lists the {_plural(step.component)}{again} {how}, "
        f"because {_WHY_LISTING[facts['listing']]}."
    )


def _opened(step: Step, facts: Mapping[str, Any]) -> str:
    version, kind = facts["resource_version"], _plural(step.component)
    return f"The watch of {kind} is open: the server sends every change after version {version}."


def _ended(step: Step, facts: Mapping[str, Any]) -> str:
    kind = _plural(step.component)
    if facts["ended"]:
        return f"The watch of {kind} was silent for too long ({facts['ended']}), so the reflector closed it."
    return (
        f"The server ended the watch of {kind}, as it does every few minutes. "
        f"The next watch continues from version {facts['resource_version']}."
    )


def _broke(step: Step, facts: Mapping[str, Any]) -> str:
    wait, kind = seconds_text(facts["seconds"]), _plural(step.component)
    if "expired" in facts:
        return (
            f"The server answered the watch of {kind} with 410, because it no longer has the events since "
            f"the watch's version. No watch can continue from there, so the reflector lists again in {wait}."
        )
    what = _BROKE[facts["doing"]].format(kind)
    return f"{what} ({facts['broke']}). The reflector retries in {wait}, and the cache stays as it is."


def _add_object(step: Step, facts: Mapping[str, Any]) -> str:
    key = _name(step.key)
    if facts["tombstone"]:
        return (
            f"{key} is missing from the new list, and no watch reported its deletion. "
            "So the reflector adds a tombstone (DeletedFinalStateUnknown) to the FIFO."
        )
    if facts["type"] == "Sync":
        return (
            f"A resync adds {key} to the FIFO again, as it is in the cache. "
            "It has not changed, and no request is sent, but its handlers are called again."
        )
    if joins := facts["joins"]:
        waiting = _count(joins, "delta")
        return (
            f"{key} is already in the FIFO with {waiting}. "
            f"{facts['type']} is appended, and one pop takes them all."
        )
    return f"The delta {facts['type']} of {key} goes into the FIFO, and its key to the end of the queue."


def _pop(step: Step, facts: Mapping[str, Any]) -> str:
    types = ", ".join(facts["types"])
    return (
        f"The informer pops {_name(step.key)} with all its deltas: {types}. "
        f"Keys left in the FIFO: {facts['left']}."
    )


def _update_index(step: Step, facts: Mapping[str, Any]) -> str:
    indexes, obj = ", ".join(facts["indexes"]) or "no index", f"{step.component} {_name(step.key)}"
    if facts.get("deleted"):
        return f"{obj} is removed from its indexes: {indexes}."
    if facts["resync"]:
        return f"{obj} stays in its indexes: {indexes}."
    return f"{obj} is {'added to' if facts['new'] else 'updated in'} its indexes: {indexes}."


def _store(step: Step, facts: Mapping[str, Any]) -> str:
    obj = f"{step.component} {_name(step.key)}"
    version = f" (version {facts['version']})" if facts.get("version") else ""
    if facts.get("resync"):
        return f"{obj}{version} stays in the store unchanged."
    if facts.get("deleted"):
        return f"{obj} is deleted from the store before any handler is notified."
    change = "is stored" if facts["new"] else "is replaced in the store"
    return f"{obj}{version} {change} before any handler is notified."


def _dispatch(step: Step, facts: Mapping[str, Any]) -> str:
    what, key = facts["what"].removesuffix("Notification").lower(), _name(step.key)
    if facts.get("ignored"):
        return (
            f"{step.component} receives the delete of {key} and ignores it, because this controller's "
            "handler has no function for deletes. So no key is queued."
        )
    news = f"{key} again, unchanged" if facts["resync"] else f"the {what} of {key}"
    return f"{step.component} receives {news}, and calls its handler on its own thread."


def _enqueue(step: Step, facts: Mapping[str, Any]) -> str:
    key, again = _name(step.key), facts["merged"]
    if step.thread.startswith("delaying-") and again:
        return (
            f"The delay of {key} is over, but an event has already queued the key, "
            "so this add changes nothing."
        )
    if facts["in_flight"] and again:
        return f"{key} is added again while a worker has it. It is already in dirty, so nothing changes."
    if facts["in_flight"]:
        return f"{key} is added while a worker has it. It waits in dirty until done() queues it."
    if again:
        return f"{key} is already in the queue, so this add changes nothing. One sync covers both."
    return f"{key} goes to the end of the queue {step.component}."


def _get_key(step: Step, facts: Mapping[str, Any]) -> str:
    return (
        f"{step.thread} gets {_name(step.key)}. The key is in processing now, so no other worker can get it. "
        f"Keys still in the queue: {facts['waiting']}."
    )


def _get_object(step: Step, facts: Mapping[str, Any]) -> str:
    who = f"The handler of {step.thread}" if step.thread.startswith("listener-") else step.thread
    obj = f"{_kind(step.component)} {_name(step.key)}"
    if facts["found"]:
        version = f" (version {facts['version']})" if "version" in facts else ""
        return f"{who} reads {obj}{version} from the cache. No request is sent."
    return f"{who} looks for {obj}, but the cache does not have it."


def _write(step: Step, facts: Mapping[str, Any]) -> str:
    verb, code = facts["verb"], facts["code"]
    namespace, _, name = step.key.partition("/")
    kind = facts.get("kind") or _kind(step.component)
    obj = f"{kind} {_name(step.key)}" if name else f"{_a(kind)} in {namespace}" if namespace else _a(kind)
    if verb in _READS:
        return (
            f"{step.thread} asks the server instead of the cache ({verb} {obj}). The server answers {code}."
        )
    answer = "accepts the request" if code.startswith("2") else "refuses the request"
    words = f"{step.thread} {_WRITES.get(verb, verb + 's')} {obj}. The server {answer} ({code})."
    if not code.isdigit():
        words = f"{step.thread} {_WRITES.get(verb, verb + 's')} {obj}. The server does not answer."
    return f"{words} {_of_a_lease(code, facts.get('holder'))}" if kind == "Lease" else words


def _of_a_lease(code: str, holder: str | None) -> str:
    if not code.startswith("2"):
        return (
            "A leader that cannot renew its lease in time stops its workers, and another process takes over."
        )
    if holder:
        return f"{holder} holds the lease now, so {holder} is the leader."
    return "No process holds the lease now, so any process can acquire it."


def _forget(step: Step, facts: Mapping[str, Any]) -> str:
    failures, key = facts["forgotten"], _name(step.key)
    return f"The sync succeeded. forget() resets the failure count of {key} (it was {failures})."


def _waits(step: Step, facts: Mapping[str, Any]) -> str:
    key, when = _name(step.key), f"It is queued again in {seconds_text(facts['seconds'])}"
    if facts["waits"]:
        return f"{key} has to wait ({facts['waits']}). {when}, and the wait does not count as a failure."
    return f"The sync of {key} asked for another one. {when}, and this does not count as a failure."


def _failed(step: Step, facts: Mapping[str, Any]) -> str:
    error = f" ({facts['error']})" if facts["error"] else ""
    failed = f"The sync of {_name(step.key)} failed{error}."
    if facts["seconds"] is None:
        return f"{failed} It is not retried. Only a change leads to another sync."
    row = "the first failure" if facts["failures"] == 1 else f"{facts['failures']} failures in a row"
    return f"{failed} That is {row}, so the key is queued again in {seconds_text(facts['seconds'])}."


def _done(step: Step, facts: Mapping[str, Any]) -> str:
    key = _name(step.key)
    if facts["again"]:
        return f"done(): {key} was added during the sync, so it goes back to the end of the queue."
    return f"done(): {key} leaves processing. Once it is queued again, any worker can get it."


def _name(key: str) -> str:
    return key.removeprefix("default/")


def _kind(component: str) -> str:
    plural = component.partition(".")[0]
    return _KINDS.get(plural, plural)


def _plural(component: str) -> str:
    plural = component.partition(".")[0]
    return f"{_KINDS[plural]}s" if plural in _KINDS else plural


def _a(kind: str) -> str:
    return f"an {kind}" if kind[:1] in "AEIOU" else f"a {kind}"


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
"""
Functions for the variants of steps (1) and (11), keyed by the fact that identifies the variant.

_SENTENCES has the functions for all other steps.
"""
