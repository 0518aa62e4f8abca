"""
Objects of a kind without a typed view: their JSON, decoded on demand.

    CronTab = Unstructured.of("stable.example.com/v1", "CronTab")
    manager.informer_for(CronTab).get("ns/name").content()["spec"]
"""

from __future__ import annotations

from typing import Any, Self

import msgspec

from handloop.apis.declaration import KindType, Scope
from handloop.apis.meta import Kind, ObjectMeta, decode_hook
from handloop.apis.once import made_once
from handloop.apis.resource import Resource


class _Envelope(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The fields that every object has."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = ObjectMeta()


_envelope = msgspec.json.Decoder(_Envelope, dec_hook=decode_hook)


class Unstructured(Kind, abstract=True):
    """
    The raw bytes of one object with its metadata decoded.

    raw is the object as the server sent it, in bytes of its own (never a slice that keeps a whole list page
    alive). An object with other metadata, as msgspec.structs.replace makes it, keeps the raw bytes.
    """

    raw: bytes = b""

    @staticmethod
    def of(
        api_version: str, kind: str, *, plural: str = "", scope: Scope = "Namespaced"
    ) -> type[Unstructured]:
        """
        The type of a kind, for clients and informers: the same one for the same names.

        Args: api_version is `group/version`; plural "" = the English plural. `Discovery.kind` asks the server
        for plural and scope.
        Raises: TypeError for names that no server takes.
        """
        return _type_of(api_version, kind, plural, scope)

    @staticmethod
    def of_resource(resource: Resource) -> type[Unstructured]:
        """The type of a kind whose names are known."""
        scope: Scope = "Namespaced" if resource.namespaced else "Cluster"
        return _type_of(resource.api_version, resource.kind, resource.plural, scope)

    @classmethod
    def from_json(cls, raw: bytes) -> Self:
        """
        Read an object of this kind; items of lists come without kind and apiVersion.

        Raises: ValueError for another kind, or for JSON that is no object.
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
        """A fresh dict of the whole object, the caller's to change; decoded anew at each call."""
        content: dict[str, Any] = msgspec.json.decode(self.raw)
        return content

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.metadata.namespace}/{self.metadata.name}>"


@made_once
def _type_of(api_version: str, kind: str, plural: str, scope: Scope) -> type[Unstructured]:
    group, _, version = api_version.rpartition("/")
    names: Any = {"group": group, "version": version, "plural": plural, "scope": scope, "partial": False}
    body = {"__doc__": f"A {kind}, as JSON.", "__module__": __name__}
    made: Any = KindType(kind, (Unstructured,), body, **names)
    return made  # type: ignore[no-any-return] # a class of Unstructured's
