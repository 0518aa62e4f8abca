from __future__ import annotations

from handloop_learn import ch04_indexer
from support.checks.chapters import told


def test_a_lister_sends_no_request_and_its_objects_cannot_be_changed() -> None:
    """One watch fills the cache, no get is a request. Same object, index as right as a scan, no change."""
    end, _ = told(ch04_indexer.chapter)
    filled, asked = end.requests
    assert (filled, asked) == (1, 0)
    assert end.same_object
    assert end.indexed == end.scanned == ["foo-23", "foo-3", "foo-43"]
    assert ["immutable" in refusal for refusal in end.refusals] == [True, True]
    assert end.replicas == 1
