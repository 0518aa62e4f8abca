"""Finalizers on a real API, in the sandbox."""

from __future__ import annotations

import pytest

from handloop.apis.core_v1 import Service, ServicePort, ServiceSpec
from handloop.apis.meta import ObjectMeta
from handloop.client.errors import Conflict, NotFound
from handloop.controller.runtime.children.finalizers import (
    add_finalizer,
    has_finalizer,
    is_being_deleted,
    remove_finalizer,
)
from support.rigs.managed_sandbox import ManagedSandbox

OURS = "example.com/cleanup"


def new_service(cluster: ManagedSandbox) -> Service:
    """A Service in the cluster, with a foreign finalizer."""
    metadata = ObjectMeta(name="s", namespace="default", finalizers=("example.com/other",))
    spec = ServiceSpec(ports=(ServicePort(port=80),))
    return cluster.client.resource(Service).create(Service(metadata=metadata, spec=spec))


def test_a_finalizer_holds_an_object_until_it_is_taken_off(cluster: ManagedSandbox) -> None:
    """Set, seen in the deletion, taken off; a foreign one stays all along."""
    services = cluster.client.resource(Service)
    held = add_finalizer(services, new_service(cluster), OURS)
    assert held.metadata.finalizers == ("example.com/other", OURS)
    assert not is_being_deleted(held)
    services.delete("s", namespace="default")
    ending = services.get("s", namespace="default")
    assert is_being_deleted(ending)
    rest = remove_finalizer(services, ending, OURS)
    assert rest.metadata.finalizers == ("example.com/other",)
    remove_finalizer(services, rest, "example.com/other")
    with pytest.raises(NotFound):
        services.get("s", namespace="default")


def test_what_is_so_already_is_no_request(cluster: ManagedSandbox) -> None:
    """Adding twice, or taking off a missing one, returns the same object."""
    services = cluster.client.resource(Service)
    held = add_finalizer(services, new_service(cluster), OURS)
    assert has_finalizer(held, OURS)
    assert add_finalizer(services, held, OURS) is held
    assert remove_finalizer(services, held, "example.com/none") is held


def test_a_stale_object_is_a_conflict(cluster: ManagedSandbox) -> None:
    """The list is written as a whole: on an old version it would drop another client's finalizer."""
    services = cluster.client.resource(Service)
    old = new_service(cluster)
    add_finalizer(services, old, "example.com/third")
    with pytest.raises(Conflict):
        add_finalizer(services, old, OURS)
