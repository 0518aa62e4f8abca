from __future__ import annotations

from types import SimpleNamespace

import pytest

from handloop.informers.sharding.held_slots import HeldSlots


def held(*slots: int, count: int = 4) -> HeldSlots:
    """A process that holds these slots."""
    those = HeldSlots(count)
    for slot in slots:
        those.add(slot)
    return those


def test_each_change_has_a_version_and_is_told() -> None:
    """A slot that is held already, or is not held, changes nothing; a follower can leave."""
    slots, told = HeldSlots(4), []
    follower = SimpleNamespace(slots_changed=lambda: told.append((slots.version, set(slots.slots))))
    slots.follow(follower)
    assert [slots.add(3), slots.add(3), slots.add(1), slots.remove(2), slots.remove(3)] == [1, 1, 2, 2, 3]
    assert told == [(1, {3}), (2, {1, 3}), (3, {1})]
    slots.leave(follower)
    slots.add(0)
    assert len(told) == 3


def test_a_slot_that_comes_back_is_another_tenure() -> None:
    """What happened to its objects in between is not known."""
    slots = held(2)
    before = slots.now
    slots.remove(2)
    slots.add(2)
    assert before.slots == slots.slots
    assert (before.since[2], slots.now.since[2]) == (1, 3)


@pytest.mark.parametrize("slot", [-1, 4])
def test_a_slot_beyond_the_count_is_refused(slot: int) -> None:
    """The slots of four are 0 to 3."""
    with pytest.raises(ValueError, match="the 4 slots are numbered from 0"):
        HeldSlots(4).add(slot)
