"""
Compute which member should have which slot, with a pure function that every member calls on its own.

For a while, members can see different Leases and request the same slot. Only one of them then acquires the
slot's Lease, because the assignment only decides whose elector requests it.

During a rolling update, members are added and removed one after another. To keep slots from moving often, a
slot without a holder goes to the youngest member, which the update will not remove. If slots must move, those
that have moved least often so far move first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def assignment(
    count: int, members: Sequence[str], holders: Mapping[int, str], moves: Mapping[int, int], *, settled: bool
) -> dict[int, str]:
    """
    Return the member that should have each slot from 0 to count - 1.

    Holders keep their slots. A slot without a holder goes to the member with the fewest slots or, if several
    members have equally few, to the youngest of them. Slots move for balance only if settled is True. Each
    member then has count / members slots, rounded up or down. If a member joins, at most count / members
    slots, rounded up, move to it; if a member leaves, only its own slots move.

    Args: members are the living members, oldest first; holders maps each slot that is held to its member;
    moves has the number of times that each slot has changed its holder; settled is True if the members have
    not changed for a while.
    Returns: slot -> member, or {} if there are no members.
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
    """
    Move slots until each member has at least `least`; slots that have moved least often move first.

    Each slot comes from the member with the most slots or, if several have equally many, the oldest of them.
    """
    for slots in kept:
        while len(slots) < least:
            slots.append(max(kept, key=len).pop())
