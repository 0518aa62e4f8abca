"""
Rows of custom resources: additionalPrinterColumns.

Follows: apiextensions-apiserver pkg/registry/customresource/tableconvertor/tableconvertor.go.
"""

from __future__ import annotations

import json
from typing import Any

from handloop.sandbox.kinds.kind_table import Column, builtin_columns
from handloop.sandbox.tables.cell import Object, name_of
from handloop.sandbox.wire import human, jsonpath
from handloop.sandbox.wire.go_format import escaped, go_value
from handloop.sandbox.wire.resource import ServedResource

_AGE = {
    "name": "Age",
    "type": "date",
    "jsonPath": ".metadata.creationTimestamp",
    "description": "",
}


def custom_columns(resource: ServedResource) -> list[Column]:
    """Name, then what the definition declares; Age alone when it declares nothing."""
    return [_name_column(), *(_column(declared) for declared in _declared(resource))]


def _name_column() -> Column:
    return builtin_columns("", "v1", "configmaps")[0]


def _age_description() -> str:
    return next(
        column.description for column in builtin_columns("", "v1", "configmaps") if column.name == "Age"
    )


def _declared(resource: ServedResource) -> list[Object]:
    return list(resource.printer_columns) or [{**_AGE, "description": _age_description()}]


def _column(declared: Object) -> Column:
    path = declared["jsonPath"]
    text = declared.get("description") or f"Custom resource definition column (in JSONPath format): {path}"
    return Column(
        declared["name"], declared["type"], declared.get("format", ""), int(declared.get("priority", 0)), text
    )


def custom_cells(resource: ServedResource, obj: Object, now: float) -> list[Any]:
    """The name, and what each column's path finds; null for nothing or a value of another type."""
    return [name_of(obj), *(_cell(declared, obj, now) for declared in _declared(resource))]


def _cell(declared: Object, obj: Object, now: float) -> Any:
    try:
        found = jsonpath.parse(declared["jsonPath"]).find(obj)
    except jsonpath.JSONPathError:
        return None
    if not found or (found[0] is None and declared["type"] != "string"):
        return None
    return _typed(declared["type"], found[0], now)


def _typed(kind: str, value: Any, now: float) -> Any:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    match kind:
        case "string":
            return _text(value)
        case "integer" if is_number:
            return int(value)
        case "number" if is_number:
            return int(value) if float(value).is_integer() else value
        case "boolean" if isinstance(value, bool):
            return value
        case "date" if isinstance(value, str):
            return human.age(value, now)
        case _:
            return None


def _text(value: Any) -> str:
    if isinstance(value, (dict, list)):
        return escaped(json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False))
    return "<no value>" if value is None else go_value(value)
