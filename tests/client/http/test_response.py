from __future__ import annotations

import pytest

from handloop.client.http.response import Headers, Response


def test_header_names_have_no_case() -> None:
    """A field is found however its name is written."""
    headers = Headers([("Retry-After", "5"), ("X-A", "1"), ("x-a", "2")])
    assert headers["retry-after"] == headers["RETRY-AFTER"] == headers.get("Retry-After") == "5"
    assert headers["X-A"] == "2"
    assert headers.get("missing") is None
    assert sorted(headers) == ["retry-after", "x-a"]
    assert len(headers) == 2
    with pytest.raises(KeyError):
        headers["missing"]


def test_values_are_not_in_the_repr() -> None:
    """S03: a header that is printed by accident shows no credentials."""
    assert repr(Headers([("Authorization", "Bearer canary")])) == "Headers(['authorization'])"


def test_a_response_is_its_three_parts() -> None:
    """Status, headers and body."""
    assert Response(200, Headers(), b"x") == (200, Headers(), b"x")
