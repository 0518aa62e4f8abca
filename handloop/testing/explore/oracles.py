"""What must hold of every run, without an author: each oracle yields what is wrong, in a sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from handloop.testing.explore.plan import LATE_PLAN
from handloop.testing.explore.played import Played

Oracle: TypeAlias = Callable[[Played, Played], Iterator[str]]
"""Takes the undisturbed run, and the run to judge."""

_SPARE: Final = 3
"""How many more creates at a path than undisturbed each strike excuses."""


def verdicts(undisturbed: Played, played: Played) -> list[str]:
    """All that is wrong with a run."""
    return [words for oracle in ORACLES for words in oracle(undisturbed, played)]


def ends_quiet(_: Played, played: Played) -> Iterator[str]:
    """Once nothing happens any more, nothing is written."""
    if played.busy:
        yield f"it does not come to rest: {played.busy} writes in the last two minutes"


def lives(_: Played, played: Played) -> Iterator[str]:
    """No process ends by itself."""
    if played.died:
        yield f"the process ended by itself: {played.died}"


def writes_only_while_it_leads(_: Played, played: Played) -> Iterator[str]:
    """Of several processes only that one writes which has the Lease."""
    for write in played.writes:
        if write.objection:
            yield f"process {write.process} writes without the Lease: {write.objection}: {write}"


def makes_no_storm(undisturbed: Played, played: Played) -> Iterator[str]:
    """Objects are not made again and again."""
    excused = _SPARE * max(1, len(played.plan.strikes))
    for path, times in played.made.items():
        if times > undisturbed.made.get(path, 0) + excused:
            yield f"a storm: {times} creates at {path}, undisturbed {undisturbed.made.get(path, 0)}"


def ends_as_undisturbed(undisturbed: Played, played: Played) -> Iterator[str]:
    """A fault delays, and changes nothing in the end; what a rival has taken away or taken, aside."""
    if played.plan == LATE_PLAN or any(rival.what == "rival-takes-name" for rival in played.rivals):
        return
    # what the server calls invalid need not be tried again
    if any(write.struck == "422" for write in played.writes):
        return
    for number, (good, state) in enumerate(zip(undisturbed.states, played.states, strict=True), 1):
        when = "in the end" if number == len(played.states) else f"at settled() {number}"
        expected = dict(good.objects)
        for rival, left in zip(played.rivals, state.left, strict=False):
            if rival.what in ("rival-delete", "rival-finalizer") and left is None:
                _take_away(expected, rival.target)
        yield from _compared(expected, state.objects, when)


def ends_by_what_users_want(undisturbed: Played, played: Played) -> Iterator[str]:
    """What they wanted before changes nothing: the end is that of an operator which saw the end alone."""
    if played.plan == LATE_PLAN:
        for words in _compared(played.states[-1].objects, undisturbed.states[-1].objects, "in the end"):
            yield f"undisturbed it ends otherwise than where the operator starts after the users: {words}"


def _compared(expected: Mapping[str, Any], found: Mapping[str, Any], when: str) -> Iterator[str]:
    for key in sorted(expected.keys() | found.keys()):
        if key not in found:
            yield f"{key} is missing {when}"
        elif key not in expected:
            yield f"{key} is there {when}, and nobody asked for it"
        elif expected[key] != found[key]:
            yield f"{key} is another {when}: {', '.join(_different('', expected[key], found[key]))}"


def leaves_foreign_objects_alone(_: Played, played: Played) -> Iterator[str]:
    """An object that a rival has made under the name is not written."""
    for rival, left in zip(played.rivals, played.states[-1].left, strict=True):
        if rival.what == "rival-takes-name" and rival.made is not None:
            if left is None:
                yield f"the foreign object {rival.target} was deleted"
            elif paths := list(_different("", _own_part(rival.made), _own_part(left))):
                yield f"the foreign object {rival.target} was written: {', '.join(paths)}"


def lets_deletions_end(_: Played, played: Played) -> Iterator[str]:
    """What is being deleted goes."""
    for key, obj in played.states[-1].objects.items():
        if obj["metadata"].get("deletionTimestamp"):
            yield f"{key} is still being deleted, and waits for {obj['metadata'].get('finalizers')}"


def keeps_invariants(_: Played, played: Played) -> Iterator[str]:
    """The author's own."""
    yield from played.broken


ORACLES: Final[tuple[Oracle, ...]] = (
    lives,
    writes_only_while_it_leads,
    ends_quiet,
    makes_no_storm,
    ends_as_undisturbed,
    ends_by_what_users_want,
    leaves_foreign_objects_alone,
    lets_deletions_end,
    keeps_invariants,
)


def _take_away(expected: dict[str, dict[str, Any]], target: str) -> None:
    """Take an object away, and what it owns, and so on."""
    name = target.rpartition("/")[2]
    gone = [key for key in expected if key.rpartition("/")[2] == name and _plural(key) in target]
    while gone:
        key = gone.pop()
        expected.pop(key, None)
        owner = f"{key.partition(' ')[0]} {key.rpartition('/')[2]}"
        gone += [other for other, obj in expected.items() if owner in obj["metadata"]["owners"]]


def _plural(key: str) -> str:
    """How a path begins the plural of a key's kind: `/deployment`."""
    return f"/{key.partition(' ')[0].lower()}"


def _own_part(obj: Mapping[str, Any]) -> dict[str, Any]:
    metadata = obj["metadata"]
    kept = {key: metadata.get(key) for key in ("labels", "ownerReferences", "finalizers")}
    return {
        **{key: value for key, value in obj.items() if key not in ("metadata", "status")},
        "metadata": kept,
    }


def _different(path: str, old: object, new: object) -> Iterator[str]:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for name in sorted(old.keys() | new.keys()):
            yield from _different(f"{path}.{name}" if path else str(name), old.get(name), new.get(name))
    elif old != new:
        yield f"{path} {old!r} -> {new!r}"
