"""Hashes and ranges as kube-apiserver 1.36.3 compares them (tests/contract asks it)."""

from __future__ import annotations

import random
import uuid

import pytest

from handloop.apis.grammar.shard_selector import (
    HASHES,
    ShardField,
    ShardRange,
    fnv1a_64,
    format_shard_selector,
    slot_of,
    slot_of_namespace,
    slot_range,
)

LOW, HIGH = ShardRange(0, HASHES // 2), ShardRange(HASHES // 2, HASHES)


@pytest.mark.parametrize(
    ("text", "value"),
    [("", 0xCBF29CE484222325), ("a", 0xAF63DC4C8601EC8C), ("foobar", 0x85944171F73967E8)],
)
def test_the_hash_is_fnv_1a(text: str, value: int) -> None:
    """The test vectors of the algorithm's authors."""
    assert fnv1a_64(text) == value


@pytest.mark.parametrize("count", [1, 2, 3, 7, 16, 1000])
def test_slots_cover_each_hash_once(count: int) -> None:
    """They follow each other from the first hash to the last, and none is larger by more than one."""
    ranges = [slot_range(slot, count) for slot in range(count)]
    assert [shard.start for shard in ranges] == [0, *(shard.end for shard in ranges[:-1])]
    assert ranges[-1].end == HASHES
    sizes = {shard.end - shard.start for shard in ranges}
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("count", [1, 3, 16, 1000])
def test_a_text_is_in_the_range_of_its_slot(count: int) -> None:
    """Client and server agree on random UIDs, and every slot gets its part of them."""
    choose = random.Random(1)
    uids = [str(uuid.UUID(int=choose.getrandbits(128), version=4)) for _ in range(2000)]
    sizes = [0] * count
    for uid in uids:
        shard = slot_range(slot_of(uid, count), count)
        assert shard.start <= fnv1a_64(uid) < shard.end
        sizes[slot_of(uid, count)] += 1
    assert max(sizes) <= 2 * len(uids) // count + 8


@pytest.mark.parametrize("slot", [-1, 4])
def test_a_slot_beyond_the_count_is_refused(slot: int) -> None:
    """Slots are counted from 0."""
    with pytest.raises(ValueError, match=f"slot {slot} does not exist: the 4 slots"):
        slot_range(slot, 4)


def test_a_selector_has_sixteen_digits_but_for_the_end() -> None:
    """The server refuses other lengths."""
    low = "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')"
    high = "shardRange(object.metadata.namespace, '0x8000000000000000', '0x10000000000000000')"
    assert format_shard_selector(ShardField.UID, [LOW]) == low
    assert format_shard_selector(ShardField.NAMESPACE, [HIGH]) == high


def test_ranges_that_meet_or_overlap_are_one() -> None:
    """In any order; what lies apart stays apart."""
    apart = ShardRange(50, 60)
    selector = format_shard_selector(
        ShardField.UID, [apart, ShardRange(20, 30), ShardRange(10, 20), ShardRange(12, 14)]
    )
    expected = [format_shard_selector(ShardField.UID, [shard]) for shard in (ShardRange(10, 30), apart)]
    assert selector == " || ".join(expected)


@pytest.mark.parametrize(
    "shard", [ShardRange(5, 5), ShardRange(6, 5), ShardRange(-1, 5), ShardRange(0, HASHES + 1)]
)
def test_a_range_without_hashes_is_refused(shard: ShardRange) -> None:
    """The server answers it with 500."""
    with pytest.raises(ValueError, match="no range of hashes"):
        format_shard_selector(ShardField.UID, [shard])


def test_no_range_is_refused() -> None:
    """An empty selector would be an error, and an absent one everything."""
    with pytest.raises(ValueError, match="needs a range"):
        format_shard_selector(ShardField.UID, [])


def test_namespaces_that_differ_at_their_end_are_spread() -> None:
    """All replicas of all versions agree, so the slots of some are written down here."""
    names = [f"ns-{i:02}" for i in range(64)]
    assert len({slot_of(name, 16) for name in names}) == 1, "without the mixer"
    slots = [slot_of_namespace(name, 16) for name in names]
    assert max(slots.count(slot) for slot in range(16)) <= 8
    assert len(set(slots)) >= 14
    assert [slot_of_namespace(name, 16) for name in ("", "default", "kube-system")] == [14, 13, 14]
