from __future__ import annotations

from handloop.sandbox.cluster.endpoint_slices import SERVICES
from handloop.sandbox.cluster.service_index import ServiceIndex
from handloop.sandbox.storage.stored import Change, ChangeType, Stored


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
