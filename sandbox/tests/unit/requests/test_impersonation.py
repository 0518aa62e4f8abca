from __future__ import annotations

import pytest

from handloop_sandbox.requests.authorization import Attributes, PathAttributes
from handloop_sandbox.requests.impersonation import acting_user
from handloop_sandbox.requests.request import User
from handloop_sandbox.storage.store import Store
from handloop_sandbox.wire.status import StatusError

_ROOT = User("root", ("system:masters", "system:authenticated"))
_ALICE = User("alice", ("system:authenticated",))
_LIST = Attributes("list", "", "pods", "n")


def _as_root(**headers: str) -> User:
    fields = {f"impersonate-{name}": value for name, value in headers.items()}
    return acting_user(Store(), _ROOT, fields, _LIST)


def test_without_the_header_one_is_oneself() -> None:
    """Nothing is changed."""
    assert acting_user(Store(), _ALICE, {}, _LIST) is _ALICE


def test_a_master_can_have_a_user() -> None:
    """User, groups, uid and extra come from the headers, a value in each."""
    headers = {
        "impersonate-user": "bob",
        "impersonate-group": "dev\nops, too",
        "impersonate-uid": "7",
        "impersonate-extra-example.com%2fscopes": "a\nb",
    }
    groups = ("dev", "ops, too", "system:authenticated")
    expected = User("bob", groups, "7", {"example.com/scopes": ("a", "b")})
    assert acting_user(Store(), _ROOT, headers, _LIST) == expected


def test_a_service_account_comes_with_its_groups() -> None:
    """Unless the headers name groups."""
    name = "system:serviceaccount:apps:robot"
    groups = ("system:serviceaccounts", "system:serviceaccounts:apps", "system:authenticated")
    assert _as_root(user=name) == User(name, groups)
    assert _as_root(user=name, group="dev") == User(name, ("dev", "system:authenticated"))


@pytest.mark.parametrize(
    ("name", "group", "expected"),
    [
        ("bob", "system:authenticated", ("system:authenticated",)),
        ("bob", "system:unauthenticated", ("system:unauthenticated",)),
        ("system:anonymous", "", ("system:unauthenticated",)),
        ("system:anonymous", "dev", ("dev", "system:unauthenticated")),
    ],
)
def test_the_group_of_all(name: str, group: str, expected: tuple[str, ...]) -> None:
    """Who is known is in one group, who is not in another, and nobody in both."""
    assert _as_root(user=name, group=group).groups == expected


def test_others_cannot() -> None:
    """The refusal names the request with the verb of constrained impersonation."""
    headers = {"impersonate-user": "bob"}
    with pytest.raises(StatusError, match='"alice" cannot impersonate-on:user-info:list resource "pods"'):
        acting_user(Store(), _ALICE, headers, _LIST)
    with pytest.raises(StatusError, match='"alice" cannot impersonate-on:user-info:get path "/version"'):
        acting_user(Store(), _ALICE, headers, PathAttributes("get", "/version"))
    headers = {"impersonate-user": "system:serviceaccount:n:robot"}
    with pytest.raises(StatusError, match='cannot impersonate-on:serviceaccount:list resource "pods"'):
        acting_user(Store(), _ALICE, headers, _LIST)


def test_nobody_can_be_half_a_user() -> None:
    """Groups and more want a name."""
    with pytest.raises(StatusError) as raised:
        acting_user(Store(), _ROOT, {"impersonate-group": "a\nb", "impersonate-extra-x": "y"}, _LIST)
    assert str(raised.value) == (
        'requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"a", "b"}, '
        'Extra:map[string][]string{"x":[]string{"y"}}} without impersonating a user name'
    )
