from __future__ import annotations

import uuid

import pytest

from handloop.apis.core_v1 import ObjectReference
from handloop.client.decoding.pages import Undecodable
from handloop.controller.foo.types import Foo
from handloop.controller.runtime.events.recorder import (
    event_name,
    reference_to,
    reference_to_kind,
    reference_to_undecodable,
)
from support.foo_builders import new_foo

_FOO_REFERENCE = ObjectReference(
    api_version="samplecontroller.k8s.io/v1alpha1",
    kind="Foo",
    namespace="default",
    name="example-foo",
    uid="uid-of-default-example-foo",
    resource_version="1",
)


def test_a_reference_names_kind_place_and_uid() -> None:
    """Everything that `kubectl describe` selects events by is in the reference."""
    assert reference_to(new_foo()) == reference_to_kind(new_foo()) == _FOO_REFERENCE


def test_a_reference_is_its_own_reference() -> None:
    """An ObjectReference is used as it is, field path included."""
    reference = ObjectReference(kind="Pod", name="web", field_path="spec.containers{web}")
    assert reference_to(reference) is reference


@pytest.mark.parametrize("obj", [None, "default/example-foo", object(), {"kind": "Foo"}])
def test_other_things_have_no_reference(obj: object) -> None:
    """What is no object of ours cannot be referred to."""
    assert reference_to(obj) is None


def test_event_names_join_object_and_time() -> None:
    """EV-17. `<object>.<hex of nanoseconds>`."""
    assert event_name("example-foo", 1_700_000_000_000_000_000) == "example-foo.17979cfe362a0000"


@pytest.mark.parametrize("name", ["2001:db8::1", "Upper", "a" * 253, "-dash", "under_score"])
def test_names_that_are_no_dns_names_become_uuids(name: str) -> None:
    """EV-21. The event gets a UUID, the same for the same name and time."""
    assert str(uuid.UUID(event_name(name, 1))) == event_name(name, 1)
    assert event_name(name, 1) != event_name(name, 2)


def _undecodable(raw: bytes) -> Undecodable:
    return Undecodable("default", "example-foo", "1", raw, "Expected `int` <= 10 - at `$.spec.replicas`")


def test_an_undecodable_object_is_referred_to_by_key_and_uid() -> None:
    """The UID is read from the raw object: without it `kubectl describe` would not show the event."""
    raw = b'{"metadata":{"uid":"uid-of-default-example-foo","labels":{"a":1}},"spec":{"replicas":11}}'
    assert reference_to_undecodable(Foo.resource, _undecodable(raw)) == _FOO_REFERENCE


@pytest.mark.parametrize("raw", [b"", b'{"metadata":{"uid":"cut', b'{"metadata":[]}', b"\xff", b"{}"])
def test_an_undecodable_object_without_metadata_is_referred_to_by_key(raw: bytes) -> None:
    """Where not even the metadata can be read, the UID is left out."""
    reference = reference_to_undecodable(Foo.resource, _undecodable(raw))
    assert (reference.namespace, reference.name, reference.uid) == ("default", "example-foo", "")
