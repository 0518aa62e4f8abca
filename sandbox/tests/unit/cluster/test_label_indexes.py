from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from handloop_sandbox.cluster.label_indexes import LabelIndex, ServiceIndex
from handloop_sandbox.cluster.service_endpoints import SERVICES
from handloop_sandbox.cluster.workloads import PODS
from handloop_sandbox.storage.stored import Change, ChangeType, Stored

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
