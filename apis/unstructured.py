"""
Objects of a kind without a typed view, as JSON that is decoded on demand.

    CronTab = Unstructured.of("stable.example.com/v1", "CronTab")
    manager.informer_for(CronTab).get("ns/name").content()["spec"]
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import msgspec

from handloop.apis.declaration import KindType, Scope
from handloop.apis.decoders import decoder_of
from handloop.apis.meta import Kind, ObjectMeta, decode_hook, encode_hook
from handloop.apis.once import made_once
from handloop.apis.resource import Resource


class _Envelope(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The fields that every object has."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = ObjectMeta()


_envelope = decoder_of(_Envelope, decode_hook)
_encode = msgspec.json.Encoder(enc_hook=encode_hook).encode


class Unstructured(Kind, abstract=True):
    """
    One object as raw bytes, with only its metadata decoded.

    raw is the object as the server sent it. The bytes are always a copy, because a slice of a response would
    keep the whole list page in memory. If evolve or with_controller changes the metadata, raw stays the same.
    content and to_json then return raw with the changed metadata.
    """

    raw: bytes = b""

    @staticmethod
    def of(
        api_version: str, kind: str, *, plural: str = "", scope: Scope = "Namespaced"
    ) -> type[Unstructured]:
        """
        Return the type of a kind, for clients and informers. The same names always return the same type.

        Args: api_version is `group/version`. An empty plural means the English plural. To request plural and
        scope from the server, use `Discovery.kind`.
        Raises: TypeError for invalid names.
        """
        return _type_of(api_version, kind, plural, scope)

    @staticmethod
    def of_resource(resource: Resource) -> type[Unstructured]:
        """Return the type for a resource."""
        scope: Scope = "Namespaced" if resource.namespaced else "Cluster"
        return _type_of(resource.api_version, resource.kind, resource.plural, scope)

    @classmethod
    def from_json(cls, raw: bytes) -> Self:
        """
        Decode an object of this kind. The object may lack kind and apiVersion, as list items do.

        Raises: ValueError for another kind, or for JSON that is not an object.
        """
        envelope = _envelope.decode(raw)
        names = cls.resource
        if envelope.kind not in ("", names.kind) or envelope.api_version not in ("", names.api_version):
            raise ValueError(f"is a {envelope.api_version} {envelope.kind}")
        if not envelope.kind:
            said = f'{{"kind":"{names.kind}","apiVersion":"{names.api_version}",'.encode()
            raw = said + raw[raw.index(b"{") + 1 :]
        return cls(metadata=envelope.metadata, raw=bytes(raw))

    def content(self) -> dict[str, Any]:
        """Decode the whole object to a new dict on every call. The caller may change the dict."""
        names = self.resource
        content: dict[str, Any] = (
            msgspec.json.decode(self.raw)
            if self.raw
            else {"apiVersion": names.api_version, "kind": names.kind, "metadata": {}}
        )
        before = _envelope.decode(self.raw).metadata if self.raw else ObjectMeta()
        if before != self.metadata:
            content["metadata"] = _changed(content.get("metadata") or {}, before, self.metadata)
        return content

    def to_json(self) -> bytes:
        """Return the whole object as it is sent. The result is raw if the metadata was not changed."""
        if self.raw and _envelope.decode(self.raw).metadata == self.metadata:
            return self.raw
        return msgspec.json.encode(self.content())

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.metadata.namespace}/{self.metadata.name}>"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        """Return what tracebacks show, without the object's JSON, which may contain a Secret's values."""
        return [("namespace", self.metadata.namespace), ("name", self.metadata.name)]


def json_of(obj: Kind) -> bytes:
    """Return an object as it is sent. Raises: the same ValueError as to_json."""
    if isinstance(obj, Unstructured):
        return obj.to_json()
    metadata = obj.metadata
    return to_json(f"{obj.resource.kind} {metadata.namespace}/{metadata.name}", obj)


def to_json(what: str, value: Any) -> bytes:
    """
    Return a value as JSON.

    Raises: ValueError with the value and the field, if a string contains a lone surrogate, which JSON does
    not allow.
    """
    try:
        return _encode(value)
    except UnicodeEncodeError:
        where = next(_broken("", msgspec.to_builtins(value, enc_hook=encode_hook)), "")
        fix = "text.encode(errors='replace').decode() replaces it"
        raise ValueError(
            f"{what}: {where} contains a lone surrogate, which is half a character: {fix}"
        ) from None


def _broken(path: str, value: Any) -> Iterator[str]:
    """Yield the paths of strings that are not valid Unicode."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _broken(f"{path}.{key}".lstrip("."), each)
    elif isinstance(value, list | tuple):
        for index, each in enumerate(value):
            yield from _broken(f"{path}[{index}]", each)
    elif isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            yield path


def _changed(sent: dict[str, Any], before: ObjectMeta, after: ObjectMeta) -> dict[str, Any]:
    """
    Return the metadata that was sent, with the fields that differ between before and after.

    The fields that ObjectMeta does not declare stay in the result.
    """
    said = msgspec.json.decode(_encode(after))
    for field in msgspec.structs.fields(ObjectMeta):
        if getattr(before, field.name) != getattr(after, field.name):
            sent.pop(field.encode_name, None)
            if field.encode_name in said:
                sent[field.encode_name] = said[field.encode_name]
    return sent


@made_once
def _type_of(api_version: str, kind: str, plural: str, scope: Scope) -> type[Unstructured]:
    group, _, version = api_version.rpartition("/")
    names: Any = {"group": group, "version": version, "plural": plural, "scope": scope, "partial": False}
    body = {"__doc__": f"A {kind}, as JSON.", "__module__": __name__}
    made: Any = KindType(kind, (Unstructured,), body, **names)
    return made  # type: ignore[no-any-return] # a subclass of Unstructured
