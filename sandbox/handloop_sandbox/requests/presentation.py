"""
The forms in which stored objects are sent: complete (plain), as rows of a table, or only their metadata.

In the plain form, lists and watch events are assembled from bytes that were encoded when the objects were
stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import msgspec

from handloop_sandbox.custom import versions
from handloop_sandbox.requests.conversion import converter
from handloop_sandbox.storage.stored import Object, Stored, head_of, resource_head
from handloop_sandbox.tables import table
from handloop_sandbox.wire.negotiate import AnswerShape, Form
from handloop_sandbox.wire.resource import Conversion, ServedResource
from handloop_sandbox.wire.status import StatusError, failure

_encode = msgspec.json.Encoder().encode
Parts = tuple[bytes, ...]


class Presentation(Protocol):
    """Encodes answers about one resource in one form. Ages in tables are relative to now (Unix seconds)."""

    def one(self, stored: Stored, now: float) -> Parts:
        """Return the JSON of an object."""

    def many(self, items: Sequence[Stored], metadata: Mapping[str, Any], now: float) -> Parts:
        """Return the JSON of a list. metadata is its ListMeta."""

    def watched(self, stored: Stored, now: float, *, first: bool) -> bytes:
        """Return the JSON of a watch event's object. first is true for the first event in a stream."""


def presentation(form: Form, resource: ServedResource, *, include: str = "Metadata") -> Presentation:
    """
    Return the presentation of a resource in a form.

    Args: include is the includeObject parameter of a request for a Table.
    """
    match form.shape:
        case AnswerShape.TABLE:
            return _Tables(form, resource, include)
        case AnswerShape.PARTIAL | AnswerShape.PARTIAL_LIST:
            return _Partials(form, resource)
    return _Plain(form, resource)


class _Plain:
    """The plain form: the kind and apiVersion of the served version (head), then the stored bytes (tail)."""

    def __init__(self, form: Form, resource: ServedResource) -> None:
        self._form = form
        self._resource = resource
        self._is_stored_so = converter(resource) is None
        self._head = resource_head(resource)
        # Items in built-in lists have no kind and apiVersion, but items in lists of custom resources do.
        self._item_head = self._head if resource.custom else b"{"

    def tail(self, stored: Stored) -> bytes:
        return stored.tail if self._is_stored_so else served(self._resource, stored).tail

    def one(self, stored: Stored, now: float) -> Parts:
        del now
        parts = (self._head, self.tail(stored), b"\n")
        return parts if self._form.plain else (self._form.encode(b"".join(parts)),)

    def many(self, items: Sequence[Stored], metadata: Mapping[str, Any], now: float) -> Parts:
        del now
        head = head_of(self._resource.list_kind, self._resource.api_version)
        parts = [head, b'"metadata":', _encode(metadata), b',"items":[']
        for index, stored in enumerate(items):
            if index:
                parts.append(b",")
            parts += (self._item_head, self.tail(stored))
        parts.append(b"]}\n")
        return tuple(parts) if self._form.plain else (self._form.encode(b"".join(parts)),)

    def watched(self, stored: Stored, now: float, *, first: bool) -> bytes:
        del now, first
        return self._head + self.tail(stored)


class _Tables:
    def __init__(self, form: Form, resource: ServedResource, include: str) -> None:
        self._form = form
        self._resource = resource
        self._include = include

    def one(self, stored: Stored, now: float) -> Parts:
        return (self._encoded([stored], _version_of(stored), now),)

    def many(self, items: Sequence[Stored], metadata: Mapping[str, Any], now: float) -> Parts:
        return (self._encoded(items, metadata, now),)

    def watched(self, stored: Stored, now: float, *, first: bool) -> bytes:
        return _encode(self._table([stored], _version_of(stored), now, with_columns=first))

    def _encoded(self, items: Sequence[Stored], metadata: Mapping[str, Any], now: float) -> bytes:
        document = self._table(items, metadata, now, with_columns=True)
        return _encode(document) + b"\n" if self._form.plain else self._form.encode_value(document)

    def _table(
        self, items: Sequence[Stored], metadata: Mapping[str, Any], now: float, *, with_columns: bool
    ) -> dict[str, Any]:
        return table.render(
            self._resource,
            [served_object(self._resource, stored) for stored in items],
            now=now,
            include=self._include,
            metadata=dict(metadata),
            with_columns=with_columns,
            version=self._form.version,
        )


