"""Gzip in, pieces out, and what is refused."""

from __future__ import annotations

import gzip
import random
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handloop.client.errors import BadAnswer, ConnectionBroken, DecompressionBomb
from handloop.client.http.inflater import Inflater

MIB = 1 << 20


def inflated(*blocks: bytes) -> bytes:
    """What blocks inflate to, up to the end of the body."""
    return b"".join(pieces_of(*blocks))


def pieces_of(*blocks: bytes) -> Iterator[bytes]:
    inflater = Inflater()
    for block in blocks:
        inflater.feed(block)
        yield from iter(inflater.take, b"")
    inflater.finish()


@given(st.lists(st.binary(max_size=300), max_size=5), st.randoms(use_true_random=False))
def test_any_members_in_any_pieces(members: list[bytes], rng: random.Random) -> None:
    """Any payload survives being compressed in several members, and any cutting; empty members, too."""
    data = b"".join(map(gzip.compress, members))
    cuts = sorted(rng.randint(0, len(data)) for _ in range(rng.randint(0, 6)))
    blocks = [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]
    assert inflated(*filter(None, blocks)) == b"".join(members)


@pytest.mark.parametrize("size", [MIB - 1, MIB, MIB + 1, 2 * MIB, 2 * MIB + 200, 5 * MIB])
def test_no_byte_stays_behind_at_the_end_of_a_piece(size: int) -> None:
    """A piece has a MiB at most; the rest comes without further input."""
    payload = b"x" * size
    pieces = list(pieces_of(gzip.compress(payload)))
    assert max(map(len, pieces)) <= MIB
    assert b"".join(pieces) == payload


def test_no_prefix_looks_like_the_end() -> None:
    """A body that is cut anywhere, but between two members, is not done."""
    first, second = gzip.compress(b"one"), gzip.compress(b"two")
    data = first + second
    for length in range(1, len(data)):
        if length != len(first):
            with pytest.raises(ConnectionBroken, match="cut off inside its gzip data"):
                inflated(data[:length])
    assert (inflated(), inflated(first), inflated(data)) == (b"", b"one", b"onetwo")


def test_what_has_arrived_comes_at_once() -> None:
    """Events that the server has flushed are not held back, and come together."""
    inflater = Inflater()
    inflater.feed(gzip.compress(b"one\n") + gzip.compress(b"two\n") + gzip.compress(b"three\n")[:-9])
    assert (inflater.take(), inflater.take()) == (b"one\ntwo\nthree\n", b"")


GOOD = gzip.compress(b"payload" * 20)


@pytest.mark.parametrize(
    "data",
    [b'{"kind":"List"}', GOOD + b"tail", GOOD[:20] + b"\xff" * 20, GOOD[:-5] + b"\0" + GOOD[-4:]],
    ids=["plain JSON", "a tail", "bad blocks", "a wrong checksum"],
)
def test_what_is_no_gzip_is_refused(data: bytes) -> None:
    """With zlib's words."""
    with pytest.raises(BadAnswer, match="the response is not valid gzip: "):
        inflated(data)


def test_a_bomb_is_refused_before_it_has_grown() -> None:
    """Beyond 64 MiB a member may have 100 times its size; up to there anything goes, such as padding."""
    padded = gzip.compress(bytes(64 * MIB))
    assert len(inflated(padded)) == 64 * MIB
    pieces: list[bytes] = []
    with pytest.raises(
        DecompressionBomb, match=r"^refused a gzip bomb: \d+ bytes inflate to more than 100 ti"
    ):
        pieces.extend(pieces_of(gzip.compress(bytes(80 * MIB))))
    assert sum(map(len, pieces)) == 64 * MIB


def test_each_member_is_measured_by_itself() -> None:
    """A watch of padded objects, each a member, goes on for ever."""
    member = gzip.compress(bytes(40 * MIB))
    assert len(inflated(*[member] * 4)) == 160 * MIB


def test_what_shrinks_less_may_be_larger() -> None:
    """The ratio is of the whole member: 70 MiB that shrink 50 times are no bomb."""
    noise = random.Random(1).randbytes(MIB + MIB // 2)
    payload = noise + bytes(70 * MIB)
    assert inflated(gzip.compress(payload, compresslevel=1)) == payload
