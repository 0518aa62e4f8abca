"""Which member should have which slot."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from handloop.controller.runtime.sharding.assignment import assignment


def moved(before: dict[int, str], after: dict[int, str]) -> set[int]:
    """The slots that have another member than before."""
    return {slot for slot in after if after[slot] != before.get(slot)}


def check_balanced(count: int, members: list[str], given: dict[int, str]) -> None:
    """Every slot has a member, and no two members differ by more than one slot."""
    sizes = Counter(dict.fromkeys(members, 0)) + Counter()
    sizes.update(given.values())
    assert set(given) == set(range(count))
    assert set(sizes) <= set(members)
    assert max(sizes.values()) <= -(-count // len(members))
    assert min(sizes[member] for member in members) >= count // len(members)


@pytest.mark.parametrize("seed", range(40))
def test_members_come_and_go_and_few_slots_move(seed: int) -> None:
    """A join moves count / members slots, rounded up, at most, and only to the newcomer; a loss its own."""
    chance = random.Random(seed)
    count, members = chance.randint(1, 40), ["m0"]
    moves = {slot: chance.randrange(4) for slot in range(count)}
    given = assignment(count, members, {}, moves, settled=False)
    for number in range(1, 12):
        if len(members) > 1 and chance.random() < 0.4:
            members.remove(gone := chance.choice(members))
            after = assignment(count, members, given, moves, settled=False)
            assert moved(given, after) == {slot for slot, member in given.items() if member == gone}
            check_balanced(count, members, after)
        else:
            members.append(new := f"m{number}")
            assert assignment(count, members, given, moves, settled=False) == given
            after = assignment(count, members, given, moves, settled=True)
            assert {after[slot] for slot in moved(given, after)} <= {new}
            assert len(moved(given, after)) <= -(-count // len(members))
        given = assignment(count, members, after, moves, settled=True)
        check_balanced(count, members, given)
        assert assignment(count, members, given, moves, settled=True) == given, "it rests"


@pytest.mark.parametrize("seed", range(40))
def test_a_wave_ends_where_it_was_going(seed: int) -> None:
    """Slots change hands one by one: what is computed halfway does not turn a slot around."""
    chance = random.Random(seed)
    count, members = chance.randint(1, 32), [f"m{number}" for number in range(chance.randint(1, 6))]
    held = {slot: chance.choice(members) for slot in range(count)}
    members += [f"new{number}" for number in range(chance.randint(0, 3))]
    before, moves = dict(held), Counter[int]()
    while wave := sorted(moved(held, target := assignment(count, members, held, moves, settled=True))):
        slot = chance.choice(wave)
        held[slot] = target[slot]
        moves[slot] += 1
    check_balanced(count, members, held)
    assert all(times == 1 for times in moves.values())
    assert moved(before, held) == set(moves)


@pytest.mark.parametrize("settles", [False, True])
@pytest.mark.parametrize(("count", "replicas"), [(16, 4), (16, 3), (32, 4), (10, 3), (16, 8), (64, 4)])
def test_a_rolling_update_moves_each_slot_a_few_times(count: int, replicas: int, settles: bool) -> None:
    """Once, if its steps are quicker than slots settle; else three times at most, and 1.6 in the mean."""
    for seed in range(10):
        chance, moves = random.Random(seed), Counter[int]()
        members = [f"old{number}" for number in range(replicas)]
        given = assignment(count, members, {}, moves, settled=False)
        for number, old in enumerate(chance.sample(members, replicas)):
            members.append(f"new{number}")
            for gone in ([], [old], []):
                members = [member for member in members if member not in gone]
                after = assignment(count, members, given, moves, settled=settles and not gone)
                moves.update(moved(given, after))
                given = after
        check_balanced(count, members, given)
        assert max(moves.values()) <= (3 if settles else 1)
        assert moves.total() <= (1.6 if settles else 1.0) * count


def test_a_holder_that_is_no_member_has_nothing() -> None:
    """Its slots go to the members."""
    assert assignment(2, ["a"], {0: "stranger", 1: "a"}, {}, settled=True) == {0: "a", 1: "a"}
    assert assignment(2, [], {0: "stranger"}, {}, settled=True) == {}


def test_a_slot_that_nobody_has_goes_to_the_youngest_of_those_with_the_fewest() -> None:
    """And of several the one first that has moved most."""
    assert assignment(3, ["a", "b"], {0: "a"}, {2: 1}, settled=False) == {0: "a", 2: "b", 1: "b"}


def test_a_newcomer_gets_what_has_moved_least() -> None:
    """From the oldest of the fullest."""
    held = {0: "a", 1: "a", 2: "b", 3: "b"}
    assert assignment(4, ["a", "b", "c"], held, {0: 2, 1: 1}, settled=True) == {**held, 1: "c"}
