"""The generated tables. Each file is read once, but its parts are decoded only when they are needed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import msgspec


class SubresourceEntry(msgspec.Struct, frozen=True, gc=False):
    """One subresource in kinds.json. If version is "", it has its parent's group and version."""

    name: str
    kind: str
    verbs: tuple[str, ...]
    group: str = ""
    version: str = ""


class ResourceEntry(msgspec.Struct, frozen=True, gc=False):
    """One resource in kinds.json."""

    group: str
    version: str
    plural: str
    kind: str
    singular: str
    namespaced: bool
    verbs: tuple[str, ...]
    schema: str
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[SubresourceEntry, ...] = ()


class Column(NamedTuple):
    """One column of a Table. Priority 0 is always shown, and priority 1 only with `-o wide`."""

    name: str
    type: str
    format: str
    priority: int
    description: str


class _Kinds(msgspec.Struct, frozen=True):
    resources: tuple[ResourceEntry, ...]
    columns: dict[str, msgspec.Raw]
    texts: msgspec.Raw
    schemas: dict[str, msgspec.Raw]


@cache
def _kinds() -> _Kinds:
    return msgspec.json.decode(
        files("handloop_sandbox.kinds").joinpath("kinds.json").read_bytes(), type=_Kinds
    )


@cache
def _texts() -> tuple[str, ...]:
    return msgspec.json.decode(_kinds().texts, type=tuple[str, ...])


def resource_entries() -> tuple[ResourceEntry, ...]:
    """Return every built-in resource, in the order of the discovery documents."""
    return _kinds().resources


def schema_names() -> tuple[str, ...]:
    """Return the names of all schemas, without the prefix `io.k8s.`."""
    return tuple(_kinds().schemas)


@cache
def named_schema(name: str) -> dict[str, Any] | None:
    """Return the schema with this name (without the prefix `io.k8s.`), or None."""
    raw = _kinds().schemas.get(name)
    return None if raw is None else msgspec.json.decode(raw, type=dict[str, Any])


@cache
def builtin_columns(group: str, version: str, plural: str) -> tuple[Column, ...]:
    """Return the Table columns of a built-in resource, or () if it is unknown."""
    raw = _kinds().columns.get(f"{group}/{version}/{plural}")
    if raw is None:
        return ()
    rows = msgspec.json.decode(raw, type=list[tuple[str, str, str, int, int]])
    texts = _texts()
    return tuple(Column(*row[:4], texts[row[4]]) for row in rows)


class MessageField(NamedTuple):
    """
    One field of a protobuf message. label is "", "repeated" or "map".

    If json is "", the field is inlined: its members become members of the outer message.
    """

    json: str
    type: str
    label: str = ""


@cache
def _messages() -> dict[str, msgspec.Raw]:
    raw = files("handloop_sandbox.kinds").joinpath("messages.json").read_bytes()
    return msgspec.json.decode(raw, type=dict[str, dict[str, msgspec.Raw]])["messages"]


@cache
def message(name: str) -> dict[int, MessageField] | None:
    """Return the fields, by number, of the message with a schema's name, or None if it is unknown."""
    raw = _messages().get(name)
    if raw is None:
        return None
    members = (named_schema(name) or {}).get("properties", {})
    return {
        number: MessageField(row, *type_and_label(members[row]))
        if isinstance(row, str)
        else MessageField(*row)
        for number, row in msgspec.json.decode(raw, type=dict[int, str | tuple[str, ...]]).items()
    }


def type_and_label(schema: Mapping[str, Any]) -> tuple[str, str]:
    """Return the type and label that generated.proto declares for a member, apart from a few exceptions."""
    if "$ref" in schema:
        return schema["$ref"], ""
    match schema["type"]:
        case "array":
            return type_and_label(schema["items"])[0], "repeated"
        case "object":
            return type_and_label(schema["additionalProperties"])[0], "map"
        case "boolean":
            return "bool", ""
        case "string":
            return "bytes" if schema.get("format") == "byte" else "string", ""
        case _:
            return schema["format"], ""
