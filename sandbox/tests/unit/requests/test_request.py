from __future__ import annotations

from handloop_sandbox.requests.request import Request, Response, User


def test_a_response_is_joined_late() -> None:
    """The parts of a body become one when they are asked for."""
    assert Response(200, (), (b"a", b"b")).content() == b"ab"
    assert Response(304, ()).content() == b""


def test_what_is_left_out() -> None:
    """A request needs no more than method and path, a user no more than a name."""
    request = Request("GET", "/x")
    assert (request.body, dict(request.headers), request.query.get("a")) == (b"", {}, None)
    assert User("me").groups == ()
