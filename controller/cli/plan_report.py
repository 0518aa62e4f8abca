"""Prints a plan: a summary followed by each object, or JSON, which is identical for identical clusters."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Any, Final, TextIO

import msgspec

from handloop.controller.cli.problems import EXIT_FATAL, EXIT_OK, EXIT_USAGE
from handloop.controller.cli.terminal import printable, show
from handloop.controller.runtime.planning.attempt import MORE, PAUSED, PlannedWrite
from handloop.controller.runtime.planning.field_changes import FieldChange
from handloop.controller.runtime.planning.planner import NOT_RUN, Plan, Unshown

FAILED: Final = "failed"
_KNOWN: Final = (MORE, PAUSED, NOT_RUN)
"""If Unshown.what is one of these, the plan contains all writes of the name's first reconcile."""
_LONGEST: Final = 120


def exit_code(plan: Plan, *, only_restarts: bool = False) -> int:
    """Return 0 if a run would write nothing, 1 if it would write, 2 if an object failed or is not planned."""
    if any(each.what not in _KNOWN for each in plan.unshown()):
        return EXIT_USAGE
    return EXIT_FATAL if any(_chosen(plan, only_restarts)) else EXIT_OK


def json_report(plan: Plan, out: TextIO, *, only_restarts: bool = False) -> None:
    """Print sorted JSON without times and versions, so that two plans can be compared line by line."""
    _write_list(out, '{"writes": [', map(_as_json, _chosen(plan, only_restarts)))
    unshown = plan.unshown()
    _write_list(out, '], "failed": [', (_told(each) for each in unshown if each.what == FAILED))
    _write_list(out, '], "unplanned": [', (_told(each) for each in unshown if each.what != FAILED))
    show("]}\n", out)


def _write_list(out: TextIO, before: str, entries: Iterable[dict[str, Any]]) -> None:
    show(before, out)
    for number, entry in enumerate(entries):
        line = msgspec.json.encode(entry).decode()
        show(f"{',' if number else ''}\n{printable(line)}", out)


def _as_json(write: PlannedWrite) -> dict[str, Any]:
    names = ("verb", "apiVersion", "kind", "namespace", "name", "subresource", "owner")
    whole = msgspec.to_builtins(write)
    fields = [{"path": each.path, "old": each.old, "new": each.new} for each in write.fields]
    return {**{name: whole[name] for name in names}, "restarts": write.restarts, "fields": fields}


def _told(each: Unshown) -> dict[str, str]:
    return {key: value for key, value in msgspec.structs.asdict(each).items() if key != "what"} | (
        {} if each.what == FAILED else {"what": each.what}
    )


def _chosen(plan: Plan, only_restarts: bool) -> Iterator[PlannedWrite]:  # noqa: FBT001 - one caller's flag
    return (each for each in plan.writes() if each.restarts or not only_restarts)


def text_report(plan: Plan, out: TextIO, *, only_restarts: bool = False) -> None:
    """Print lines for people."""
    unshown = plan.unshown()
    show(f"{summary(_chosen(plan, only_restarts), plan.owned, unshown)}\n", out)
    more = {f"{each.kind} {_name(each)}": each.why for each in unshown if each.what == MORE}
    for owner, writes in groupby(_chosen(plan, only_restarts), key=lambda each: each.owner):
        show(f"\n{printable(owner or 'no object')}\n", out)
        for write in writes:
            show("".join(f"{printable(line)}\n" for line in _lines(write)), out)
        if why := more.get(owner):
            show(f"  and then more: {printable(why)}\n", out)
    for title, chosen in _groups(unshown):
        show(f"\n{title}\n", out)
        for why, names in chosen.items():
            show(f"  {printable(why)}\n    {printable(', '.join(names))}\n", out)


