"""The outside of an object, read whatever its inside is like: which kind, which name, which version."""

from __future__ import annotations

from typing import Any

import msgspec

from handloop.client.decoding.json_text import MALFORMED, prune, shown
from handloop.client.decoding.pages import RAW_LIMIT, Undecodable
from handloop.client.errors import DecodeError


class Envelope(msgspec.Struct, frozen=True, gc=False):
    """kind and apiVersion are "" where the object has none; name may be "" too."""

    kind: str
    api_version: str
    namespace: str
    name: str
    resource_version: str
    annotations: dict[str, str]


class _Loose(msgspec.Struct, frozen=True):
    kind: Any = None
    apiVersion: Any = None  # noqa: N815 - as on the wire
    metadata: Any = None


_decoder = msgspec.json.Decoder(_Loose)


def read_envelope(raw: bytes) -> Envelope:
    """
    The envelope of one object; fields of the wrong type count as absent.

    Raises: DecodeError when raw is not a JSON object.
    """
    try:
        loose = _decode(raw)
    except MALFORMED as error:
        raise DecodeError(f"not an object ({error}): {shown(raw)}") from error
    metadata = loose.metadata if isinstance(loose.metadata, dict) else {}
    annotations = metadata.get("annotations")
    return Envelope(
        kind=_text(loose.kind),
        api_version=_text(loose.apiVersion),
        namespace=_text(metadata.get("namespace")),
        name=_text(metadata.get("name")),
        resource_version=_text(metadata.get("resourceVersion")),
        annotations=annotations if isinstance(annotations, dict) else {},
    )


def undecodable(raw: bytes, error: Exception) -> Undecodable:
    """
    The quarantine entry for an object that does not fit its type.

    Raises: DecodeError when it has no name or resource version: nothing can be said about it.
    """
    envelope = read_envelope(raw)
    if not envelope.name or not envelope.resource_version:
        raise DecodeError(f"an object without metadata.name or resourceVersion: {shown(raw)}")
    return Undecodable(
        key_namespace=envelope.namespace,
        key_name=envelope.name,
        resource_version=envelope.resource_version,
        raw=bytes(raw[:RAW_LIMIT]),
        error=str(error),
    )


def _decode(raw: bytes) -> _Loose:
    try:
        return _decoder.decode(raw)
    except RecursionError:
        return _decoder.decode(prune(raw))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
