"""
CustomResourceDefinitions generated from the types: bounds, formats and texts are written once, at the field.

Follows: apiextensions.k8s.io/v1. A kind may add `printer_columns`, `scale` and `crd_annotations`; short names
come from its resource; a field `status` makes the status subresource. Any struct may add `crd_rules`,
`crd_required` (fields that our own code can do without, as the server spells them) and `crd_defaults = True`,
so that the server fills in the same defaults as Python.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from handloop.apis.meta import FrozenMap, Kind, ObjectMeta

INT32_MIN, INT32_MAX = -(2**31), 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PrinterColumn:
    """A column of `kubectl get`; priority above 0 shows with `-o wide` only."""

    name: str
    type: str
    json_path: str
    description: str = ""
    priority: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Where `kubectl scale` reads and writes."""

    spec_replicas_path: str
    status_replicas_path: str
    label_selector_path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A CEL expression that an object must make true; the message is for the object's author."""

    expression: str
    message: str


def list_map(*keys: str) -> msgspec.Meta:
    """The annotation of a list whose entries have these fields as their key, also in merges."""
    schema = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)}
    return msgspec.Meta(extra_json_schema=schema)


def custom_resource_definition(kind: type[Kind]) -> dict[str, Any]:
    """The CRD of one type, as apiextensions.k8s.io/v1 has it."""
    resource = kind.resource
    names: dict[str, Any] = {
        "kind": resource.kind,
        "listKind": f"{resource.kind}List",
        "plural": resource.plural,
        "singular": resource.singular,
    }
    if resource.short_names:
        names["shortNames"] = list(resource.short_names)
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": _metadata(kind),
        "spec": {
            "group": resource.group,
            "names": names,
            "scope": "Namespaced" if resource.namespaced else "Cluster",
            "versions": [_version(kind)],
        },
    }


def _metadata(kind: type[Kind]) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": kind.resource.group_resource}
    annotations = getattr(kind, "crd_annotations", {})
    if annotations:
        metadata["annotations"] = dict(annotations)
    return metadata


def _version(kind: type[Kind]) -> dict[str, Any]:
    version: dict[str, Any] = {
        "name": kind.resource.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": object_schema(kind)},
    }
    subresources = _subresources(kind)
    if subresources:
        version["subresources"] = subresources
    columns = [_column(column) for column in getattr(kind, "printer_columns", ())]
    if columns:
        version["additionalPrinterColumns"] = columns
    return version


def _subresources(kind: type[Kind]) -> dict[str, Any]:
    subresources: dict[str, Any] = {}
    if "status" in kind.__struct_fields__:
        subresources["status"] = {}
    scale: Scale | None = getattr(kind, "scale", None)
    if scale is not None:
        subresources["scale"] = {
            "specReplicasPath": scale.spec_replicas_path,
            "statusReplicasPath": scale.status_replicas_path,
        }
        if scale.label_selector_path:
            subresources["scale"]["labelSelectorPath"] = scale.label_selector_path
    return subresources


def _column(column: PrinterColumn) -> dict[str, Any]:
    out: dict[str, Any] = {"name": column.name, "type": column.type, "jsonPath": column.json_path}
    if column.description:
        out["description"] = column.description
    if column.priority:
        out["priority"] = column.priority
    return out


def object_schema(kind: type[Kind]) -> dict[str, Any]:
    """The structural schema of a top-level type, with the three fields that every kind has first."""
    schema = _struct_schema(kind)
    properties = {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object"},
    }
    properties |= {name: part for name, part in schema["properties"].items() if name not in properties}
    return schema | {"properties": properties}


def _struct_schema(kind: type[msgspec.Struct]) -> dict[str, Any]:
    info = msgspec.inspect.type_info(kind)
    if not isinstance(info, msgspec.inspect.StructType):
        raise TypeError(f"{kind} is not a struct")
    schema: dict[str, Any] = {"type": "object"}
    if kind.__doc__:
        schema["description"] = " ".join(kind.__doc__.strip().split("\n\n")[0].split())
    demanded: tuple[str, ...] = getattr(kind, "crd_required", ())
    required = [f.encode_name for f in info.fields if f.required or f.encode_name in demanded]
    fill_in = getattr(kind, "crd_defaults", False)
    schema["properties"] = {
        field.encode_name: _field(field, fill_in=fill_in and field.encode_name not in required)
        for field in info.fields
    }
    if required:
        schema["required"] = required
    rules: tuple[Rule, ...] = getattr(kind, "crd_rules", ())
    if rules:
        schema["x-kubernetes-validations"] = [
            {"rule": rule.expression, "message": rule.message} for rule in rules
        ]
    return schema


def _field(field: msgspec.inspect.Field, *, fill_in: bool) -> dict[str, Any]:
    """The server fills in a default only if it says something: no empty list, no None."""
    schema = _schema(field.type)
    default = _default(field)
    if fill_in and isinstance(default, (int, str)):
        schema["default"] = default
    return schema


def _default(field: msgspec.inspect.Field) -> Any:
    """A field's default; StructType makes those that say something by a factory."""
    made = field.default_factory is not msgspec.NODEFAULT
    return field.default_factory() if made else field.default


def _schema(info: msgspec.inspect.Type) -> dict[str, Any]:  # noqa: PLR0911 - one line per kind of type
    match info:
        case msgspec.inspect.Metadata():
            return _schema(info.type) | (info.extra_json_schema or {})
        case msgspec.inspect.UnionType():
            return _optional(info)
        case msgspec.inspect.StructType(cls=cls):
            return {"type": "object"} if cls is ObjectMeta else _struct_schema(cls)
        case msgspec.inspect.IntType():
            return _integer(info)
        case msgspec.inspect.StrType():
            return _string(info)
        case msgspec.inspect.BoolType():
            return {"type": "boolean"}
        case msgspec.inspect.LiteralType(values=values):
            return {"type": "string", "enum": list(values)}
        case msgspec.inspect.VarTupleType(item_type=item):
            return {"type": "array", "items": _schema(item)}
        case msgspec.inspect.CustomType(cls=cls) if cls is FrozenMap:
            return {"type": "object", "additionalProperties": {"type": "string"}}
        case _:
            raise TypeError(f"no schema for {info}")


def _optional(info: msgspec.inspect.UnionType) -> dict[str, Any]:
    """`T | None` is a field that may be left out; other unions have no structural schema."""
    some = [part for part in info.types if not isinstance(part, msgspec.inspect.NoneType)]
    if len(some) != 1:
        raise TypeError(f"no schema for a union of {len(some)} types")
    return _schema(some[0])


def _integer(info: msgspec.inspect.IntType) -> dict[str, Any]:
    """An upper bound within int32 makes the format int32, which replaces bounds equal to int32's own."""
    small = info.le is not None and info.le <= INT32_MAX
    schema: dict[str, Any] = {"type": "integer", "format": "int32" if small else "int64"}
    if info.ge is not None and info.ge != INT32_MIN:
        schema["minimum"] = info.ge
    if info.le is not None and info.le != INT32_MAX:
        schema["maximum"] = info.le
    return schema


def _string(info: msgspec.inspect.StrType) -> dict[str, Any]:
    limits = {"minLength": info.min_length, "maxLength": info.max_length, "pattern": info.pattern}
    return {"type": "string"} | {name: value for name, value in limits.items() if value is not None}
