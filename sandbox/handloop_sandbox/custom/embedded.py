"""
Decodes and checks resources that are embedded in custom resources (x-kubernetes-embedded-resource).

Follows: apiextensions pkg/apiserver/schema/objectmeta.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

from handloop_sandbox.kinds import structure, typed
from handloop_sandbox.wire import names
from handloop_sandbox.wire.causes import invalid_value, required
from handloop_sandbox.wire.resource import Schema, ServedResource
from handloop_sandbox.wire.status import Cause

_EMBEDDED: Final = "x-kubernetes-embedded-resource"
_NONE: Final[Schema] = {}
_METADATA: Final[Schema] = {"$ref": "apimachinery.pkg.apis.meta.v1.ObjectMeta"}
_EMPTY: Final = "must not be empty"
_MIXED: Final = "may have mixed case, but should otherwise match: "


@lru_cache(maxsize=256)
def is_in(resource: ServedResource) -> bool:
    """Return whether a kind's schema contains embedded resources. If not, decode can be skipped."""
    return resource.schema is not None and _is_in(resource.schema)


def _is_in(schema: Schema) -> bool:
    inner = [*structure.properties(schema).values(), structure.items_of(schema), structure.value_of(schema)]
    return bool(schema.get(_EMBEDDED)) or any(_is_in(entry) for entry in inner if entry)


def decode(schema: Schema | None, obj: dict[str, Any], unknown: list[str]) -> dict[str, Any]:
    """
    Put the metadata of embedded resources into canonical form.

    Args: unknown receives the paths of unknown metadata members.
    Raises: typed.DecodeError if a value has the wrong type. Its message contains the value's path.
    """
    if schema is None:
        return obj
    result = _decoded(schema, obj, "", unknown)
    assert isinstance(result, dict)
    return result


def found(schema: Schema, value: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every embedded resource in a value, with its path."""
    if isinstance(value, list):
        items = structure.items_of(schema) or _NONE
        for index, entry in enumerate(value):
            yield from found(items, entry, f"{path}[{index}]")
    elif isinstance(value, dict):
        if schema.get(_EMBEDDED):
            yield path, value
        for name, entry in value.items():
            declared = structure.property_of(schema, name)
            if declared:
                yield from found(declared, entry, structure.member_path(schema, path, name))


def type_causes(path: str, resource: dict[str, Any]) -> list[Cause]:
    """Return the errors in an embedded resource's apiVersion and kind."""
    causes = [required(f"{path}.{name}") for name in ("apiVersion", "kind") if name not in resource]
    version, kind = resource.get("apiVersion"), resource.get("kind")
    if version == "":
        causes.append(invalid_value(f"{path}.apiVersion", version, _EMPTY))
    elif version is not None and version.count("/") > 1:
        text = f"unexpected GroupVersion string: {version}"
        causes.append(invalid_value(f"{path}.apiVersion", version, text))
    if kind == "":
        causes.append(invalid_value(f"{path}.kind", kind, _EMPTY))
    elif kind is not None:
        wrong = names.dns_1035_label(kind.lower())
        causes += [invalid_value(f"{path}.kind", kind, f"{_MIXED}{text}") for text in wrong]
    return causes


def _decoded(schema: Schema, value: Any, path: str, unknown: list[str]) -> Any:
    if isinstance(value, list):
        items = structure.items_of(schema) or _NONE
        return [_decoded(items, entry, f"{path}[{index}]", unknown) for index, entry in enumerate(value)]
    if not isinstance(value, dict):
        return value
    result = {}
    for name, entry in value.items():
        where = structure.member_path(schema, path, name)
        result[name] = _decoded(structure.property_of(schema, name) or _NONE, entry, where, unknown)
    if schema.get(_EMBEDDED):
        for name in ("apiVersion", "kind"):
            if not isinstance(value.get(name, ""), str):
                text = f"Invalid value: {typed.compact(value[name])}: must be a string"
                raise typed.DecodeError(f"{path}.{name}: {text}")
        if value.get("metadata") is not None:
            result["metadata"] = _decoded_metadata(value["metadata"], f"{path}.metadata", unknown)
    return result


def _decoded_metadata(value: Any, path: str, unknown: list[str]) -> Any:
    report = typed.Report()
    try:
        decoded = typed.decode(_METADATA, value, report)
    except typed.DecodeError as error:
        from_value = typed.compact(value)
        raise typed.DecodeError(f"{path}: Invalid value: {from_value}: {error}") from error
    unknown += [f"{path}.{name}" for name in report.unknown]
    return decoded
