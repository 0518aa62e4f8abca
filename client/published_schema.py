"""
Reads the schema and the subresources that a server publishes for a kind in OpenAPI v3.

Every account can read them (system:discovery). One document covers one group and version. The core group's
document is larger than 1 MB, so only the requested part is decoded, and the document is not kept.
Follows: kube-openapi pkg/handler3; a server publishes a definition a moment after it was created or changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from handloop.apis.decoders import decoder_of
from handloop.apis.resource import Resource
from handloop.client.decoding.json_text import read
from handloop.client.resource_client import Client

Schema = Mapping[str, Any]

_COMPONENTS: Final = "#/components/schemas/"
_INT_OR_STRING: Final = "x-kubernetes-int-or-string"
_EMBEDDED: Final = "x-kubernetes-embedded-resource"
_ENVELOPE: Final = ("apiVersion", "kind", "metadata")
_OPEN: Final[Schema] = {"x-kubernetes-preserve-unknown-fields": True}
_KIND: Final = "x-kubernetes-group-version-kind"


class PublishedKind(NamedTuple):
    """
    A kind as the server publishes it.

    References are resolved only in fields that find()'s schema `like` also has.
    """

    schema: Schema
    subresources: frozenset[str]


class _Components(msgspec.Struct, frozen=True):
    schemas: dict[str, msgspec.Raw] = {}


class _Document(msgspec.Struct, frozen=True):
    paths: dict[str, msgspec.Raw] = {}
    components: _Components = _Components()


class PublishedSchemas:
    """
    The kinds of one group and version. Threads: only one thread can use this object.

    State: _decoded caches the schemas that have been needed so far.
    """

    def __init__(self, document: bytes) -> None:
        """Raises: DecodeError."""
        found = read(decoder_of(_Document).decode, document, "not OpenAPI v3")
        self._paths = tuple(found.paths)
        self._raw = found.components.schemas
        self._decoded: dict[str, dict[str, Any]] = {}

    @classmethod
    def fetch(cls, client: Client, group: str, version: str) -> PublishedSchemas:
        """
        Request the schemas of a group and version.

        Raises: APIError, which is a NoKindMatch if nothing is published; TransportError; DecodeError.
        Blocks: until the server responds.
        """
        place = f"apis/{group}/{version}" if group else f"api/{version}"
        return cls(client.get_raw(f"/openapi/v3/{place}"))

    def find(self, resource: Resource, like: Schema) -> PublishedKind | None:
        """
        Return a kind, or None if the document lacks it.

        Args: like is the schema with which the caller compares the result. Fields that are not in like are
        included, but references in them are not resolved.
        """
        for name in self._raw:
            if name.rpartition(".")[2] == resource.kind and self._is(self._schema(name), resource):
                schema = self._resolved(self._schema(name), like, (name,))
                return PublishedKind(schema, self._subresources(resource.plural))
        return None

    def _is(self, schema: Schema, resource: Resource) -> bool:
        wanted = (resource.group, resource.version, resource.kind)
        return any(
            (at.get("group"), at.get("version"), at.get("kind")) == wanted for at in schema.get(_KIND, ())
        )

    def _subresources(self, plural: str) -> frozenset[str]:
        ends = (path.partition(f"/{plural}/{{name}}/")[2] for path in self._paths)
        return frozenset(end for end in ends if end)

    def _schema(self, name: str) -> dict[str, Any]:
        if name not in self._decoded:
            raw = bytes(self._raw.get(name, b"{}"))
            self._decoded[name] = read(decoder_of(dict[str, Any]).decode, raw, "not a schema")
        return self._decoded[name]

    def _resolved(self, schema: Schema, like: Schema, above: tuple[str, ...]) -> Schema:
        """
        Return a schema in the form that CRDs use.

        References are resolved, and what the server adds when it publishes a schema is removed.
        Args: above holds the names of the enclosing schemas. A reference to one of them becomes a schema that
        allows anything.
        """
        whole = {key: value for key, value in schema.items() if key != "$ref"}
        if name := _reference(schema):
            whole.pop("allOf", None)
            referred = self._schema(name)
            # Some parts of built-in kinds, such as a RawExtension, have no schema and can hold anything.
            is_open = name in above or (
                referred.get("type", "object") == "object" and not _has_shape(referred)
            )
            whole = {**(_OPEN if is_open else referred), **whole}
            above = (*above, name)
        if whole.get(_INT_OR_STRING):
            whole.pop("anyOf", None)  # the int-or-string mark already says this
        if whole.get(_EMBEDDED):
            whole["required"] = [each for each in whole.get("required", ()) if each not in _ENVELOPE]
        if whole.get("properties"):
            fields = like.get("properties") or {}
            whole["properties"] = {
                key: self._resolved(part, fields[key], above) if key in fields else part
                for key, part in whole["properties"].items()
            }
        for key in ("items", "additionalProperties"):
            inner, there = whole.get(key), like.get(key)
            if isinstance(inner, Mapping) and isinstance(there, Mapping):
                whole[key] = self._resolved(inner, there, above)
        return whole


def _reference(schema: Schema) -> str:
    """Return the name to which a schema refers, directly or as allOf's only item, or "" if there is none."""
    parts: Sequence[Schema] = schema.get("allOf") or ()
    only = parts[0] if len(parts) == 1 else {}
    return str(schema.get("$ref") or only.get("$ref", "")).removeprefix(_COMPONENTS)


def _has_shape(schema: Schema) -> bool:
    return any(schema.get(key) for key in ("properties", "additionalProperties", "oneOf", "anyOf"))
