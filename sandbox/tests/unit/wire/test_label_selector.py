from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handloop_sandbox.wire import label_selector
from handloop_sandbox.wire.status import StatusError

_LABELS = {"app": "web", "n": "5"}


def _matches(text: str, labels: dict[str, str]) -> bool:
    chosen = label_selector.predicate(label_selector.parse(text))
    return chosen is None or chosen(labels)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", True),
        ("app=web", True),
        ("app==web,n=5", True),
        ("app!=web", False),
        ("missing!=x", True),
        ("app in (web, db)", True),
        ("app notin (web)", False),
        ("missing notin (x)", True),
        ("app", True),
        ("!app", False),
        ("!missing", True),
        ("n>4", True),
        ("n<5", False),
        ("app>1", False),
        ("missing>1", False),
        ("in", False),
        ("app in ()", False),
    ],
)
def test_what_a_selector_chooses(text: str, expected: bool) -> None:
    """Each operator follows the server: a missing key satisfies only `!`, `!=` and `notin`."""
    assert _matches(text, _LABELS) is expected


_NOT_A_NUMBER = (
    'unable to parse requirement: values[0]: Invalid value: "99999999999999999999": '
    "for 'Gt', 'Lt' operators, the value must be an integer"
)
_OPERATORS = "expected: in, notin, =, ==, !=, gt, lt"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a b", f"unable to parse requirement: found 'b', {_OPERATORS}"),
        ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("a in b", "unable to parse requirement: found 'b' expected: '('"),
        ("a in (", "unable to parse requirement: found '', expected: ',', ')' or identifier"),
        ("a in (b,", "unable to parse requirement: found '', expected: ',', or identifier"),
        ("a in (b c)", "unable to parse requirement: found 'c', expected: ',' or ')'"),
        ("a,", "found '', expected: identifier after ','"),
        ("a,,b", "found ',', expected: identifier after ','"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("!a=b", "found '=', expected: ',' or 'end of string'"),
        ("(", "found '(', expected: !, identifier, or 'end of string'"),
        ("a=!", "unable to parse requirement: found '!', expected: identifier"),
        ("a=b c=d", "found 'c', expected: ',' or 'end of string'"),
        ("a>99999999999999999999", _NOT_A_NUMBER),
        ("/a=b", 'unable to parse requirement: <nil>: Invalid value: "/a": prefix part must be non-empty'),
    ],
)
def test_the_servers_words_for_what_does_not_parse(text: str, message: str) -> None:
    """Errors have the texts of the real server's parser."""
    with pytest.raises(StatusError) as raised:
        label_selector.parse(text)
    assert (raised.value.code, str(raised.value)) == (400, message)


def test_values_are_validated() -> None:
    """A value that no label could have is refused by position and key; a bound has to be a number."""
    with pytest.raises(StatusError, match=r'values\[0\]\[a\]: Invalid value: "-b": a valid label must be'):
        label_selector.parse("a=-b")
    with pytest.raises(StatusError, match="for 'Gt', 'Lt' operators, the value must be an integer"):
        label_selector.parse("a>x")


_KEYS = st.sampled_from(["a", "b", "c"])
_VALUES = st.sampled_from(["x", "y", "z"])


@given(labels=st.dictionaries(_KEYS, _VALUES), key=_KEYS, values=st.sets(_VALUES, min_size=1))
def test_in_and_notin_are_opposites(labels: dict[str, str], key: str, values: set[str]) -> None:
    """Whatever the labels, exactly one of `in` and `notin` holds."""
    listed = ",".join(sorted(values))
    inside, outside = (_matches(f"{key} {word} ({listed})", labels) for word in ("in", "notin"))
    assert inside is not outside
    assert inside is (labels.get(key) in values)


_POD = {"app": "web", "tier": "front"}


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        (None, False),
        ({}, True),
        ({"matchLabels": {"app": "web"}}, True),
        ({"matchLabels": {"app": "web", "tier": "back"}}, False),
        ({"matchExpressions": [{"key": "app", "operator": "In", "values": ["web", "db"]}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]}, False),
        ({"matchExpressions": [{"key": "none", "operator": "NotIn", "values": ["web"]}]}, True),
        ({"matchExpressions": [{"key": "none", "operator": "In", "values": ["web"]}]}, False),
        ({"matchExpressions": [{"key": "tier", "operator": "Exists"}]}, True),
        ({"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]}, False),
        ({"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "x", "operator": "Exists"}]}, False),
    ],
)
def test_label_selectors_match_as_the_server_does(selector: dict[str, Any] | None, expected: bool) -> None:
    """Every requirement must hold; an absent key satisfies only the negative operators."""
    assert label_selector.matches(selector, _POD) is expected


def test_an_empty_selector_is_everything() -> None:
    """Only a selector that is there and asks nothing selects everything."""
    assert label_selector.is_everything({})
    assert not label_selector.is_everything(None)
    assert not label_selector.is_everything({"matchLabels": {"a": "b"}})
    assert label_selector.matches({}, None)


def test_the_text_of_a_label_selector() -> None:
    """Terms in the order of their keys, values sorted; a bare map is one of labels."""
    terms = [
        {"key": "e", "operator": "DoesNotExist"},
        {"key": "d", "operator": "Exists"},
        {"key": "c", "operator": "NotIn", "values": ["3"]},
        {"key": "b", "operator": "In", "values": ["2", "1"]},
    ]
    selector = {"matchLabels": {"a": "1"}, "matchExpressions": terms}
    assert label_selector.text(selector) == "a=1,b in (1,2),c notin (3),d,!e"
    assert label_selector.text({"b": "2", "a": "1"}) == "a=1,b=2"
    assert label_selector.text(None) == label_selector.text({}) == ""
