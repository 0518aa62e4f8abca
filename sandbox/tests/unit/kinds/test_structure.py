from __future__ import annotations

from typing import Any

import pytest

from handloop_sandbox.kinds import structure
from handloop_sandbox.kinds.structure import Omission, Shape
from support.builders.builtin import builtin


def _at(*path: str) -> Any:
    """A node of the schema of Pods; "*" is the entry of a list."""
    node: Any = builtin("", "pods").schema
    for name in path:
        node = structure.items_of(node) if name == "*" else structure.property_of(node, name)
        assert node is not None, path
    return node


def test_references_are_followed() -> None:
    """Navigation goes through `$ref` unseen."""
    container = _at("spec", "containers", "*")
    assert structure.type_of(container) == "object"
    assert "image" in structure.properties(container)
    assert structure.required(container) == ("name",)
    assert structure.reference_of(container) == "api.core.v1.Container"
    assert structure.named("api.core.v1.Container") == structure.resolve(container)
    assert structure.property_of(container, "nosuch") is None


def test_lists_and_their_keys() -> None:
    """The identity of entries, for applying and for strategic merges."""
    containers, ports = _at("spec", "containers"), _at("spec", "containers", "*", "ports")
    assert (structure.list_type(containers), structure.map_keys(containers)) == ("map", ("name",))
    assert structure.map_keys(ports) == ("containerPort", "protocol")
    assert (structure.merge_key(containers), structure.merge_key(ports)) == ("name", "containerPort")
    assert structure.patch_strategy(_at("spec", "volumes")) == ("merge", "retainKeys")
    assert structure.list_type(_at("spec", "containers", "*", "args")) == "atomic"


def test_maps() -> None:
    """Values of one type, or a struct; some are one value."""
    labels = _at("metadata", "labels")
    value = structure.value_of(labels)
    assert value is not None
    assert structure.type_of(value) == "string"
    assert structure.value_of(_at("spec")) is None
    assert structure.is_struct(_at("spec"))
    assert not structure.is_struct(labels)
    assert structure.map_type(_at("spec", "nodeSelector")) == "atomic"


@pytest.mark.parametrize(
    ("path", "omission", "zero"),
    [
        (("spec", "containers"), Omission.NEVER, None),
        (("spec", "hostNetwork"), Omission.OMITEMPTY, False),
        (("spec", "nodeName"), Omission.OMITEMPTY, ""),
    ],
)
def test_zero_values(path: tuple[str, ...], omission: Omission, zero: Any) -> None:
    """Whether Go writes a member that is zero, and what zero is."""
    assert structure.omission(_at(*path)) is omission
    assert structure.zero_of(_at(*path)) == zero


def test_a_pointer_can_be_absent() -> None:
    """Zero is a value there."""
    assert structure.omission(_at("spec", "terminationGracePeriodSeconds")) is Omission.POINTER


@pytest.mark.parametrize(
    ("path", "shape"),
    [
        (("metadata", "creationTimestamp"), Shape.TIME),
        (("spec", "containers", "*", "livenessProbe", "httpGet", "port"), Shape.INT_OR_STRING),
        (("spec", "overhead", "cpu"), Shape.QUANTITY),
        (("metadata", "managedFields", "*", "fieldsV1"), Shape.RAW),
        (("spec", "nodeName"), Shape.PLAIN),
    ],
)
def test_shapes(path: tuple[str, ...], shape: Shape) -> None:
    """Types that are not written as in their schema: times, quantities, numbers or texts."""
    *above, last = path
    node = structure.value_of(_at(*above)) if last == "cpu" else _at(*path)
    assert node is not None
    assert structure.shape_of(node) is shape


def test_metadata_has_a_schema_of_its_own() -> None:
    """For custom resources, whose schema leaves it out."""
    metadata = structure.metadata_schema()
    assert {"name", "ownerReferences", "finalizers"} <= set(structure.properties(metadata))


def test_what_preserves_everything() -> None:
    """Only where a custom resource's schema allows it."""
    assert structure.is_preserving({"x-kubernetes-preserve-unknown-fields": True})
    assert not structure.is_preserving({"type": "object"})
