"""
What an event is about, and what it is called.

Follows: client-go tools/reference/ref.go, tools/internal/events (GenerateEventName).
"""

from __future__ import annotations

import re
import uuid
from typing import Final

import msgspec

from handloop.apis.core_v1 import ObjectReference
from handloop.apis.meta import Kind
from handloop.apis.resource import Resource
from handloop.client.decoding.pages import Undecodable

_MAX_NAME_LENGTH: Final = 253
_LABEL: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DNS_SUBDOMAIN: Final = re.compile(rf"{_LABEL}(\.{_LABEL})*", re.ASCII)


def reference_to(obj: object) -> ObjectReference | None:
    """
    A reference to an object of one of our kinds; a reference is its own.

    Returns: None for anything that has no kind and name of its own.
    """
    if isinstance(obj, ObjectReference):
        return obj
    return reference_to_kind(obj) if isinstance(obj, Kind) else None


def reference_to_kind(obj: Kind) -> ObjectReference:
    """A reference to an object of one of our kinds."""
    return ObjectReference(
        api_version=obj.resource.api_version,
        kind=obj.resource.kind,
        namespace=obj.metadata.namespace,
        name=obj.metadata.name,
        uid=obj.metadata.uid,
        resource_version=obj.metadata.resource_version,
    )


def event_name(object_name: str, unix_nanoseconds: int) -> str:
    """
    `<object name>.<hex of nanoseconds>`, or a UUID of both where that is no valid name.

    The UUID is computed, not drawn: a run stays a function of its inputs.
    """
    name = f"{object_name}.{unix_nanoseconds:x}"
    if len(name) <= _MAX_NAME_LENGTH and _DNS_SUBDOMAIN.fullmatch(name):
        return name
    return str(uuid.uuid5(uuid.NAMESPACE_OID, name))


class _Metadata(msgspec.Struct, frozen=True):
    uid: str = ""


class _Identity(msgspec.Struct, frozen=True):
    metadata: _Metadata = _Metadata()


def reference_to_undecodable(resource: Resource, undecodable: Undecodable) -> ObjectReference:
    """
    A reference to an object that does not fit its type.

    `kubectl describe` finds events by UID: it is read from the raw object, and "" where it is not there.
    """
    try:
        uid = msgspec.json.decode(undecodable.raw, type=_Identity).metadata.uid
    except (msgspec.MsgspecError, ValueError):  # cut off at 64 kB, or no metadata worth the name
        uid = ""
    return ObjectReference(
        api_version=resource.api_version,
        kind=resource.kind,
        namespace=undecodable.key_namespace,
        name=undecodable.key_name,
        uid=uid,
        resource_version=undecodable.resource_version,
    )
