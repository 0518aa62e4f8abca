"""Objects that are dropped before more than the names in their metadata is decoded."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import msgspec

from handloop.apis.decoders import decoder_of
from handloop.client.decoding.json_text import MALFORMED, pruning


class Sieve(Protocol):
    """Which objects of a list or a watch are wanted; the others are foreign. Threads: the reader's."""

    metadata_first: bool
    """Whether each object is checked before it is decoded, and not only one that does not fit its type."""

    def keeps(self, namespace: str, uid: str) -> bool:
        """Whether the object is wanted."""


class Foreign(NamedTuple):
    """An object that was dropped: everything up to its resource version has been sent."""

    resource_version: str


class Names(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """What a sieve and a watch need of the metadata."""

    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class Named(msgspec.Struct, frozen=True, gc=False):
    """An object without all else."""

    metadata: Names = Names()


_decode = pruning(decoder_of(Named).decode)


def foreign(raw: bytes, sieve: Sieve | None) -> Foreign | None:
    """One object's JSON as a dropped object; None if it is wanted, or that cannot be decided."""
    if sieve is None:
        return None
    try:
        names = _decode(raw).metadata
    except MALFORMED:
        return None
    return None if sieve.keeps(names.namespace, names.uid) else Foreign(names.resource_version)
