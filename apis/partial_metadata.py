"""
Objects of a kind with only their metadata.

    secrets = manager.lister_for(PartialObjectMetadata[Secret])

The server sends only the metadata, so that the rest uses no bandwidth and no memory, and a type checker
reports any use of the spec. To read a whole object, request it from the server.
Follows: apimachinery pkg/apis/meta/v1 (PartialObjectMetadata).
"""

from __future__ import annotations

from typing import Any, ClassVar, Final, Generic, TypeVar

from handloop.apis.declaration import KindType
from handloop.apis.meta import Kind
from handloop.apis.once import made_once

K = TypeVar("K", bound=Kind)

META_GROUP: Final = "meta.k8s.io"
META_VERSION: Final = "v1"
META_KIND: Final = "PartialObjectMetadata"


class PartialObjectMetadata(Kind, Generic[K], abstract=True):
    """
    Only the metadata of a kind. `PartialObjectMetadata[Secret]` always returns the same type.

    Fields: whole is the kind's own type; resource is the kind's resource; kind and api_version are the names
    on the wire.
    """

    whole: ClassVar[type[Kind]]

    def __class_getitem__(cls, kind: type[Kind]) -> Any:
        """Return the type for a kind."""
        return metadata_of(kind)


@made_once
def metadata_of(kind: type[K]) -> type[PartialObjectMetadata[K]]:
    """Return PartialObjectMetadata[kind]. Use this if the kind is in a variable."""
    names = kind.resource
    keywords: dict[str, Any] = {
        "group": names.group,
        "version": names.version,
        "kind": names.kind,
        "plural": names.plural,
        "singular": names.singular,
        "scope": "Namespaced" if names.namespaced else "Cluster",
        "partial": True,
        "wire": (f"{META_GROUP}/{META_VERSION}", META_KIND),
    }
    body = {"__doc__": f"The metadata of a {names.kind}.", "__module__": __name__, "whole": kind}
    made: Any = KindType(f"{META_KIND}[{names.kind}]", (PartialObjectMetadata,), body, **keywords)
    return made  # type: ignore[no-any-return] # a subclass of PartialObjectMetadata
