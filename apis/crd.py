"""
CustomResourceDefinitions generated from the types: bounds, formats, defaults and texts are written once, at
the field.

Follows: apiextensions.k8s.io/v1. A kind may add `printer_columns`, `scale`, `categories`, `crd_annotations`,
`selectable_fields` (names for field selectors, such as `spec.color`) and `deprecation_warning` (the server
sends the text with each answer); short names come from its resource; a field `status` makes the status
subresource. Any struct may add `crd_rules` and `crd_required` (fields that our own code can do without, as
the server spells them). crd_schema.py makes the schema.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final

import msgspec

from handloop.apis.crd_schema import MARK_OF_ANY_FIELDS, object_schema
from handloop.apis.meta import Kind

INT32_MIN, INT32_MAX = -(2**31), 2**31 - 1
_ADDITIONS: Final = (
    "printer_columns",
    "scale",
    "categories",
    "crd_annotations",
    "selectable_fields",
    "deprecation_warning",
)
_NEAR: Final = 0.8


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


LIST_SET: Final = msgspec.Meta(extra_json_schema={"x-kubernetes-list-type": "set"})
"""The annotation of a list of numbers or texts without duplicates, merged item by item."""

LIST_ATOMIC: Final = msgspec.Meta(extra_json_schema={"x-kubernetes-list-type": "atomic"})
"""The annotation of a list that an apply replaces as a whole, as it does without any annotation."""

ANY_FIELDS: Final = msgspec.Meta(extra_json_schema={MARK_OF_ANY_FIELDS: True})
"""
The annotation of a struct whose fields are not in the CRD, such as a PodTemplateSpec, which is long there.

The server keeps all fields in it; the controller finds an object that does not fit the struct.
"""


def list_map(*keys: str) -> msgspec.Meta:
    """The annotation of a list whose entries have these fields as their key, also in merges."""
    schema = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)}
    return msgspec.Meta(extra_json_schema=schema)


def custom_resource_definition(kind: type[Kind]) -> dict[str, Any]:
    """
    The CRD of one type, as apiextensions.k8s.io/v1 has it.

    Raises: TypeError with the path of the part that no schema can express, and the fix; TypeError for a
    class attribute whose name is nearly that of an addition.
    """
    _check_spelling(kind)
    resource = kind.resource
    names: dict[str, Any] = {
        "kind": resource.kind,
        "listKind": f"{resource.kind}List",
        "plural": resource.plural,
        "singular": resource.singular,
    }
    if resource.short_names:
        names["shortNames"] = list(resource.short_names)
    if categories := getattr(kind, "categories", ()):
        names["categories"] = list(categories)
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


def _check_spelling(kind: type[Kind]) -> None:
    """A misspelt addition would be left out without a word."""
    own = {name for name in vars(kind) if not name.startswith("_")}
    for name in own - {*kind.__struct_fields__, *_ADDITIONS}:
        if near := get_close_matches(name, _ADDITIONS, 1, _NEAR):
            raise TypeError(f"no use is made of {kind.__name__}.{name}: did you mean {near[0]}?")


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
    if fields := getattr(kind, "selectable_fields", ()):
        version["selectableFields"] = [{"jsonPath": f".{field}"} for field in fields]
    if warning := getattr(kind, "deprecation_warning", ""):
        version |= {"deprecated": True, "deprecationWarning": warning}
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
