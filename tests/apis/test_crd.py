"""CustomResourceDefinitions generated from types."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from handloop.apis.crd import PrinterColumn, Scale, custom_resource_definition
from handloop.apis.crd_schema import object_schema
from handloop.apis.meta import APIStruct, FrozenMap, Kind
from handloop.apis.schema_annotations import Rule, list_map
from handloop.controller.foo.types import Foo


class Part(APIStruct):
    """
    A part of
    several lines.
    """

    name: str
    count: int = 0
    on: bool = False
    mode: Literal["a", "b"] = "a"
    size: Annotated[str, Meta(min_length=1, max_length=9, pattern="^x")] | None = None
    small: Annotated[int, Meta(ge=0)] = 0
    described: Annotated[int, Meta(le=5, extra_json_schema={"description": "up to 5"})] = 0
    words: tuple[str, ...] = ()
    labels: FrozenMap = FrozenMap()


class Thing(Kind, group="example.com", version="v1", scope="Cluster", short_names=("th",)):
    """A thing."""

    printer_columns: ClassVar[tuple[PrinterColumn, ...]] = (
        PrinterColumn(
            name="N", type="string", json_path=".part.name", description="the name", priority=1, format="byte"
        ),
    )
    scale: ClassVar[Scale] = Scale(
        spec_replicas_path=".part.count", status_replicas_path=".part.count", label_selector_path=".part.size"
    )
    categories: ClassVar[tuple[str, ...]] = ("all", "examples")
    selectable_fields: ClassVar[tuple[str, ...]] = ("part.name",)
    deprecation_warning: ClassVar[str] = "use v2"
    part: Part


class Ruled(APIStruct):
    """
    Has rules.

    And more for readers of its source.
    """

    crd_required: ClassVar[tuple[str, ...]] = ("isOn",)
    crd_rules: ClassVar[tuple[Rule, ...]] = (Rule(expression="self.low <= self.high", message="low first"),)

    is_on: bool = False
    low: int = 1
    high: int
    mode: Literal["a", "b"] = "b"
    name: str | None = None
    parts: Annotated[tuple[Part, ...], list_map("name")] = ()
    part: Part | None = None


class RuledKind(Kind, group="example.com", version="v1", kind="Ruled"):
    """A kind with rules."""

    crd_rules: ClassVar[tuple[Rule, ...]] = (Rule(expression="true", message="never"),)
    spec: Ruled


def test_types_become_schemas() -> None:
    """Strings, bounded integers, booleans, enums, lists, maps, optional and required fields."""
    part: dict[str, Any] = object_schema(Thing)["properties"]["part"]
    assert part["description"] == "A part of several lines."
    assert part["required"] == ["name"]
    assert part["properties"] == {
        "name": {"type": "string"},
        "count": {"type": "integer", "format": "int64", "default": 0},
        "on": {"type": "boolean"},
        "mode": {"type": "string", "enum": ["a", "b"], "default": "a"},
        "size": {"type": "string", "minLength": 1, "maxLength": 9, "pattern": "^x"},
        "small": {"type": "integer", "format": "int64", "minimum": 0, "default": 0},
        "described": {
            "type": "integer",
            "format": "int64",
            "maximum": 5,
            "description": "up to 5",
            "default": 0,
        },
        "words": {"type": "array", "items": {"type": "string"}},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
    }


def test_a_crd_without_status_has_no_status_subresource() -> None:
    """Subresources, columns and short names appear where the type has them."""
    crd = custom_resource_definition(Thing)
    version = crd["spec"]["versions"][0]
    assert crd["spec"]["scope"] == "Cluster"
    assert crd["spec"]["names"]["shortNames"] == ["th"]
    assert crd["spec"]["names"]["categories"] == ["all", "examples"]
    assert "annotations" not in crd["metadata"]
    assert version["subresources"] == {
        "scale": {
            "specReplicasPath": ".part.count",
            "statusReplicasPath": ".part.count",
            "labelSelectorPath": ".part.size",
        }
    }
    assert version["additionalPrinterColumns"] == [
        {
            "name": "N",
            "type": "string",
            "jsonPath": ".part.name",
            "format": "byte",
            "description": "the name",
            "priority": 1,
        }
    ]
    assert version["selectableFields"] == [{"jsonPath": ".part.name"}]
    assert (version["deprecated"], version["deprecationWarning"]) == (True, "use v2")


def test_foos_crd_keeps_sample_controllers_bounds() -> None:
    """Replicas is 1 to 10, status is a subresource, the group's approval annotation is there."""
    crd = custom_resource_definition(Foo)
    version = crd["spec"]["versions"][0]
    replicas = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["replicas"]
    assert replicas == {"type": "integer", "format": "int32", "minimum": 1, "maximum": 10}
    assert version["subresources"]["status"] == {}
    assert "api-approved.kubernetes.io" in crd["metadata"]["annotations"]


def test_rules_defaults_and_keys_are_in_the_schema() -> None:
    """Rules of a struct and of a kind, defaults with content, fields demanded of users, keyed lists."""
    schema = object_schema(RuledKind)
    assert schema["x-kubernetes-validations"] == [{"rule": "true", "message": "never"}]
    spec = schema["properties"]["spec"]
    assert spec["description"] == "Has rules."
    assert spec["required"] == ["isOn", "high"]
    assert spec["x-kubernetes-validations"] == [{"rule": "self.low <= self.high", "message": "low first"}]
    defaults = {name: part["default"] for name, part in spec["properties"].items() if "default" in part}
    assert defaults == {"low": 1, "mode": "b"}
    parts = spec["properties"]["parts"]
    assert (parts["x-kubernetes-list-type"], parts["x-kubernetes-list-map-keys"]) == ("map", ["name"])
    assert parts["items"]["properties"]["count"]["default"] == 0
