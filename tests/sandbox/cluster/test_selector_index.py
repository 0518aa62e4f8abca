from __future__ import annotations

import pytest

from handloop.sandbox.cluster.selector_index import SelectorIndex, equalities
from handloop.sandbox.wire.label_selector import parse

_A, _B, _C = ("n", "a"), ("n", "b"), ("m", "c")


def _index() -> SelectorIndex:
    index = SelectorIndex()
    index.put(_A, parse("app=web"))
    index.put(_B, parse("app in (web, db),tier!=test"))
    index.put(_C, parse("app=web"))
    return index


@pytest.mark.parametrize(
    ("labels", "keys"),
    [
        ({"app": "web"}, [_A, _B]),
        ({"app": "web", "tier": "test"}, [_A]),
        ({"app": "db"}, [_B]),
        ({}, []),
    ],
)
def test_every_selector_of_the_namespace_is_asked(
    labels: dict[str, str], keys: list[tuple[str, str]]
) -> None:
    """Selectors with and without a required label are found; those of other namespaces are not."""
    assert _index().selecting("n", [labels]) == keys


def test_any_of_the_pods_will_do() -> None:
    """An object is found once, whichever of the pods it selects."""
    assert _index().selecting("n", [{"app": "db"}, {"app": "web"}, {"app": "web"}]) == [_A, _B]


def test_selectors_are_replaced_and_dropped() -> None:
    """The newest selector of an object counts, and none of one that has gone."""
    index = _index()
    index.put(_A, parse("app=db"))
    assert index.selecting("n", [{"app": "web"}]) == [_B]
    assert index.selecting("n", [{"app": "db"}]) == [_A, _B]
    index.drop(_B)
    index.drop(_B)
    assert index.selecting("n", [{"app": "db"}]) == [_A]


def test_equalities_are_the_labels_with_one_value() -> None:
    """`in` with one value is an equality; the rest are not."""
    assert equalities(parse("a=1,b in (2),c in (3,4),d!=5,e")) == {"a": "1", "b": "2"}
