"""Replicas in a test: who holds what, and which writes were strays."""

from __future__ import annotations

from typing import Literal

import pytest

from handloop.apis.meta import Kind, ObjectMeta
from handloop.client.resource_client import Client
from handloop.controller.runtime.builder import controller_for
from handloop.controller.runtime.manager import Manager
from handloop.controller.runtime.reconciling.context import Context
from handloop.kinds.core_v1 import ConfigMap
from handloop.testing import sharing as module
from handloop.testing.eventually import eventually
from handloop.testing.managed_sandbox import ManagedSandbox
from handloop.testing.sharing import sharing
from support.checks.captured_logs import captured_logs

TEAMS = [f"team-{number}" for number in range(6)]


class Parcel(Kind, group="example.org", version="v1"):
    """A kind without fields."""


def set_up(manager: Manager) -> None:
    def wrap(parcel: Parcel, context: Context) -> None:
        context.apply(ConfigMap.named(parcel, data={}), owner=parcel)

    builder = controller_for(manager, "parcels").for_(Parcel).owns(ConfigMap)
    builder.writes(ConfigMap, "create", "patch").complete(wrap)


@pytest.fixture
def sandbox() -> ManagedSandbox:
    """With a Parcel in each team's namespace."""
    made = ManagedSandbox(Parcel)
    for team in TEAMS:
        made.namespace(team)
        made.client.resource(Parcel).create(Parcel.named("a", namespace=team))
    return made


def wrapped(sandbox: ManagedSandbox) -> bool:
    """Whether each Parcel has its ConfigMap."""
    return (
        len([one for one in sandbox.client.resource(ConfigMap).list().items if one.metadata.name == "a"]) == 6
    )


@pytest.mark.parametrize("by", ["namespace", "uid"])
def test_replicas_that_come_and_go_are_seen_at_every_write(
    sandbox: ManagedSandbox, by: Literal["namespace", "uid"]
) -> None:
    """All slots are held, by the replicas' account as by their Leases; nothing is made twice."""
    with captured_logs(), sharing(sandbox, set_up, slots=4, by=by) as replicas:
        replicas.start("a", "b")
        replicas.wait_for(2, 2)
        eventually(lambda: wrapped(sandbox), "wrapped")
        held = replicas.held()
        assert {slot: one for one, slots in held.items() for slot in slots} == dict(replicas.holders)
        replicas.stop("a")
        assert replicas.managers.keys() == {"b"}
        replicas.wait_for(4)
    assert set(replicas.holders.values()) == {""}
    assert replicas.strays == []
    children = [one for one in replicas.writes if one.path.endswith("/configmaps/a")]
    assert len(children) == len(TEAMS)
    assert all(one.slot is not None and one.holder == one.replica for one in children)


@pytest.mark.parametrize("by", ["namespace", "uid"])
def test_a_write_of_who_does_not_hold_the_slot_is_a_stray(
    sandbox: ManagedSandbox, by: Literal["namespace", "uid"]
) -> None:
    """Its manager would have refused it; what is in no slot, such as a namespace, is none."""
    with captured_logs(), sharing(sandbox, set_up, slots=4, by=by) as replicas:
        replicas.start("a")
        replicas.wait_for(4)
        beside = Client(replicas.transport("b"))
        metadata = ObjectMeta(name="stray", namespace=TEAMS[0])
        beside.resource(ConfigMap).create(ConfigMap(metadata=metadata))
        replicas.sandbox.namespace("more")
        (stray,) = replicas.strays
        assert (stray.replica, stray.holder, stray.method) == ("b", "a", "POST")
        assert replicas.made("configmaps") == [f"{TEAMS[0]}/stray"]


def test_a_count_that_does_not_come_is_told_with_what_is(
    sandbox: ManagedSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error of wait_for says who holds which slots."""

    def at_once(condition: object, what: str) -> None:
        raise AssertionError(what)

    with captured_logs(), sharing(sandbox, set_up, slots=2) as replicas:
        replicas.start("a")
        replicas.wait_for(2)
        monkeypatch.setattr(module, "eventually", at_once)
        with pytest.raises(AssertionError, match=r"\(1,\) slots") as raised:
            replicas.wait_for(1)
        assert raised.value.__notes__ == ["current state: {'a': frozenset({0, 1})}"]
        with pytest.raises(ValueError, match="replica a runs already"):
            replicas.start("a")
