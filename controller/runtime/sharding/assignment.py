"""
Decide which member should have which slot: a pure function that every member computes for itself.

The members may see different things for a while, and ask for the same slot. The slot's Lease then decides,
because the assignment only says whose elector asks for it.

A rolling update adds a member and removes another, again and again. To keep slots from moving often, slots
without a holder go to the youngest members, which will stay, and of the slots that may move, those that have
moved least often move first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def assignment(
    count: int, members: Sequence[str], holders: Mapping[int, str], moves: Mapping[int, int], *, settled: bool
) -> dict[int, str]:
    """
    Return the member that should have each slot from 0 to count - 1.

    Holders keep their slots. A slot without a holder goes to the member with the fewest slots, or to the
    youngest of several such members. Slots move for balance only if settled is True. Each member then ends
    with count / members slots, rounded up or down. A member that joins moves at most count / members slots,
    rounded up; a member that leaves moves only its own.

    Args: members are the living ones, oldest first; holders are the members that hold slots; moves counts how
    often each slot has changed hands. settled tells whether the members have stayed the same for a while.
    Returns: slot -> member; {} without members.
    """
    kept: dict[str, list[int]] = {member: [] for member in members}
    if not kept:
        return {}
    by_moves = sorted(range(count), key=lambda slot: (moves.get(slot, 0), -slot), reverse=True)
    most = -(-count // len(kept)) if settled else count
    free: list[int] = []
    for slot in by_moves:
        own = kept.get(holders.get(slot, ""))
        (own if own is not None and len(own) < most else free).append(slot)
    for slot in free:
        min(reversed(kept.values()), key=len).append(slot)
    if settled:
        _level(list(kept.values()), count // len(kept))
    return {slot: member for member, slots in kept.items() for slot in slots}


def _level(kept: Sequence[list[int]], least: int) -> None:
    """Take the slots that moved least from the fullest, oldest member until all have their minimum."""
    for slots in kept:
        while len(slots) < least:
            slots.append(max(kept, key=len).pop())