def summary(writes: Iterable[PlannedWrite], owned: dict[str, int], unshown: Iterable[Unshown]) -> str:
    """
    Return a plan's result in one sentence.

    Args: owned maps each kind that has a pod template to the number of objects of that kind that the
    reconciled objects own.
    """
    restarts: dict[str, Counter[str]] = {}
    others: dict[str, dict[str, set[tuple[str, ...]]]] = {}
    for each in writes:
        if each.restarts:
            restarts.setdefault(each.kind, Counter())[" and ".join(each.restarts_for)] += 1
        else:
            whole = "change" if each.verb in ("patch", "update") else each.verb
            what = each.subresource or whole
            others.setdefault(what, {}).setdefault(each.kind, set()).add(each.place[:4])
    made = others.get("create", {})
    for kind, places in others.get("change", {}).items():
        places.difference_update(made.get(kind, ()))
    parts = [
        f"of {max(owned.get(kind, 0), reasons.total())} {kind}s {reasons.total()} would start new pods: "
        + ", ".join(f"{reason} {count}" for reason, count in reasons.most_common())
        for kind, reasons in sorted(restarts.items())
    ]
    for what, say in _SAID.items():
        counts = {kind: len(places) for kind, places in sorted(others.pop(what, {}).items()) if places}
        parts += [say(counts)] if counts else []
    for what, kinds in sorted(others.items()):
        counts = {kind: len(places) for kind, places in sorted(kinds.items())}
        parts.append(f"the {what} of {_counted(counts)} changes")
    return printable("; ".join([*(parts or ["nothing would change"]), *_counts(unshown)]))


def _deleted(counts: dict[str, int]) -> str:
    total = sum(counts.values())
    return f"{total} object{'s' * (total > 1)} would be deleted: {_counted(counts)}"


_SAID: Final[dict[str, Callable[[dict[str, int]], str]]] = {
    "change": lambda counts: f"{_counted(counts)} change{'s' * (sum(counts.values()) == 1)}",
    "create": lambda counts: f"{_counted(counts)} would be created",
    "delete": _deleted,
}


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {kind}{'s' * (count > 1)}" for kind, count in counts.items())


def _counts(unshown: Iterable[Unshown]) -> Iterator[str]:
    for title, chosen in _groups(unshown):
        number, reasons = sum(map(len, chosen.values())), len(chosen)
        names = f"{number} name{'s' * (number > 1)}"
        if title == FAILED:
            yield f"{names} fail{'s' * (number == 1)}, for {reasons} reason{'s' * (reasons > 1)}"
        else:
            yield f"{names} {title}"


def _groups(unshown: Iterable[Unshown]) -> Iterator[tuple[str, dict[str, list[str]]]]:
    """Yield the names that failed, are paused or are not planned, by title and reason."""
    found: dict[str, dict[str, list[str]]] = {}
    for each in unshown:
        if each.what != MORE:
            title = each.what if each.what in (FAILED, PAUSED) else "not planned"
            name = _name(each)
            why = _without(each.name, _without(name, each.why)) if each.name else each.why
            why = f'admission webhook "{why}" does not support dry run' if each.what == "webhook" else why
            label = f"{each.kind} {name}".lstrip() if name else each.controller
            found.setdefault(title, {}).setdefault(why or "by an annotation", []).append(label)
    yield from sorted(found.items())


def _without(name: str, text: str) -> str:
    """Replace the object's name in the reason for a failure, so that many objects can share a reason."""
    return re.sub(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])", "NAME", text)


def _name(each: Unshown) -> str:
    return f"{each.namespace}/{each.name}".lstrip("/")


def _lines(write: PlannedWrite) -> Iterator[str]:
    name = f"{write.namespace}/{write.name}".lstrip("/")
    pods = f": starts new pods ({', '.join(write.restarts_for)})" if write.restarts else ""
    yield f"  {write.verb} {write.kind} {name}{f' {write.subresource}' if write.subresource else ''}{pods}"
    yield from (f"    {_line(each)}" for each in write.fields)


def _line(field: FieldChange) -> str:
    if field.old is None:
        return f"+ {field.path}: {_value(field.new)}"
    by = f"  (of {field.manager})" if field.manager else ""
    if field.new is None:
        return f"- {field.path}: {_value(field.old)}{by}"
    return f"~ {field.path}: {_value(field.old)} -> {_value(field.new)}{by}"


def _value(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
