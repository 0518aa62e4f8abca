"""Texts that the contract tests do not send: what the client's own formatter makes."""

from __future__ import annotations

import random
import uuid

import pytest

from handloop_sandbox.grammar.shard_selector import ShardField, format_shard_selector, slot_of, slot_range
from handloop_sandbox.kinds.kinds import builtin_resources
from handloop_sandbox.requests.call import Call
from handloop_sandbox.requests.request import Context, Request, User
from handloop_sandbox.requests.routes import ResourcePath
from handloop_sandbox.requests.shard_selector import ShardSelector, shard_selector
from handloop_sandbox.storage.catalog import Catalog
from handloop_sandbox.storage.store import Store
from handloop_sandbox.wire.negotiate import PLAIN
from handloop_sandbox.wire.query import Query


def _selector(text: str, *, gate: bool = True) -> ShardSelector | None:
    context = Context(0.0, User("me"), random.Random(1), lambda: "u", sharded_list_and_watch=gate)
    resource = next(r for r in builtin_resources() if r.plural == "configmaps")
    request = Request("GET", "/x", Query({"shardSelector": [text]}))
    path = ResourcePath("", "v1", "configmaps")
    return shard_selector(Call(request, context, Store(), Catalog(()), resource, path, "list", PLAIN))


@pytest.mark.parametrize(("field", "member"), [(ShardField.UID, "uid"), (ShardField.NAMESPACE, "namespace")])
def test_it_selects_the_slots_that_were_formatted(field: ShardField, member: str) -> None:
    """Random sets of slots select their objects, and a formatted text comes back as it was."""
    choose = random.Random(1)
    for count in (1, 2, 5, 16, 100):
        slots = choose.sample(range(count), choose.randint(1, count))
        text = format_shard_selector(field, [slot_range(slot, count) for slot in slots])
        selector = _selector(text)
        assert selector is not None
        assert str(selector) == text
        for value in (str(uuid.UUID(int=choose.getrandbits(128))) for _ in range(100)):
            assert selector.matches({"metadata": {member: value}}) is (slot_of(value, count) in slots)


def test_without_the_gate_there_is_none() -> None:
    """Nothing is even read."""
    assert _selector("nonsense", gate=False) is None
