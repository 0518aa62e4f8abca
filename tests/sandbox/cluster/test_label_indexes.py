from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handloop.sandbox.cluster.endpoint_slices import SERVICES
from handloop.sandbox.cluster.label_indexes import LabelIndex, SelectorIndex, ServiceIndex, equalities
from handloop.sandbox.cluster.workloads import PODS
from handloop.sandbox.storage.stored import Change, ChangeType, Stored
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


_LABEL_SETS = st.dictionaries(st.sampled_from("ab"), st.sampled_from("xy"), max_size=2)


def _stored(name: str, labels: dict[str, str]) -> Stored:
    return Stored({"metadata": {"name": name, "namespace": "n", "labels": labels}}, 1)


@given(st.lists(st.tuples(st.sampled_from("pqr"), st.none() | _LABEL_SETS), max_size=20), _LABEL_SETS)
def test_agrees_with_a_scan(steps: list[tuple[str, dict[str, str] | None]], wanted: dict[str, str]) -> None:
    """After any adds, relabellings and deletions, matching() finds what looking at every object finds."""
    index = LabelIndex()
    present: dict[str, Stored] = {}
    for name, labels in steps:
        old = present.pop(name, None)
        if labels is not None:
            present[name] = _stored(name, labels)
            kind = ChangeType.MODIFIED if old else ChangeType.ADDED
            index.observe(Change(kind, PODS, new=present[name], old=old))
        elif old is not None:
            index.observe(Change(ChangeType.DELETED, PODS, new=old, old=old))
    scan = sorted(
        name
        for name, stored in present.items()
        if wanted.items() <= stored.object["metadata"]["labels"].items()
    )
    assert index.matching("n", wanted) == (scan if wanted else [])
    assert index.matching("other", wanted) == []


def _service(name: str, selector: dict[str, str] | None) -> Stored:
    spec = {"selector": selector} if selector else {}
    return Stored({"metadata": {"name": name, "namespace": "n"}, "spec": spec}, 1)


def _added(stored: Stored) -> Change:
    return Change(ChangeType.ADDED, SERVICES, new=stored, old=None)


def test_only_full_matches_are_found() -> None:
    """A Service is found by pods that have its whole selector, in their own namespace."""
    index = ServiceIndex()
    for name, selector in (("one", {"a": "x"}), ("two", {"a": "x", "b": "y"}), ("none", None)):
        index.observe(_added(_service(name, selector)))
    assert index.selecting("n", {"a": "x"}) == [("n", "one")]
    assert index.selecting("n", {"a": "x", "b": "y", "c": "z"}) == [("n", "one"), ("n", "two")]
    assert index.selecting("m", {"a": "x"}) == []
    assert index.selecting("n", {}) == []


def test_changed_selector_replaces_the_former_one() -> None:
    """A Service is found by its newest selector only, and not at all once it is deleted."""
    index = ServiceIndex()
    before, after = _service("s", {"a": "x"}), _service("s", {"a": "y"})
    index.observe(_added(before))
    index.observe(Change(ChangeType.MODIFIED, SERVICES, new=after, old=before))
    assert index.selecting("n", {"a": "x"}) == []
    assert index.selecting("n", {"a": "y"}) == [("n", "s")]
    index.observe(Change(ChangeType.DELETED, SERVICES, new=after, old=after))
    assert index.selecting("n", {"a": "y"}) == []
