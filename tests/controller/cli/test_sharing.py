"""What a server does with shardSelector, asked of the sandbox with the gate and without."""

from __future__ import annotations

import pytest

from handloop.apis.core_v1 import Event
from handloop.client.access_review import Permission
from handloop.client.resource_client import Client
from handloop.controller.cli.sharing import IGNORES, OBEYS, UNKNOWN, told_by_server
from handloop.controller.foo.types import Foo
from handloop.kinds.core_v1 import ConfigMap
from handloop_sandbox.requests.request import User
from handloop_sandbox.server import Sandbox

LISTED = Permission("list", ConfigMap.resource)


def client(*, gate: bool = False, user: str = "admin") -> Client:
    """A client without sockets of a cluster with a ConfigMap or two."""
    users = {"alice": User("alice", ("system:authenticated",))}
    sandbox = Sandbox(token="admin", users=users, seed=1, sharded_list_and_watch=gate)
    return Client(sandbox.transport(token=user))  # type: ignore[arg-type] # same shapes, other classes


@pytest.mark.parametrize(("gate", "told"), [(True, OBEYS), (False, IGNORES)])
def test_the_answer_to_nonsense_tells(*, gate: bool, told: str) -> None:
    """Refused in words that name it, or answered. Kinds that are not served or not listed are passed over."""
    permissions = [Permission("create", Event.resource), Permission("list", Foo.resource), LISTED]
    assert told_by_server(client(gate=gate), permissions) == told


def test_without_a_kind_to_list_nothing_is_known() -> None:
    """Other refusals are no answer: a 403 says nothing about the gate."""
    assert told_by_server(client(gate=True), [Permission("create", Event.resource)]) == UNKNOWN
    assert told_by_server(client(user="alice"), [LISTED]) == UNKNOWN
