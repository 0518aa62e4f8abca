"""
Converts objects of a kind between its versions.

    class Site(Kind, group="example.org", version="v1", previous=SiteV1Beta1):
        @classmethod
        def from_previous(cls, old: SiteV1Beta1) -> Site: ...
        def to_previous(self) -> SiteV1Beta1: ...

Two pure functions connect a version to the previous one. A version without these functions must have every
field of the previous version, and objects pass through it unchanged. A conversion between two distant
versions goes through all versions between them.
Follows: controller-runtime pkg/conversion, differs: each version is connected to its neighbors rather than to
one hub, so when a version is removed, its functions go with it and no other version changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Any, Final

import msgspec

from handloop.apis.crd_schema import object_schema
from handloop.apis.declaration import fields_of
from handloop.apis.decoders import decoder_of
from handloop.apis.kept_fields import (
    Document,
    annotation_of,
    brought_back,
    kept_fields,
    kept_values,
    put_away,
)
from handloop.apis.meta import Kind, ObjectMeta, decode_hook, encode_hook
from handloop.apis.versions import has_functions, is_converted, versions_of
from handloop.apis.zero_values import completed

_MAY_CHANGE: Final = ("labels", "annotations")
"""The server accepts no other metadata changes from a conversion."""


class ConversionError(ValueError):
    """An object cannot be converted. The message names the object and the field that does not fit."""


class Converter:
    """The versions of a kind and the conversions between them. Threads: any thread can convert objects."""

    def __init__(self, kind: type[Kind]) -> None:
        self.kind = kind
        self._versions = versions_of(kind)
        self._places = {each.resource.api_version: at for at, each in enumerate(self._versions)}

    def convert(self, obj: Document, api_version: str) -> Document:
        """
        Return a copy of the object in another version.

        Raises: ConversionError if the object cannot be converted.
        """
        try:
            at, wanted = self._place(obj.get("apiVersion")), self._place(api_version)
            while at != wanted:
                step = 1 if wanted > at else -1
                obj = _converted(obj, self._versions[at], self._versions[at + step])
                at += step
        except ConversionError as error:
            raise ConversionError(f"{self.kind.resource.kind} {_name(obj)}: {error}") from error.__cause__
        except Exception as error:
            # The author's function returned an object with field values of the wrong types.
            raise ConversionError(f"{self.kind.resource.kind} {_name(obj)}: {_words(error)}") from error
        return obj

    def convert_all(self, objects: Sequence[Document], api_version: str) -> list[Document]:
        """Convert several objects. Raises: ConversionError for the first one that cannot be converted."""
        return [self.convert(obj, api_version) for obj in objects]

    def _place(self, api_version: Any) -> int:
        if not isinstance(api_version, str) or api_version not in self._places:
            known = ", ".join(self._places)
            raise ConversionError(
                f"{self.kind.resource.kind} has no version {api_version}: its versions are {known}"
            )
        return self._places[api_version]


def _words(error: BaseException) -> str:
    """Return the class and text of an error in an author's code, or only the class if its str() raises."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001 - its class is unknown to us
        return type(error).__name__


Conversions = dict[str, Callable[[Sequence[Document], str], list[Document]]]


def conversions_of(kinds: Iterable[type[Kind]]) -> Conversions:
    """
    Return conversion functions, so that a sandbox can convert objects of these kinds without a webhook.

    The keys are definition names. Each function takes objects and an apiVersion. Kinds without conversion
    functions are omitted.
    """
    converters = {kind.resource.group_resource: Converter(kind) for kind in kinds if is_converted(kind)}
    return {name: converter.convert_all for name, converter in converters.items()}


def _name(obj: Document) -> str:
    metadata = obj.get("metadata")
    found = metadata if isinstance(metadata, dict) else {}
    return "/".join(str(found[part]) for part in ("namespace", "name") if found.get(part))


def _converted(obj: Document, source: type[Kind], target: type[Kind]) -> Document:
    """Return an object in a neighboring version."""
    newer = target if target.previous is source else source
    if not has_functions(newer):
        return {**obj, "apiVersion": target.resource.api_version}
    before = _completed(source, obj)
    if before is None:
        shared = {field.encode_name for field in fields_of(target).values()} | {"kind"}
        left = {name: each for name, each in obj.items() if name in shared}
        return {"metadata": {}, **left, "apiVersion": target.resource.api_version}
    after = _called(before, newer, target)
    document = _without_inventions(_document(after), after, obj)
    metadata = _metadata(obj.get("metadata") or {}, before.metadata, after.metadata, (source, target))
    annotations = metadata["annotations"]
    text = annotations.pop(annotation_of(target), "")
    if text:
        document = _with_kept(target, document, text)
    annotations.pop(annotation_of(source), None)
    if kept_fields(source):
        returned = _called(after, newer, source)
        if kept := put_away(source, _document(before), _document(returned)):
            annotations[annotation_of(source)] = kept
    document["metadata"] = {key: value for key, value in metadata.items() if value != {}}
    return document


