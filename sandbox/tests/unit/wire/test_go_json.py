from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handloop_sandbox.wire import go_json


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "unexpected end of JSON input"),
        ("{not json", "invalid character 'n' looking for beginning of object key string"),
        ('{"a":}', "invalid character '}' looking for beginning of value"),
        ('{"a":1,}', "invalid character '}' looking for beginning of object key string"),
        ('{"a" 1}', "invalid character '1' after object key"),
        ('{"a":1 "b"}', "invalid character '\"' after object key:value pair"),
        ('{"a":tru}', "invalid character '}' in literal true (expecting 'e')"),
        ('{"a":"x', "unexpected end of JSON input"),
        ('{"a":1}{"b":2}', "invalid character '{' after top-level value"),
        ('{"a":1} x', "invalid character 'x' after top-level value"),
        ("[1 2]", "invalid character '2' after array element"),
        ('"\\q"', "invalid character 'q' in string escape code"),
        ("-x", "invalid character 'x' in numeric literal"),
        ("1.x", "invalid character 'x' after decimal point in numeric literal"),
        ("\x81", r"invalid character '\u0081' looking for beginning of value"),
        ("NaN", "invalid character 'N' looking for beginning of value"),
    ],
)
def test_gos_words_for_a_syntax_error(text: str, message: str) -> None:
    """A text that is no JSON is refused with the words of Go's scanner."""
    with pytest.raises(go_json.JSONError) as raised:
        go_json.parse(text)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r'"\ud800"', "\ufffd"),
        (r'"\udc00y"', "\ufffdy"),
        (r'"\uD83D\uDE00"', "\U0001f600"),
        (r'"\ud800\ud83d\ude00"', "\ufffd\U0001f600"),
        (r'"\\ud800"', r"\ud800"),
        (r'"\\\ud800"', "\\\ufffd"),
        (r'{"\udfff":1}', {"\ufffd": 1}),
    ],
)
def test_halves_of_surrogate_pairs(text: str, value: Any) -> None:
    """Half a pair is U+FFFD; pairs, and what only looks like an escape, stay."""
    assert go_json.parse(text) == value
    assert go_json.parse_noting_duplicates(text) == (value, [])


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("9223372036854775807", "9223372036854775807"),
        ("9223372036854775808", "9223372036854776000"),
        ("-9223372036854775809", "-9223372036854776000"),
        ("12345678901234567e3", "12345678901234567000"),
        ("123456789012345678901234567890", "1.2345678901234568e+29"),
        ("[1.0, 0.5]", "[1, 0.5]"),
    ],
)
def test_numbers_of_no_known_type(text: str, shown: str) -> None:
    """A number that is no int64 is the nearest float64, with as few digits as name it."""
    assert json.dumps(go_json.unstructured(go_json.parse(text))) == shown


@pytest.mark.parametrize("text", ["1e400", "-1e400", "9" * 400])
def test_numbers_that_nothing_holds(text: str) -> None:
    """Beyond every float64 they are refused where no type reads their digits."""
    content = f'{{"a":[{text}]}}'
    assert go_json.has_odd_numbers(content.encode())
    with pytest.raises(go_json.RangeError) as raised:
        go_json.unstructured(go_json.parse(content))
    assert str(raised.value) == f"json: cannot unmarshal number {text} into Go value of type float64"


def test_texts_without_such_numbers() -> None:
    """Strings and small numbers are no reason to look at every value."""
    assert not go_json.has_odd_numbers(b'{"uid":"3e4a-123456789012345678901","n":-12.5e-3,"m":[1,20]}')


def test_duplicate_members_are_found_where_they_are() -> None:
    """Members that occur twice are reported by path; the last one counts."""
    text = '{"a":1,"a":2,"b":[{"c":1,"c":2,"c":3}],"d":{"e":{"f":1,"f":1}}}'
    value, paths = go_json.parse_noting_duplicates(text)
    assert value == {"a": 2, "b": [{"c": 3}], "d": {"e": {"f": 1}}}
    assert paths == ["a", "b[0].c", "d.e.f"]
    assert type(value) is dict


def test_whole_numbers_lose_their_point() -> None:
    """A number such as 2.0 is written back as 2, as Go does."""
    assert json.dumps(go_json.parse('{"a":2.0,"b":2.5,"c":1e3}')) == '{"a": 2, "b": 2.5, "c": 1000}'


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=10,
)


@given(_VALUES)
def test_good_json_is_read_as_it_is(value: object) -> None:
    """What the standard library writes is read back unchanged, without duplicates."""
    text = json.dumps(value)
    assert go_json.parse(text) == value
    assert go_json.parse_noting_duplicates(text) == (value, [])


@given(st.text(max_size=20))
def test_every_bad_text_gets_a_message(text: str) -> None:
    """Either a text parses, or it raises with a message."""
    message = "parsed"
    try:
        go_json.parse(text)
    except go_json.JSONError as error:
        message = str(error)
    assert message


def test_quoting() -> None:
    """A string is quoted as JSON, without escaping printable characters."""
    assert go_json.quoted('é"') == '"é\\""'
