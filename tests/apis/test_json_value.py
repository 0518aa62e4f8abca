"""JSON without a type of its own."""

from __future__ import annotations

import copy
import gc
import pickle
import sys

import msgspec
import pytest

from handloop.apis.json_value import JSON
from handloop.apis.meta import APIStruct, decode_hook, encode_hook


class Part(APIStruct, frozen=True):
    """Has a part without a shape."""

    free: JSON = JSON()
    maybe: JSON | None = None


decode = msgspec.json.Decoder(tuple[Part, ...], dec_hook=decode_hook).decode


@pytest.mark.parametrize("text", ["null", "true", "1", "1.5", '"\u00e9"', "[]", "[1,null]", '{"a":[]}'])
def test_what_is_decoded_is_encoded_again(text: str) -> None:
    """Any JSON, null included, as a part of an object and by itself."""
    body = f'[{{"free":{text}}}]'.encode()
    (part,) = decode(body)
    assert part.free == JSON(part.free.value())
    assert msgspec.json.encode(part.free, enc_hook=encode_hook) == text.encode()
    assert msgspec.json.encode([part], enc_hook=encode_hook) == body


def test_it_is_a_value() -> None:
    """Equal in any order of the keys; a hash; copies and pickles are equal; its repr shows it."""
    one, other = JSON({"a": 1, "b": [2]}), JSON({"b": [2], "a": 1})
    assert one == other
    assert hash(one) == hash(other)
    assert one != JSON({"a": 1})
    assert one != {"a": 1, "b": [2]}
    assert copy.deepcopy(one) == pickle.loads(pickle.dumps(one)) == one  # noqa: S301 - our own bytes
    assert repr(other) == "JSON({'a': 1, 'b': [2]})"


def test_it_cannot_be_changed_through_its_value() -> None:
    """value() decodes anew, and what JSON() was given is not kept."""
    given = {"a": [1]}
    free = JSON(given)
    given["a"].append(2)
    free.value()["a"].append(3)
    assert free.value() == {"a": [1]}


def test_a_page_does_not_live_on_in_it() -> None:
    """A small part of a large answer keeps its own few bytes, where msgspec.Raw keeps the answer."""
    body = b'[{"free":[7],"rest":"' + b"x" * 100_000 + b'"}]'
    users = sys.getrefcount(body)
    (part,) = decode(body)
    gc.collect()
    assert sys.getrefcount(body) == users
    assert sum(map(sys.getsizeof, gc.get_referents(part.free))) < 10_000
    (raw,) = msgspec.json.decode(body, type=tuple[msgspec.Raw, ...])
    assert sys.getrefcount(body) > users
    del raw
