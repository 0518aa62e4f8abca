"""Yields a workload's plans: the single strikes, beginning with the most revealing, and then random plans."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random
from typing import Final, NamedTuple

from handloop_explore.plan import (
    AT_REST,
    KINDS,
    LATE,
    LEASES,
    RIVALS,
    SLOW,
    Plan,
    Strike,
    Where,
)
from handloop_explore.played import Played, Write
from handloop_explore.strikes import place_of
from handloop_explore.workload import Workload

_MORE: Final = 3
"""How far past the undisturbed run's last request a plan can strike, because strikes cause more requests."""
_CREATED: Final = 201
_MAKES: Final = " makes it"

_FIRST: Final = (
    *(
        "q:late",
        "c:rival-delete",
        "q:crash",
        ":crash-after",
        ":crash-sent",
        ":rival-takes-name",
        ":crash-down",
    ),
    *(
        "c:rival-drift",
        ":rival-edit",
        ":missed",
        ":lost",
        ":rewound",
        "p:crash",
        ":409",
        ":rival-finalizer",
        ":stale",
    ),
    *(
        ":rival-delete",
        ":never-sent",
        ":rival-recreate",
        ":crash-before",
        ":timeout-after",
        "s:crash",
        ":500",
    ),
    *(":404", ":rival-owner", ":rival-scale", ":pause", ":422", ":silent", "r:rewound"),
)
_FIRST_OF_SEVERAL: Final = (
    *(
        "l:crash-after",
        ":crash-after",
        ":behind-crash",
        ":pause",
        ":slow-crash",
        "l:pause",
        ":lease-slow",
        "l:rival-lease",
    ),
    *(":slow-pause", ":slow"),
)
"""
The strikes that most often make operators fail. If several processes run, those that can change the leader
come first.
"""
_ALIKE: Final = 5
"""By how many ranks a place's strikes are postponed for each similar place before it."""


class Place(NamedTuple):
    """
    A place where a plan can strike. where, number: see Strike; whats: the faults that are possible there.

    sort: a text that similar places share; writes: for a child at rest, the number of earlier writes.
    """

    where: Where
    number: int
    sort: str
    whats: Sequence[str]
    writes: int = 0


class Places(NamedTuple):
    """All places in the undisturbed run. replicas: the number of the operator's processes."""

    places: Sequence[Place]
    replicas: int = 1

    @classmethod
    def of(cls, undisturbed: Played, workload: Workload) -> Places:
        """Return the places of a run."""
        steps = [told for told in undisturbed.story if told.who == "user"]
        last_step = steps[-1].at if steps else 0.0
        found = [
            Place("", write.number, _sort(write), _whats(write, workload, last_step))
            for write in undisturbed.writes
        ]
        # A read of one object never returns an old version.
        one = [what for what in KINDS["r"] if what != "rewound"]
        found += [
            Place("r", number, "get", one)
            if number in undisturbed.gets
            else Place("r", number, "list", KINDS["r"])
            for number in range(1, undisturbed.reads + 1)
        ]
        found += [Place("s", nth, told.words.split()[2], KINDS["s"]) for nth, told in enumerate(steps, 1)]
        others: dict[Where, int] = {
            "q": len(undisturbed.states),
            "l": undisturbed.leases,
            "w": undisturbed.watches,
            "p": undisturbed.waits,
        }
        for where, count in others.items():
            found += [Place(where, number, where, KINDS[where]) for number in range(1, count + 1)]
        end = len(undisturbed.states)  # 0:late
        found = [
            one._replace(whats=("crash",))
            if one.where == "q" and (workload.depends or one.number == end)
            else one
            for one in found
        ]
        found += [
            Place("c", number, child.key.partition(" ")[0], AT_REST, child.writes)
            for number, child in enumerate(undisturbed.children, 1)
        ]
        return cls(found, workload.replicas)

    def anew(self) -> Iterator[Plan]:
        """Yield plans in which the operator restarts at every settled(), or first starts at one of them."""
        rests = [one for one in self.places if one.where == "q"]
        yield Plan(tuple(Strike(one.number, "crash", "q") for one in rests))
        yield from (Plan((Strike(one.number, LATE, "q"),)) for one in rests if LATE in one.whats)

    def count(self, where: Where) -> int:
        """Return the number of places of one kind."""
        return sum(one.where == where for one in self.places)


