"""Drops unwanted objects after decoding only the identifying fields of their metadata."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import msgspec

from handloop.apis.decoders import decoder_of
from handloop.client.decoding.json_text import MALFORMED, pruning


class Sieve(Protocol):
    """
    Decides which objects of a list or watch are wanted; the rest are foreign.

    Threads: used only by the thread that reads the list or watch.
    """

    metadata_first: bool
    """Whether to check every object before it is decoded, or only objects that do not fit their type."""

    def keeps(self, namespace: str, uid: str) -> bool:
        """Return whether the object is wanted."""


class Foreign(NamedTuple):
    """A dropped object. The server has sent all changes up to its resource_version."""

    resource_version: str


class Names(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The metadata that a sieve and a watch need."""

    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class Named(msgspec.Struct, frozen=True, gc=False):
    """An object with only this metadata."""

    metadata: Names = Names()


_decode = pruning(decoder_of(Named).decode)


def foreign(raw: bytes, sieve: Sieve | None) -> Foreign | None:
    """Return a Foreign if the JSON is an unwanted object, or None if the object is wanted or unreadable."""
    if sieve is None:
        return None
    try:
        names = _decode(raw).metadata
    except MALFORMED:
        return None
    return None if sieve.keeps(names.namespace, names.uid) else Foreign(names.resource_version)
