from __future__ import annotations

from handloop.client.http.response import Response


def test_a_response_is_its_three_parts() -> None:
    """Status, headers and body."""
    assert Response(200, {}, b"x") == (200, {}, b"x")
