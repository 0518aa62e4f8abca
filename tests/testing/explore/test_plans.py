"""Which plans are played, and in which order."""

from __future__ import annotations

import itertools

from handloop.testing.explore.plan import CRASHES, KINDS, LEASES, SLOW, Plan
from handloop.testing.explore.plans import Places, all_plans, single_plans

PLACES = Places(writes=4, reads=2, watches=1, steps=3, replicas=2, leases=5)


def test_each_single_strike_comes_once() -> None:
    """Those first after which another process leads; then the others, and those at other places last."""
    singles = [str(plan) for plan in single_plans(PLACES)]
    numbers = {"": range(1, 5), "r": range(1, 3), "w": range(1, 2), "s": range(1, 4), "l": range(1, 6)}
    wanted = [
        f"{where}{n}:{what}" for where, kinds in KINDS.items() for n in numbers[where] for what in kinds
    ]
    assert sorted(singles) == sorted(wanted)
    first = (*CRASHES, "pause", *LEASES, *SLOW)
    assert singles[:36] == [f"{n}:{what}" for n in numbers[""] for what in first]
    others = [one for one in singles if not one[0].isdecimal()]
    assert singles[-len(others) :] == sorted(others, key=lambda one: one[0])


def test_one_process_has_no_lease() -> None:
    """So nothing strikes there, and the crashes come first."""
    alone = PLACES._replace(replicas=1)
    kinds = {strike.what for plan in single_plans(alone) for strike in plan.strikes if not strike.where}
    assert kinds == {*KINDS[""]} - {*LEASES, *SLOW}
    first = [str(plan) for plan in itertools.islice(single_plans(alone), 8)]
    assert first == [f"{n}:{what}" for n in range(1, 5) for what in CRASHES]


def test_the_plans_follow_from_the_seed() -> None:
    """First the singles; then samples of all sorts."""
    count = len([*single_plans(PLACES)])
    first, again, other = (list(itertools.islice(all_plans(PLACES, seed), count + 200)) for seed in (7, 7, 8))
    assert first == again
    assert first[:count] == other[:count]
    assert first[count:] != other[count:]
    assert {len(plan.strikes) for plan in first[count:]} == {0, 1, 2, 3}
    assert {strike.where for plan in first[count:] for strike in plan.strikes} == {"", "r", "w", "s", "l"}
    assert all(Plan.parse(str(plan)) == plan for plan in first)
