"""Server-side apply of what a controller owns."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from apis.core_v1 import Service, ServicePort, ServiceSpec
from apis.meta import FrozenMap, ObjectMeta
from client.errors import Conflict
from controller.runtime.apply import apply, is_applied, owned_fields
from support.managed_sandbox import ManagedSandbox


def wanted(port: int = 80, **labels: str) -> Service:
    """A Service as a controller wants it."""
    return Service(
        metadata=ObjectMeta(name="s", namespace="default", labels=FrozenMap(labels)),
        spec=ServiceSpec(ports=(ServicePort(name="http", port=port),), selector=FrozenMap({"app": "a"})),
    )


@pytest.fixture
def cluster() -> ManagedSandbox:
    """A sandbox."""
    return ManagedSandbox()


def test_what_the_server_writes_is_not_applied() -> None:
    """Status, version and UID are not ours; kind and version of the API are there."""
    read = replace(
        wanted(), metadata=ObjectMeta(name="s", namespace="default", uid="u", resource_version="7")
    )
    fields = owned_fields(read)
    assert fields["metadata"] == {"name": "s", "namespace": "default"}
    assert (fields["kind"], fields["apiVersion"]) == ("Service", "v1")
    assert "status" not in fields


def test_apply_creates_changes_and_leaves_the_rest_alone(cluster: ManagedSandbox) -> None:
    """The first makes the object, the next changes what it says; another manager's label stays."""
    services = cluster.client.resource(Service)
    made = apply(services, wanted(a="1"), field_manager="us")
    services.patch("s", {"metadata": {"labels": {"theirs": "x"}}}, namespace="default", field_manager="they")
    after = apply(services, wanted(8080, a="2"), field_manager="us")
    assert after.metadata.uid == made.metadata.uid
    assert dict(after.metadata.labels) == {"a": "2", "theirs": "x"}
    assert [port.port for port in after.spec.ports] == [8080]


def test_what_is_no_longer_said_is_removed(cluster: ManagedSandbox) -> None:
    """The server knows what was ours."""
    services = cluster.client.resource(Service)
    apply(services, wanted(a="1"), field_manager="us")
    assert dict(apply(services, wanted(), field_manager="us").metadata.labels) == {}


def test_an_apply_without_a_change_is_no_write(cluster: ManagedSandbox) -> None:
    """The version stays; and is_applied can tell before."""
    services = cluster.client.resource(Service)
    made = apply(services, wanted(a="1"), field_manager="us")
    assert is_applied(wanted(a="1"), made)
    assert apply(services, wanted(a="1"), field_manager="us").metadata.resource_version == (
        made.metadata.resource_version
    )


def test_anothers_field_is_taken_over_only_by_force(cluster: ManagedSandbox) -> None:
    """Without force the server names the manager that set it."""
    services = cluster.client.resource(Service)
    apply(services, wanted(a="1"), field_manager="they")
    with pytest.raises(Conflict, match="they"):
        apply(services, wanted(a="2"), field_manager="us", force=False)
    assert apply(services, wanted(a="2"), field_manager="us").metadata.labels["a"] == "2"


@pytest.mark.parametrize(
    ("desired", "present", "applied"),
    [
        (wanted(a="1"), wanted(a="1", more="x"), True),
        (wanted(a="1"), wanted(a="2"), False),
        (wanted(a="1"), wanted(), False),
        (wanted(80), wanted(81), False),
    ],
)
def test_only_what_is_said_is_compared(desired: Service, present: Service, applied: bool) -> None:
    """More is no difference; less and other is."""
    assert is_applied(desired, present) is applied


def test_lists_are_compared_by_key_where_elements_have_one() -> None:
    """An element that somebody added does not count; in lists of plain values every place does."""
    ports = (ServicePort(name="http", port=80), ServicePort(name="more", port=81))
    present = replace(wanted(), spec=replace(wanted().spec, ports=ports))
    assert is_applied(wanted(), present)
    finalizers = replace(wanted(), metadata=replace(wanted().metadata, finalizers=("a", "b")))
    fewer = replace(wanted(), metadata=replace(wanted().metadata, finalizers=("a",)))
    assert not is_applied(fewer, finalizers)
    assert not is_applied(finalizers, fewer)
