from __future__ import annotations

import pytest

from handloop.sandbox.requests.authorization import Attributes
from handloop.sandbox.requests.impersonation import acting_user
from handloop.sandbox.requests.request import User
from handloop.sandbox.wire.status import StatusError

_ROOT = User("root", ("system:masters", "system:authenticated"))
_ALICE = User("alice", ("system:authenticated",))


def test_without_the_header_one_is_oneself() -> None:
    """Nothing is changed."""
    assert acting_user(_ALICE, {}, None) is _ALICE


def test_a_master_can_be_somebody() -> None:
    """User, groups and uid come from the headers."""
    headers = {"impersonate-user": "bob", "impersonate-group": "dev, ops", "impersonate-uid": "7"}
    assert acting_user(_ROOT, headers, None) == User("bob", ("dev", "ops", "system:authenticated"), "7")


def test_others_cannot() -> None:
    """The refusal names what was wanted with the verb of constrained impersonation."""
    with pytest.raises(StatusError, match='"alice" cannot impersonate-on:user-info:list resource "pods"'):
        acting_user(_ALICE, {"impersonate-user": "bob"}, Attributes("list", "", "pods", "n"))
    with pytest.raises(StatusError, match='"alice" cannot impersonate resource "users"'):
        acting_user(_ALICE, {"impersonate-user": "bob"}, None)