def _document(obj: Kind) -> Document:
    document: Document = msgspec.json.decode(msgspec.json.encode(obj, enc_hook=encode_hook))
    return {"apiVersion": obj.resource.api_version, "kind": obj.resource.kind, **document}


def _without_inventions(document: Document, after: Kind, given: Document) -> Document:
    """Return the result without parts that only a default added, such as a status that was absent before."""
    for field in fields_of(type(after)).values():
        if field.encode_name in document and field.encode_name not in given:
            is_made = field.default is msgspec.NODEFAULT and field.default_factory is not msgspec.NODEFAULT
            default = field.default_factory() if is_made else field.default
            if getattr(after, field.name) == default:
                document.pop(field.encode_name)
    return document


def _completed(kind: type[Kind], obj: Document) -> Kind | None:
    """
    Decode an object as one version of a kind, with Go's zero values in place of missing fields.

    Returns: None if a required part, such as the spec, is missing because the server pruned it. The author's
    functions cannot convert such an object, so only the parts that both versions have are kept.
    Raises: ConversionError if the object does not fit the version.
    """
    try:
        return _decoded(kind, obj)
    except ConversionError:
        if any(field.required and field.encode_name not in obj for field in fields_of(kind).values()):
            return None
        whole = completed(obj, _schema_of(kind))
        if whole == obj:
            raise
        return _decoded(kind, whole)


@cache  # many objects in a list may lack the same fields
def _schema_of(kind: type[Kind]) -> dict[str, Any]:
    return object_schema(kind)


def _decoded(kind: type[Kind], obj: Document) -> Kind:
    try:
        return decoder_of(kind, decode_hook).decode(msgspec.json.encode(obj))
    except (msgspec.ValidationError, ValueError) as error:
        raise ConversionError(f"is no {kind.resource.version}: {error}") from error


def _called(before: Kind, newer: type[Kind], target: type[Kind]) -> Kind:
    """
    Call an author's conversion function, and return its result.

    Raises: ConversionError if the function fails, returns another type, or changes metadata other than labels
    and annotations, which the server would refuse.
    """
    name = "from_previous" if target is newer else "to_previous"
    try:
        after = newer.from_previous(before) if target is newer else newer.to_previous(before)  # type: ignore[attr-defined]
    except (Exception, SystemExit, GeneratorExit) as error:
        raise ConversionError(f"{newer.__name__}.{name} raised {_words(error)}") from error
    if not isinstance(after, target):
        what = f"returned a {type(after).__name__}, not a {target.__name__}"
        raise ConversionError(f"{newer.__name__}.{name} {what}")
    if after.metadata is not before.metadata:
        for field in _changed(before.metadata, after.metadata):
            hint = "hand its metadata on: metadata=old.metadata"
            raise ConversionError(f"{newer.__name__}.{name} changes metadata.{field}: {hint}")
    return after


def _changed(before: ObjectMeta, after: ObjectMeta) -> Iterator[str]:
    for field in fields_of(ObjectMeta).values():
        if field.name not in _MAY_CHANGE and getattr(before, field.name) != getattr(after, field.name):
            yield field.encode_name


def _metadata(
    given: Document, before: ObjectMeta, after: ObjectMeta, versions: tuple[type[Kind], type[Kind]]
) -> dict[str, Any]:
    """Return a copy of the given metadata, with the labels and annotations of the function's result."""
    metadata = dict(given)
    if after.labels != before.labels:
        metadata["labels"] = dict(after.labels)
    # Our own annotations are added here, so that an author's function need not pass them on.
    own = {key for version in versions if (key := annotation_of(version)) in before.annotations}
    metadata["annotations"] = {**after.annotations, **{key: before.annotations[key] for key in own}}
    return metadata


def _with_kept(kind: type[Kind], document: Document, text: str) -> Document:
    """Restore the values that an annotation keeps for a version, except those that do not fit the object."""
    for path, entry in kept_values(kind, text):
        fuller = brought_back(document, path, entry)
        if fuller is not None and _fits(kind, fuller):
            document = fuller
    return document


def _fits(kind: type[Kind], document: Document) -> bool:
    try:
        _decoded(kind, {**document, "metadata": {}})
    except ConversionError:
        return False
    return True
