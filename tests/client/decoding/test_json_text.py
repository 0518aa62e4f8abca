from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handloop.client.decoding.json_text import (
    MALFORMED,
    null_as_absent,
    prune,
    pruning,
    read,
    require_utf8,
    shown,
)
from handloop.client.errors import DecodeError


def test_utf8_is_accepted() -> None:
    """Text in any language passes."""
    require_utf8("{'ä': '漢字 🎉'}".encode())
    require_utf8(b"ascii")


@pytest.mark.parametrize("bad", [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xc0\xaf"], ids=repr)
def test_anything_else_is_refused_wherever_it_stands(bad: bytes) -> None:
    """Invalid UTF-8 is an error, also in a field that is not decoded."""
    with pytest.raises(DecodeError, match="invalid UTF-8 at byte 6"):
        require_utf8(b'{"a":"' + bad + b'"}')


def test_shown_is_one_short_line_of_ascii() -> None:
    """A quoted text has no control characters and at most 200 characters' worth."""
    text = shown(b"a\nb\x1b[31m\xff" + "é".encode() + b"x" * 1000)
    assert text.startswith("a\\nb\\x1b[31m\\\\xff\\xe9xxx")
    assert text.isascii()
    assert len(text) < 260


def nested(depth: int) -> bytes:
    return b'{"keep":1,"deep":' + b"[" * depth + b"]" * depth + b',"after":"]}"}'


@pytest.mark.parametrize("depth", [1, 150, 199, 200, 500, 100_000])
def test_prune_keeps_what_is_shallow(depth: int) -> None:
    """Deep nesting is cut away, and the fields beside it can be read."""
    value = msgspec.json.decode(prune(nested(depth)))
    assert (value["keep"], value["after"]) == (1, "]}")


def test_prune_leaves_ordinary_json_alone() -> None:
    """An object of normal depth comes back byte for byte."""
    data = nested(100)
    assert prune(data) is data


def test_prune_of_unbalanced_json_stays_an_error() -> None:
    """Text that is not JSON does not become JSON."""
    for data in (b"[" * 100_000, b"]" * 10, b'{"a":' + b"[" * 500 + b"]" * 100):
        with pytest.raises(MALFORMED):
            msgspec.json.decode(prune(data))


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_prune_changes_no_value(value: object) -> None:
    """Brackets and quotes inside strings are not structure."""
    data = json.dumps(value).encode()
    assert prune(data) == data


def test_a_pruning_decoder_gets_to_the_end_of_deep_nesting() -> None:
    """A decoder that gives up on depth is asked again without it; its other errors stay."""
    decode = pruning(msgspec.json.decode)
    assert decode(nested(100_000))["keep"] == 1
    with pytest.raises(msgspec.DecodeError):
        decode(b"{")


def test_what_cannot_be_read_is_one_error_that_shows_it() -> None:
    """The problem comes first, then the decoder's words and the data."""
    assert read(msgspec.json.decode, b"[1]", "not a list") == [1]
    with pytest.raises(DecodeError, match=r"^not a list \(.+\): \{x$"):
        read(msgspec.json.decode, b"{x", "not a list")


class Part(msgspec.Struct, frozen=True):
    names: tuple[str, ...] = ()
    others: tuple[int, ...] = ()


class Whole(msgspec.Struct, frozen=True):
    parts: tuple[Part, ...]
    limits: dict[str, Part] = {}


def test_null_is_no_list() -> None:
    """Go writes null for an empty list; every null in such a place is dropped, and nothing else."""
    decode = null_as_absent(msgspec.json.Decoder(Whole).decode)
    body = b'{"parts": [{"names": null, "others": null}, {"names": ["a"]}], "limits": null}'
    assert decode(body) == Whole((Part(), Part(("a",))))


@pytest.mark.parametrize(
    "body", [b'{"parts": null}', b'{"parts": [null]}', b'{"parts": [], "limits": {"a": {"names": null}}}']
)
def test_a_null_that_cannot_go_is_an_error(body: bytes) -> None:
    """A required field, an entry of a list, and a place behind a map's key, which the error does not name."""
    with pytest.raises(msgspec.ValidationError):
        null_as_absent(msgspec.json.Decoder(Whole).decode)(body)
