from __future__ import annotations

from handloop.sandbox.wire.query import EMPTY_QUERY, Query


def test_parameters_are_decoded_and_may_repeat() -> None:
    """The first value counts, all can be had, and a bare name is an empty value."""
    query = Query.parse("labelSelector=a%3Db&dryRun=All&dryRun=x&watch&fieldSelector=")
    assert query.get("labelSelector") == "a=b"
    assert query.get("dryRun") == "All"
    assert query.all("dryRun") == ["All", "x"]
    assert query.get("watch") == ""
    assert query.get("fieldSelector") == ""
    assert query.get("nothing") is None


def test_no_query() -> None:
    """The empty query has nothing."""
    assert EMPTY_QUERY.get("x") is None
    assert EMPTY_QUERY.all("x") == []