def single_plans(places: Places) -> Iterator[Plan]:
    """
    Yield a plan for each single strike at each place.

    For each `rival-drift`, also yield a plan in which a `rival-edit` strikes the operator's next write.
    """
    order = (*_FIRST_OF_SEVERAL, *_FIRST) if places.replicas > 1 else _FIRST
    last = len(order)
    ranks = {name: rank for rank, name in reversed([*enumerate(order)])}
    repeated: Counter[tuple[str, str]] = Counter()
    found: list[tuple[int, int, Plan]] = []
    for place in places.places:
        alike = repeated[place.where, place.sort]
        repeated[place.where, place.sort] += 1
        for nth, what in enumerate(place.whats):
            # Similar crashes are postponed less, because different lines of code can follow them.
            later = alike if what == "crash-after" else _ALIKE * alike
            rank = ranks.get(f"{place.where}:{what}", last + nth) + later
            if what == "crash-sent" and not place.sort.endswith(_MAKES):
                rank += _ALIKE  # it reveals less, because the server refuses a write with an older version
            strike = Strike(place.number, what, place.where)
            found.append((rank, len(found), Plan((strike,))))
            if what == "rival-drift":
                answer = Strike(place.writes + 1, "rival-edit")
                found.append((rank + 1, len(found), Plan((answer, strike))))
    yield from (plan for _, _, plan in sorted(found))


def all_plans(places: Places, seed: int) -> Iterator[Plan]:
    """Yield a workload's plans endlessly. The same seed yields the same plans."""
    yield from single_plans(places)
    random = Random(seed)
    while True:
        chosen = [_chosen(places, random) for _ in range(random.choice((0, 1, 2, 2, 2, 3)))]
        strikes = {(one.where, one.number): one for one in chosen}
        yield Plan(tuple(strikes[at] for at in sorted(strikes)), random.randrange(1, 10**6))


def _sort(write: Write) -> str:
    """Return a write's sort, which is the same for all objects of a kind."""
    plural = re.sub(r"^.*/", "", place_of(write.path)[1])
    part = write.path.rpartition("/")[2] if write.path.endswith(("/status", "/scale")) else ""
    return f"{write.method} {plural} {part}{_MAKES if write.status == _CREATED else ''}"


def _whats(write: Write, workload: Workload, last_step: float) -> list[str]:
    """Return the strikes that make sense at a write. For example, a rival cannot edit a missing object."""
    whats = KINDS[""] if workload.replicas > 1 else [one for one in KINDS[""] if one not in (*LEASES, *SLOW)]
    left_out: set[str] = set()
    if write.status == _CREATED:
        left_out |= {*RIVALS} - {"rival-takes-name"}
    elif _OK <= write.status < _REDIRECTION:
        left_out |= {"rival-takes-name"}
    if "/deployments/" not in write.path:
        left_out |= {"rival-scale"}
    if workload.replicas > 1 or write.at >= last_step or workload.depends:
        left_out |= {"crash-down"}
    return [one for one in whats if one not in left_out]


def _chosen(places: Places, random: Random) -> Strike:
    """Return a random strike, usually at a write. Its request may exist only if another strike causes it."""
    weights: dict[Where, int] = {"": 6, "r": 1, "w": 1, "s": 1, "l": 3, "q": 1, "c": 1, "p": 1}
    sorts = [where for where in weights if places.count(where) or where in ("", "r", "w", "s")]
    where = random.choices(sorts, [weights[one] for one in sorts])[0]
    several = places.replicas > 1
    whats = [one for one in KINDS[where] if several or one not in (*LEASES, *SLOW)]
    return Strike(
        random.randint(1, places.count(where) + _MORE),
        random.choice([one for one in whats if one != LATE]),
        where,
    )


_OK: Final = 200
_REDIRECTION: Final = 300
