from __future__ import annotations

import pytest

from handloop.apis.meta import Kind
from handloop.client.resource_client import Client
from handloop.controller.runtime.builder import controller_for
from handloop.controller.runtime.reconciling.context import Context
from handloop.kinds.core_v1 import ConfigMap, Namespace
from handloop.testing.eventually import eventually
from handloop.testing.managed_sandbox import ManagedSandbox
from handloop.testing.running_sandbox import RefusedError


class Parcel(Kind, group="example.org", version="v1"):
    """A kind without fields."""


def test_a_manager_works_on_installed_kinds_for_as_long_as_the_block_lasts() -> None:
    """And counts in the registry of the cluster."""
    sandbox = ManagedSandbox(Parcel)
    manager = sandbox.manager()

    def wrap(parcel: Parcel, context: Context) -> None:
        context.apply(ConfigMap.named(parcel, data={}), owner=parcel)

    builder = controller_for(manager, "parcels").for_(Parcel).owns(ConfigMap)
    builder.writes(ConfigMap, "create", "patch").complete(wrap)
    with sandbox.running(manager) as running:
        sandbox.client.resource(Parcel).create(Parcel.named("a", namespace="default"))
        made = sandbox.client.resource(ConfigMap)
        eventually(lambda: made.list("default").items, "wrapped")
        assert not running.has_ended()
    assert running.has_ended()
    assert sandbox.metric("controller_runtime_reconcile_total", controller="parcels", result="success") >= 1
    assert sandbox.metric("controller_runtime_reconcile_total", controller="others", result="success") == 0


def test_what_the_server_refuses_is_raised_in_its_words() -> None:
    """A namespace that is there already; another transport is another client's, and sees the same."""
    sandbox = ManagedSandbox()
    sandbox.namespace("team")
    with pytest.raises(RefusedError, match=r"team.* already exists"):
        sandbox.namespace("team")
    other = Client(sandbox.transport()).resource(Namespace)
    assert other.get("team").metadata.name == "team"
