from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handloop.client.http.chunked import ChunkError, Dechunker
from support.wire_server import LAST_CHUNK, chunk


def feed_all(pieces: list[bytes]) -> tuple[bytes, bool]:
    dechunker = Dechunker()
    payload = b"".join(dechunker.feed(piece) for piece in pieces)
    return payload, dechunker.done


def test_whole_chunks_in_one_block() -> None:
    """The payload of several chunks comes out in one piece."""
    assert feed_all([chunk(b"one") + chunk(b"two") + LAST_CHUNK]) == (b"onetwo", True)


def test_a_chunk_that_has_begun_is_not_held_back() -> None:
    """Bytes of a long chunk are handed on as they come."""
    dechunker = Dechunker()
    assert dechunker.feed(b"a\r\n01234") == b"01234"
    assert dechunker.feed(b"56789\r\n") == b"56789"
    assert not dechunker.done


def test_every_cut_gives_the_same_payload() -> None:
    """T04, T05: where the bytes are cut makes no difference, for every pair of cuts."""
    data = chunk(b"hello\r\n") + b"3;name=value\r\nabc\r\n" + chunk(b"x" * 17) + b"0\r\nTrailer: 1\r\n\r\n"
    for first in range(len(data) + 1):
        for second in range(first, len(data) + 1):
            pieces = [data[:first], data[first:second], data[second:]]
            assert feed_all(pieces) == (b"hello\r\nabc" + b"x" * 17, True)


def test_no_prefix_looks_like_the_end() -> None:
    """T05: a stream that is cut anywhere before its last byte is not done."""
    data = chunk(b"one") + chunk(b"two") + LAST_CHUNK
    assert [length for length in range(len(data) + 1) if feed_all([data[:length]])[1]] == [len(data)]


@given(st.lists(st.binary(min_size=1, max_size=300), max_size=8), st.randoms(use_true_random=False))
def test_random_chunks_in_random_pieces(parts: list[bytes], rng: random.Random) -> None:
    """T11: any payload survives any chunking and any cutting."""
    data = b"".join(map(chunk, parts)) + LAST_CHUNK
    cuts = sorted(rng.randint(0, len(data)) for _ in range(rng.randint(0, 6)))
    pieces = [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]
    assert feed_all(pieces) == (b"".join(parts), True)


@pytest.mark.parametrize(
    "data",
    [
        b"zz\r\nabc\r\n",
        b"\r\n",
        b"-1\r\n",
        b"+5\r\nhello\r\n",
        b"0x5\r\nhello\r\n",
        b"5_0\r\n",
        b"3\r\nabcX",
        b"3\r\nabcXY\r\n",
        b"fffffffffffffffff\r\n",
        b"3\r\nabc\r\n<html>\r\n",
    ],
    ids=repr,
)
def test_garbage_is_an_error(data: bytes) -> None:
    """T05: nothing but chunked encoding passes for it, however it is cut."""
    with pytest.raises(ChunkError):
        feed_all([data])
    with pytest.raises(ChunkError):
        feed_all([data[index : index + 1] for index in range(len(data))])


def test_a_chunk_size_that_never_ends_is_an_error() -> None:
    """An endless line where a size should be does not fill the memory."""
    dechunker = Dechunker()
    for _ in range(40):
        assert dechunker.feed(b"1" * 100) == b""
    with pytest.raises(ChunkError, match="4096"):
        dechunker.feed(b"1" * 100)


def test_bytes_after_the_end_are_ignored() -> None:
    """What follows the last chunk belongs to nobody."""
    dechunker = Dechunker()
    assert dechunker.feed(chunk(b"a") + LAST_CHUNK + b"rest") == b"a"
    assert dechunker.feed(b"more") == b""


def test_upper_case_sizes_and_spaces_are_accepted() -> None:
    """Sizes are hexadecimal in either case, and may be padded."""
    assert feed_all([b"A  \r\n0123456789\r\n0\r\n\r\n"]) == (b"0123456789", True)
