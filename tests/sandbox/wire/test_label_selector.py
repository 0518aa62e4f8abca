from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handloop.sandbox.wire import label_selector
from handloop.sandbox.wire.status import StatusError

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