class _Partials:
    def __init__(self, form: Form, resource: ServedResource) -> None:
        self._form = form
        self._resource = resource

    def one(self, stored: Stored, now: float) -> Parts:
        if self._form.shape is AnswerShape.PARTIAL_LIST:
            go_type = (
                "*unstructured.Unstructured" if self._resource.custom else f"*core.{self._resource.kind}"
            )
            raise _not_acceptable(
                f"PartialObjectMetadataList, but the requested object is not a list ({go_type})"
            )
        return (self._form.encode(self.watched(stored, now, first=True) + b"\n"),)

    def many(self, items: Sequence[Stored], metadata: Mapping[str, Any], now: float) -> Parts:
        if self._form.shape is AnswerShape.PARTIAL:
            kind = "unstructured.Unstructured" if self._resource.custom else f"core.{self._resource.kind}"
            raise _not_acceptable(f"PartialObjectMetadata, but the requested object is a list (*{kind}List)")
        head = head_of("PartialObjectMetadataList", self._api_version)
        body = b",".join(self.watched(stored, now, first=False) for stored in items)
        content = b"".join((head, b'"metadata":', _encode(metadata), b',"items":[', body, b"]}\n"))
        return (self._form.encode(content),)

    def watched(self, stored: Stored, now: float, *, first: bool) -> bytes:
        del now, first
        shown = stored if self._resource.conversion is None else served(self._resource, stored)
        metadata = _encode(shown.object["metadata"])
        return head_of("PartialObjectMetadata", self._api_version) + b'"metadata":' + metadata + b"}"

    @property
    def _api_version(self) -> str:
        return f"meta.k8s.io/{self._form.version}"


def served_object(resource: ServedResource, stored: Stored) -> Object:
    """Return a stored object in the served version."""
    obj = served(resource, stored).object
    if obj["apiVersion"] == resource.api_version:
        return obj
    return {**obj, "apiVersion": resource.api_version}


def served(resource: ServedResource, stored: Stored) -> Stored:
    """Return a stored object in the served version. The result is cached for later readers."""
    if resource.conversion is not None:
        return _converted(resource, resource.conversion, [stored])[0]
    if stored.served is not None and stored.served[0] is resource:
        return stored.served[1] or stored
    convert = converter(resource)
    if convert is None:
        return stored
    obj = convert(stored.object)
    other = None if obj is stored.object else Stored(obj, stored.rv)
    if resource.custom:
        stored.served = (resource, other)
    return other or stored


def all_served(resource: ServedResource, items: Sequence[Stored]) -> Sequence[Stored]:
    """
    Return the objects to which selectors apply. If a webhook converts the objects, it converts all at once.

    Raises: ConversionNeededError if the webhook must be called first, or ConversionFailedError if it failed.
    """
    conversion = resource.conversion
    return items if conversion is None else _converted(resource, conversion, items)


def _converted(resource: ServedResource, conversion: Conversion, items: Sequence[Stored]) -> list[Stored]:
    place = (conversion.revision, resource.version)
    lacking = [stored for stored in items if place not in (stored.converted or ())]
    forms = versions.served_forms(resource, [stored.object for stored in lacking])
    for stored, obj in zip(lacking, forms, strict=True):
        others = {key: form for key, form in (stored.converted or {}).items() if key[0] == place[0]}
        form = None if obj is stored.object else Stored(obj, stored.rv)
        if form is not None:
            form.converted = {place: None}
        stored.converted = {**others, place: form}
    conversion.filled.add(resource.version)
    return [(stored.converted or {})[place] or stored for stored in items]


def _version_of(stored: Stored) -> dict[str, str]:
    return {"resourceVersion": stored.object["metadata"].get("resourceVersion", "")}


def _not_acceptable(text: str) -> StatusError:
    return StatusError(failure(406, "NotAcceptable", f"you requested {text}"))
