from __future__ import annotations

from typing import Any

import pytest
import yaml

from handloop_sandbox.wire import go_yaml
from handloop_sandbox.wire.go_yaml import TooMuchError, YAMLError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: yes", {"a": True}),
        ("a: n", {"a": False}),
        ("a: 2020-01-01", {"a": "2020-01-01"}),
        ("a: 12:30:45", {"a": "12:30:45"}),
        ("a: 1e3", {"a": 1000}),
        ("a: 1.5", {"a": 1.5}),
        ("a: [0o10, 010, 0x10, 0b11, -1_000, 09]", {"a": [8, 8, 16, 3, -1000, 9]}),
        ("a: [0O10, +0O7, 0X1f, -0B11]", {"a": [8, 7, 31, -3]}),
        ("a: 99999999999999999999", {"a": 100000000000000000000}),
        ("a: !!binary aGk=", {"a": "hi"}),
        ("1: x\ntrue: z", {"1": "x", "true": "z"}),
        ("a: [1, {b: null}]", {"a": [1, {"b": None}]}),
        ("a: !mine {b: 1}\nc: !mine [1]\nd: !mine x", {"a": {"b": 1}, "c": [1], "d": "x"}),
        ("a: &x {b: 1}\nc: {<<: *x}", {"a": {"b": 1}, "c": {"b": 1}}),
        ("a: =\nb: <<\n=: [=, <<]", {"a": "=", "b": "<<", "=": ["=", "<<"]}),
        ('"<<": {a: b}', {"<<": {"a": "b"}}),
        ("a: 1\n---\nb: 2\n", {"a": 1}),
        ("", None),
    ],
)
def test_texts_are_read_as_go_reads_them(text: str, value: Any) -> None:
    """Old booleans, Go's numbers, dates as text, keys as text, the first document only."""
    assert go_yaml.parse(text) == (value, ())


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: b: c", "yaml: mapping values are not allowed in this context"),
        ("a: *b", "yaml: unknown anchor 'b' referenced"),
        ("a: .inf", "json: unsupported value: +Inf"),
        ("a: [-.inf]", "json: unsupported value: -Inf"),
        ("a: .nan", "json: unsupported value: NaN"),
        ("~: x", 'unsupported map key of type: %!s(<nil>), key: <nil>, value: "x"'),
        ("a: &x [*x]", "yaml: exceeded max depth"),
        ("a: {<<: x}", "yaml: map merge requires map or sequence of maps as the value"),
    ],
)
def test_what_cannot_be_read(text: str, problem: str) -> None:
    """A text that is no YAML, or nothing that JSON can hold, raises with Go's words."""
    with pytest.raises(YAMLError) as raised:
        go_yaml.parse(text)
    assert str(raised.value) == problem


def test_keys_that_occur_twice() -> None:
    """The last value counts; each repeat is reported with the line of its value, inner ones first."""
    parsed = go_yaml.parse("a: 1\nb:\n- {1: x, 1: z}\na:\n\n  c: 1\n  c: 2\n")
    assert parsed.value == {"a": {"c": 2}, "b": [{"1": "z"}]}
    assert parsed.duplicates == (
        "line 3: key 1 already set in map",
        'line 7: key "c" already set in map',
        'line 6: key "a" already set in map',
    )
    assert parsed.problem.startswith(go_yaml.DUPLICATES + "  line 3: ")
    assert go_yaml.parse("a: 1").problem == ""


def _bomb(levels: int) -> str:
    """Ten times as much a level."""
    names = "abcdefghijkl"
    first = "a: &a [x,x,x,x,x,x,x,x,x,x]"
    rest = (f"{names[i]}: &{names[i]} [{','.join([f'*{names[i - 1]}'] * 10)}]" for i in range(1, levels))
    return "\n".join((first, *rest))


@pytest.mark.parametrize(
    "text",
    ["", "a: 1", "a: &x [1, 2]\nb: *x\n", _bomb(4), "[" * 900 + "]" * 900, "- a\n" * 2000, "a: '*'\n"],
)
def test_ordinary_texts_pass(text: str) -> None:
    """Anchors, long lists and some depth are nothing unusual."""
    go_yaml.check_bounds(text)


@pytest.mark.parametrize("text", [_bomb(8), _bomb(12), f"base: &b [1]\n{_bomb(7)}"])
def test_bombs_are_refused(text: str) -> None:
    """D: a few hundred bytes that mean millions of values."""
    assert len(text) < 1000
    with pytest.raises(TooMuchError, match="excessive aliasing"):
        go_yaml.check_bounds(text)


@pytest.mark.parametrize("text", ["[" * 100_000, "{a: " * 100_000, "- " * 5000 + "x", "? " * 5000 + "x"])
def test_depth_is_bounded(text: str) -> None:
    """The parser's own stack is not reached."""
    with pytest.raises(TooMuchError, match="exceeded max depth"):
        go_yaml.check_bounds(text)


def test_an_alias_to_nothing_is_for_the_parser() -> None:
    """It counts as one; a text that is no YAML raises as ever."""
    go_yaml.check_bounds("a: *nothing")
    with pytest.raises(yaml.YAMLError):
        go_yaml.check_bounds("a: [*b" + "{" * 600)
