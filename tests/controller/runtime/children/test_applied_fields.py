"""Fields that were applied earlier and are wanted no longer."""

from __future__ import annotations

from functools import partial
from operator import eq
from typing import Any
from unittest.mock import Mock

import pytest

from handloop.apis.evolve import evolve
from handloop.apis.meta import EMPTY_MAP, FrozenMap, Kind
from handloop.client.resource_client import Client
from handloop.controller.runtime.children.applied_fields import AppliedFields, leaves_out
from handloop.controller.runtime.children.apply import apply
from handloop.informers.keys import ObjectName
from handloop_sandbox.server import Sandbox

NAME = ObjectName("default", "a")
OTHER = ObjectName("default", "other")
SAID = {
    "data": {"a": "1"},
    "metadata": {"finalizers": ["x/y"]},
    "spec": {"ports": [{"port": 80, "name": "http"}]},
}


class ConfigMap(Kind, group="", version="v1"):
    """A view without managedFields."""

    data: FrozenMap = EMPTY_MAP


@pytest.mark.parametrize(
    ("owned", "expected"),
    [
        ({"f:data": {"f:a": {}}}, False),
        ({"f:data": {"f:a": {}, "f:b": {}}}, True),
        ({"f:data": {".": {}, "f:a": {}}}, False),
        ({"f:immutable": {}}, True),
        ({"f:metadata": {"f:finalizers": {'v:"x/y"': {}}}}, False),
        ({"f:metadata": {"f:finalizers": {'v:"z"': {}}}}, True),
        ({"f:spec": {"f:ports": {'k:{"port":80,"protocol":"TCP"}': {"f:name": {}}}}}, False),
        ({"f:spec": {"f:ports": {'k:{"port":80,"protocol":"TCP"}': {"f:nodePort": {}}}}}, True),
        ({"f:spec": {"f:ports": {'k:{"port":81,"protocol":"TCP"}': {}}}}, True),
        ({"f:metadata": {"f:finalizers": {'k:{"name":"x/y"}': {".": {}}}}}, True),
        ({}, False),
    ],
)
def test_owned_fields_are_looked_for(owned: dict[str, Any], expected: bool) -> None:
    """Fields, entries of lists by their keys, and entries of sets."""
    assert leaves_out(SAID, owned) is expected


class Cluster:
    """A server, and the requests that a controller makes of it."""

    def __init__(self) -> None:
        server = Sandbox(token="", controllers=(), seed=1)
        self.server = server
        self.client = Client(server.transport())  # type: ignore[arg-type] # the same shapes
        self.maps = self.client.resource(ConfigMap)

    def put(self, **data: str) -> ConfigMap:
        """Apply as the controller."""
        return apply(self.maps, config_map(**data), field_manager="greeter")


def config_map(**data: str) -> ConfigMap:
    return ConfigMap.named("a", namespace="default", data=data)


def test_a_key_of_an_earlier_process_is_found() -> None:
    """By one read of the object; a key of another manager is left alone."""
    cluster = Cluster()
    present = cluster.put(old="1", kept="1")
    cluster.maps.patch("a", {"data": {"foreign": "1"}}, namespace="default", field_manager="kubectl")
    fields = AppliedFields()
    ask: Any = {"client": cluster.client, "manager": "greeter", "reconciled": NAME}
    assert not fields.is_as_wanted(config_map(kept="1"), present, **ask)
    assert fields.is_as_wanted(config_map(old="1", kept="1"), present, **ask)


def test_what_this_process_applied_is_remembered() -> None:
    """Then nothing is asked; an object that was made anew under the name is another one."""
    cluster = Cluster()
    present = cluster.put(a="1")
    fields = AppliedFields()
    fields.remember(config_map(a="1"), present, reconciled=NAME)
    ask: Any = {"client": None, "manager": "greeter", "reconciled": NAME}
    assert fields.is_as_wanted(config_map(a="1"), present, **ask)
    assert not fields.is_as_wanted(config_map(b="1"), present, **ask)
    cluster.maps.delete("a", namespace="default")
    again = cluster.put(a="1", b="1")
    ask["client"] = cluster.client
    assert not fields.is_as_wanted(config_map(a="1"), again, **ask)


def test_what_comes_back_later_is_found() -> None:
    """
    A write that was under way for long brings a revoked key back, under our name.

    Each change by another client costs one read, a new version alone none.
    """
    cluster = Cluster()
    wanted = config_map(a="1")
    fields = AppliedFields()
    fields.remember(wanted, cluster.put(a="1"), reconciled=NAME)
    asked = Mock(wraps=cluster.client)
    reads = asked.for_resource.mock_calls
    ask: Any = {"client": asked, "manager": "greeter", "reconciled": NAME}
    foreign = cluster.maps.patch("a", {"data": {"b": "1"}}, namespace="default", field_manager="kubectl")
    for version in ("77", "78"):
        assert fields.is_as_wanted(wanted, evolve(foreign, "metadata.resource_version", version), **ask)
    assert len(reads) == 1
    assert not fields.is_as_wanted(wanted, cluster.put(a="1", revoked="1"), **ask)
    fields.remember(wanted, cluster.put(a="1"), reconciled=NAME)
    present = cluster.maps.get("a", namespace="default")
    assert fields.is_as_wanted(wanted, present, **ask)
    # of a field that the type lacks
    newer = evolve(evolve(present, "metadata.generation", 2), "metadata.resource_version", "99")
    assert fields.is_as_wanted(wanted, newer, **ask)
    assert len(reads) == 3


def test_without_the_permission_to_read_it_is_applied_once() -> None:
    """An apply that changes nothing is the other way to be sure."""
    cluster = Cluster()
    present = cluster.put(a="1")
    fields = AppliedFields()
    cluster.server.faults.deny(verbs=["get"])
    ask: Any = {"client": cluster.client, "manager": "greeter", "reconciled": NAME}
    wanted = config_map(a="1")
    assert not fields.is_as_wanted(wanted, present, **ask)
    fields.remember(wanted, present, reconciled=NAME)
    assert fields.is_as_wanted(wanted, present, **ask)


def test_what_an_apply_made_of_it_is_as_wanted() -> None:
    """Until the fields, the object, or what is wanted are others; a new version alone is no other object."""
    cluster = Cluster()
    present = cluster.put(a="1")
    fields = AppliedFields()
    wanted = config_map(a="2")
    ask: Any = {"client": None, "manager": "greeter", "reconciled": NAME}
    assert not fields.is_as_wanted(wanted, present, **ask)
    fields.remember(wanted, present, reconciled=NAME)
    touched = evolve(present, "metadata.resource_version", "77")
    assert fields.is_as_wanted(wanted, present, **ask)
    assert fields.is_as_wanted(wanted, touched, **ask)
    assert not fields.is_as_wanted(config_map(a="3"), present, **ask)
    assert not fields.is_as_wanted(wanted, evolve(touched, 'data["a"]', "3"), **ask)
    assert not fields.is_as_wanted(wanted, evolve(present, "metadata.uid", "another"), **ask)


def test_children_of_names_that_another_replica_has_are_forgotten() -> None:
    """It applies other fields meanwhile; those of names that stay are kept."""
    cluster = Cluster()
    present = cluster.put(a="2")
    ask: Any = {"client": None, "manager": "greeter", "reconciled": NAME}
    for gone in (OTHER, NAME):
        fields = AppliedFields()
        fields.remember(config_map(a="1"), present, reconciled=NAME)
        fields.forget_names(partial(eq, gone))
        assert fields.is_as_wanted(config_map(a="1"), present, **ask) is (gone == OTHER)
