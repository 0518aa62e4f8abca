from __future__ import annotations

import pytest

from handloop_sandbox.authenticator import Authenticator, unveil
from handloop_sandbox.requests.authorization import ANONYMOUS
from handloop_sandbox.requests.request import Request, User
from handloop_sandbox.storage.store import Store

_ALICE, _EVERYBODY = User("alice", ("system:authenticated",)), User("everybody")
_NOW = 1_700_000_000.0


def _authenticator(*, tokens_in_paths: bool = True) -> Authenticator:
    return Authenticator({"a": User("alice")}, everybody=_EVERYBODY, tokens_in_paths=tokens_in_paths)


def _user(authorization: str) -> User | None:
    return _authenticator().user(Store(), Request("GET", "/", headers={"authorization": authorization}), _NOW)


def test_tokens_are_users() -> None:
    """A known token is its user, in the group of all who are known, in any case of the scheme."""
    assert _user("Bearer a") == _user("bearer  a ") == _ALICE


@pytest.mark.parametrize("authorization", ["", "Bearer", "Bearer ", "Basic YTpi"])
def test_without_a_token_one_is_anonymous(authorization: str) -> None:
    """Other schemes are not looked at."""
    assert _user(authorization) == ANONYMOUS


@pytest.mark.parametrize("token", ["b", "aa", "x.y.z", "x.y.ä", "\udcff.y.z", "ä", "\udcff\udcfe"])
def test_a_wrong_token_is_no_user(token: str) -> None:
    """Whatever bytes it is made of."""
    assert _user(f"Bearer {token}") is None


def test_without_users_all_clients_are_one() -> None:
    """No token is looked at."""
    authenticator = Authenticator(None, everybody=_EVERYBODY, tokens_in_paths=True)
    request = Request("GET", "/a/api", headers={"authorization": "Bearer x"})
    assert authenticator.user(Store(), request, _NOW) == _EVERYBODY
    assert authenticator.unveiled(request) is request


def test_tokens_in_paths_can_be_turned_off() -> None:
    """With TLS they have no business there."""
    request = Request("GET", "/a/api")
    assert _authenticator().unveiled(request).path == "/api"
    assert _authenticator(tokens_in_paths=False).unveiled(request) is request


def test_each_has_a_key_of_its_own() -> None:
    """A token that another one signed is worth nothing."""
    assert _authenticator().credentials.signing_key != _authenticator().credentials.signing_key


def test_a_known_token_becomes_the_authorization_header() -> None:
    """The path goes on without it; other headers stay."""
    request = unveil(Request("GET", "/s3cret/api/v1/pods", headers={"accept": "x"}), ["other", "s3cret"])
    assert request.path == "/api/v1/pods"
    assert request.headers == {"accept": "x", "authorization": "Bearer s3cret"}


def test_a_bearer_token_in_the_header_counts_before_the_path() -> None:
    """A service account's, where the URL has the administrator's; no other scheme does."""
    mine, basic = ({"authorization": words} for words in ("bearer mine", "Basic YTpi"))
    request = unveil(Request("GET", "/s3cret/api", headers=mine), ["s3cret"])
    assert (request.path, request.headers) == ("/api", mine)
    request = unveil(Request("GET", "/s3cret/api", headers=basic), ["s3cret"])
    assert request.headers == {"authorization": "Bearer s3cret"}


def test_the_token_alone_is_the_root() -> None:
    """`/TOKEN` and `/TOKEN/` are both `/`."""
    assert unveil(Request("GET", "/s"), ["s"]).path == "/"
    assert unveil(Request("GET", "/s/"), ["s"]).path == "/"


@pytest.mark.parametrize("path", ["/", "", "/api/v1", "/s3cre/api", "/s3crets/api", "/x/s3cret/api", "//api"])
def test_anything_else_stays_as_it_is(path: str) -> None:
    """A wrong token, a part of one, or one further down is just a path."""
    request = Request("GET", path, headers={"authorization": "Bearer mine"})
    assert unveil(request, ["s3cret", ""]) is request
