"""
Slots, which are ranges of hash values, and the query parameter `shardSelector`, which requests some of them.

Follows: apimachinery 0.36.3 pkg/sharding (hash.go, selector.go) and apiserver pkg/sharding/parser.go; the
server supports the parameter behind its feature gate ShardedListAndWatch (alpha and off in 1.36).
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Final, NamedTuple

HASHES: Final = 2**64

_OFFSET: Final = 0xCBF29CE484222325
_PRIME: Final = 0x100000001B3
_LAST: Final = HASHES - 1
# fmix64 of MurmurHash3
_MIXERS: Final = (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53)


class ShardField(StrEnum):
    """The object field that is hashed. For a cluster-scoped object, the namespace is ""."""

    UID = "object.metadata.uid"
    NAMESPACE = "object.metadata.namespace"


class ShardRange(NamedTuple):
    """The hashes h with start <= h < end, where 0 <= start < end <= 2**64."""

    start: int
    end: int


def fnv1a_64(text: str) -> int:
    """
    Return the 64-bit FNV-1a hash of the text's UTF-8 bytes.

    Hashing a UID takes 3 us, so cache hashes that are needed often.
    """
    value = _OFFSET
    for byte in text.encode(errors="surrogatepass"):
        value = (value ^ byte) * _PRIME & _LAST
    return value


def slot_of(text: str, count: int) -> int:
    """Return the slot, from 0 to count - 1, whose range contains the hash of text."""
    return fnv1a_64(text) * count // HASHES


def slot_of_namespace(namespace: str, count: int) -> int:
    """
    Return a namespace's slot. Its hash is mixed first, unlike the hashes in the server's ranges.

    The leading bits of an FNV-1a hash, which determine the slot, hardly depend on the last characters.
    Without the mixing step, ns-00 to ns-63 would all be in the same slot.
    """
    value = fnv1a_64(namespace)
    for mixer in _MIXERS:
        value = (value ^ value >> 33) * mixer & _LAST
    return (value ^ value >> 33) * count // HASHES


def slot_range(slot: int, count: int) -> ShardRange:
    """
    Return the range of hashes that belong to a slot.

    Each hash is in exactly one of the slots 0 to count - 1, and the slots' sizes differ by at most one.
    """
    if not 0 <= slot < count:
        raise ValueError(f"slot {slot} does not exist: the {count} slots are numbered from 0")
    return ShardRange(-(-slot * HASHES // count), -(-(slot + 1) * HASHES // count))


def format_shard_selector(field: ShardField, ranges: Iterable[ShardRange]) -> str:
    """
    Return the parameter's value for objects whose field hashes into one of the ranges.

    Adjacent or overlapping ranges are merged, so that the server needs only one comparison for neighbouring
    slots.
    Raises: ValueError for an empty range, a range outside 0 to 2**64, or no ranges, because the server has
    no selector that selects nothing.
    """
    merged: list[ShardRange] = []
    for shard in sorted(ranges):
        if not 0 <= shard.start < shard.end <= HASHES:
            raise ValueError(f"no range of hashes: {shard}")
        if merged and shard.start <= merged[-1].end:
            merged[-1] = ShardRange(merged[-1].start, max(merged[-1].end, shard.end))
        else:
            merged.append(shard)
    if not merged:
        raise ValueError("a shard selector needs a range")
    return " || ".join(f"shardRange({field}, '{_hex(start)}', '{_hex(end)}')" for start, end in merged)


def _hex(value: int) -> str:
    """Format a hash with sixteen digits, as the server requires. Only 2**64 has seventeen."""
    return f"0x{value:016x}"
