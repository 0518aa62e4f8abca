"""An object of a kind without a typed view: its JSON, decoded on demand."""

from __future__ import annotations

from typing import Any

import msgspec

from handloop.apis.meta import ObjectMeta, decode_hook


class _Envelope(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The fields that every object has."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = ObjectMeta()


_envelope = msgspec.json.Decoder(_Envelope, dec_hook=decode_hook)


class Unstructured:
    """
    The raw bytes of one object with its metadata decoded.

    State: bytes of its own (never a slice that keeps a whole list page alive); immutable.
    """

    __slots__ = ("_raw", "api_version", "kind", "metadata")

    def __init__(self, raw: bytes) -> None:
        envelope = _envelope.decode(raw)
        self._raw = bytes(raw)
        self.api_version = envelope.api_version
        self.kind = envelope.kind
        self.metadata = envelope.metadata

    @property
    def raw(self) -> bytes:
        """The object as the server sent it."""
        return self._raw

    def content(self) -> dict[str, Any]:
        """A fresh dict of the whole object, the caller's to change; decoded anew at each call."""
        content: dict[str, Any] = msgspec.json.decode(self._raw)
        return content

    def __repr__(self) -> str:
        return f"<{self.kind} {self.metadata.namespace}/{self.metadata.name}>"
