"""The kind, name and version of an object, read without its other fields."""

from __future__ import annotations

from typing import Any

import msgspec

from handloop.apis.decoders import decoder_of
from handloop.client.decoding.json_text import pruning, read


class Envelope(msgspec.Struct, frozen=True, gc=False):
    """kind and apiVersion are "" if the object has none; name may also be ""."""

    kind: str
    api_version: str
    namespace: str
    name: str
    uid: str
    resource_version: str
    annotations: dict[str, str]


class _Loose(msgspec.Struct, frozen=True):
    kind: Any = None
    apiVersion: Any = None  # noqa: N815 - as on the wire
    metadata: Any = None


_decode = pruning(decoder_of(_Loose).decode)


def read_envelope(raw: bytes) -> Envelope:
    """
    Return the envelope of one object. Fields of the wrong type are treated as absent.

    Raises: DecodeError if raw is not a JSON object.
    """
    loose = read(_decode, raw, "not an object")
    metadata = loose.metadata if isinstance(loose.metadata, dict) else {}
    annotations = metadata.get("annotations")
    return Envelope(
        kind=_text(loose.kind),
        api_version=_text(loose.apiVersion),
        namespace=_text(metadata.get("namespace")),
        name=_text(metadata.get("name")),
        uid=_text(metadata.get("uid")),
        resource_version=_text(metadata.get("resourceVersion")),
        annotations=annotations if isinstance(annotations, dict) else {},
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
