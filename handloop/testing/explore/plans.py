"""The plans of a workload: each single strike first, then pairs, triples and orders by chance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Final, NamedTuple

from handloop.testing.explore.plan import (
    CRASHES,
    KINDS,
    LEASES,
    LOSSES,
    REFUSALS,
    RIVALS,
    SLOW,
    VIEWS,
    WHATS,
    Plan,
    Strike,
    Where,
)
from handloop.testing.explore.played import Played
from handloop.testing.explore.workload import Workload

_MORE: Final = 3
"""So many requests after the last one of the undisturbed run may be struck, too: other strikes cause more."""

_GROUPS: Final = (CRASHES, (*LOSSES, *REFUSALS), RIVALS, ("pause", *VIEWS))
"""The kinds at writes, those first that most operators fail under."""
_GROUPS_OF_SEVERAL: Final = ((*CRASHES, "pause", *LEASES, *SLOW), (*LOSSES, *REFUSALS), RIVALS, VIEWS)
"""Of several processes: those first after which another one leads."""


class Places(NamedTuple):
    """
    How many requests of each sort the undisturbed run makes.

    steps = those in which users do something; replicas = the processes of the operator; leases = writes by
    which a Lease changes hands.
    """

    writes: int
    reads: int = 0
    watches: int = 0
    steps: int = 0
    replicas: int = 1
    leases: int = 0

    @classmethod
    def of(cls, undisturbed: Played, workload: Workload) -> Places:
        """Those of a run."""
        steps = sum(step.do is not None for step in workload.steps)
        writes, reads, watches = len(undisturbed.writes), undisturbed.reads, undisturbed.watches
        return cls(writes, reads, watches, steps, workload.replicas, undisturbed.leases)

    @property
    def kinds(self) -> Mapping[Where, Sequence[str]]:
        """What can strike where."""
        return KINDS if self.replicas > 1 else {**KINDS, "": WHATS}


def single_plans(places: Places) -> Iterator[Plan]:
    """Each kind of strike at each request: at writes, one group of kinds after the other, then elsewhere."""
    for group in _GROUPS if places.replicas == 1 else _GROUPS_OF_SEVERAL:
        yield from (Plan((Strike(n, what),)) for n in range(1, places.writes + 1) for what in group)
    others: tuple[tuple[Where, int], ...] = (
        ("l", places.leases),
        ("r", places.reads),
        ("s", places.steps),
        ("w", places.watches),
    )
    for where, count in others:
        yield from (Plan((Strike(n, what, where),)) for n in range(1, count + 1) for what in KINDS[where])


def all_plans(places: Places, seed: int) -> Iterator[Plan]:
    """The plans of a workload: without end; the same for the same seed."""
    yield from single_plans(places)
    random = Random(seed)
    while True:
        chosen = [_chosen(places, random) for _ in range(random.choice((0, 1, 2, 2, 2, 3)))]
        strikes = {(one.where, one.number): one for one in chosen}
        yield Plan(tuple(strikes[at] for at in sorted(strikes)), random.randrange(1, 10**6))


def _chosen(places: Places, random: Random) -> Strike:
    """A strike by chance, mostly at a write; reads may come of another strike."""
    sorts: tuple[tuple[Where, int], ...] = (
        ("", places.writes),
        ("r", places.reads),
        ("w", places.watches),
        ("s", places.steps),
        *((("l", places.leases),) if places.leases else ()),
    )
    where, count = random.choices(sorts, (6, 1, 1, 1, 3)[: len(sorts)])[0]
    return Strike(random.randint(1, count + _MORE), random.choice(places.kinds[where]), where)
