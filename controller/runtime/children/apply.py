"""
Server-side apply of the fields that a controller owns.

An apply leaves the fields that the typed view does not set to other managers. If an earlier apply set a field
that this one omits, the server removes the field. An apply that changes nothing is still a request, which
applied_fields avoids.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeVar

from handloop.apis.meta import Kind
from handloop.client.resource_client import PatchType, ResourceClient
from handloop.controller.runtime.children.applied_fields import owned_fields

T = TypeVar("T", bound=Kind)

NO_PRECONDITION: Final[Mapping[str, str]] = {}
ABSENT: Final[Mapping[str, str]] = {"resourceVersion": "1"}
"""
The precondition of an apply that has to create its object.

No object has that version, because an API server's very first write already has a later one. When an apply
creates an object, the server ignores the version.
"""


def apply(
    client: ResourceClient[T],
    obj: T,
    *,
    field_manager: str,
    force: bool = True,
    precondition: Mapping[str, str] = NO_PRECONDITION,
) -> T:
    """
    Create the object, or set these fields in the server's object.

    Args: with force, the fields of other managers are taken over; without it, changing such a field raises
    Conflict. precondition is either ABSENT, or the uid or resourceVersion that the server's object must have.
    Returns: the stored object. If nothing changed, its resource version is unchanged.
    Raises: the same errors as ResourceClient.patch. If the precondition is not met, raises Conflict, or
    Invalid for an object with another uid.
    """
    fields = owned_fields(obj)
    fields["metadata"] |= precondition
    return client.patch(
        obj.metadata.name,
        fields,
        namespace=obj.metadata.namespace,
        patch_type=PatchType.APPLY,
        field_manager=field_manager,
        force=force,
    )
