"""Tokens in the path."""

from __future__ import annotations

import pytest

from handloop.sandbox.requests.request import Request
from handloop.sandbox.secret_path import unveil


def test_a_known_token_becomes_the_authorization_header() -> None:
    """The path goes on without it; other headers stay."""
    request = unveil(Request("GET", "/s3cret/api/v1/pods", headers={"accept": "x"}), ["other", "s3cret"])
    assert request.path == "/api/v1/pods"
    assert request.headers == {"accept": "x", "authorization": "Bearer s3cret"}


def test_the_token_alone_is_the_root() -> None:
    """`/TOKEN` and `/TOKEN/` are both `/`."""
    assert unveil(Request("GET", "/s"), ["s"]).path == "/"
    assert unveil(Request("GET", "/s/"), ["s"]).path == "/"


@pytest.mark.parametrize("path", ["/", "", "/api/v1", "/s3cre/api", "/s3crets/api", "/x/s3cret/api", "//api"])
def test_anything_else_stays_as_it_is(path: str) -> None:
    """A wrong token, a part of one, or one further down is just a path."""
    request = Request("GET", path, headers={"authorization": "Bearer mine"})
    assert unveil(request, ["s3cret", ""]) is request
