from __future__ import annotations

import pytest

from handloop_sandbox.wire import query
from handloop_sandbox.wire.query import EMPTY_QUERY, Query


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


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("/a/b?c=d?e", ("header:1", "/a/b", "c=d?e")),
        ("http://other:2/a?b", ("other:2", "/a", "b")),
        ("https://user:word@other/a", ("other", "/a", "")),
        ("http://other", ("other", "/", "")),
        ("http://[::1]:2?b", ("[::1]:2", "/", "b")),
        ("*", ("header:1", "*", "")),
    ],
)
def test_the_parts_of_a_target(text: str, target: tuple[str, str, str]) -> None:
    """The origin form is for the host of the header, the absolute form names its own."""
    assert query.target_of(text, "header:1") == target


def test_percent_signs() -> None:
    """Each stands before two hexadecimal digits."""
    assert query.is_escaped("/a%2Fb%ff")
    assert not any(query.is_escaped(path) for path in ("/%", "/%a", "/%zz", "/a%2/b"))
