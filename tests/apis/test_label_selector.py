"""The selector in a field of an object."""

from __future__ import annotations

import pytest

from handloop.apis.grammar.labels import SelectorError, parse_selector
from handloop.apis.meta import FrozenMap
from handloop.kinds.meta_v1 import LabelSelector, LabelSelectorRequirement


def selecting(*expressions: tuple[str, str, tuple[str, ...]], **labels: str) -> LabelSelector:
    """A selector as kinds have it."""
    requirements = [
        LabelSelectorRequirement(key=key, operator=operator, values=values)
        for key, operator, values in expressions
    ]
    return LabelSelector(match_labels=FrozenMap(labels), match_expressions=tuple(requirements))


def test_it_means_what_the_same_words_mean_in_a_query() -> None:
    """Labels and expressions, all of which must hold; the four operators."""
    chosen = selecting(
        ("tier", "In", ("web", "api")),
        ("env", "NotIn", ("test",)),
        ("owner", "Exists", ()),
        ("old", "DoesNotExist", ()),
        app="a",
    )
    assert chosen.selector() == parse_selector("app=a,tier in (web,api),env notin (test),owner,!old")
    labels = {"app": "a", "tier": "api", "owner": ""}
    assert chosen.matches(labels)
    for change in ({"app": "b"}, {"tier": "db"}, {"env": "test"}, {"old": ""}):
        assert not chosen.matches(labels | change)
    assert LabelSelector().matches({})


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (("a", "Gt", ("1",)), '"Gt" is not a valid label selector operator'),
        (("a", "In", ()), "values set can't be empty"),
        (("a b", "Exists", ()), "name part must consist of"),
    ],
)
def test_what_the_server_would_refuse_is_an_error(
    wrong: tuple[str, str, tuple[str, ...]], message: str
) -> None:
    """It may stand in a custom resource, which no server has checked."""
    with pytest.raises(SelectorError, match=message):
        selecting(wrong).matches({})
