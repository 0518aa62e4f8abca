"""
Server-side apply of the fields that a controller owns.

An apply leaves fields that the typed view does not set to other managers. A field that an earlier apply set
and this one does not, the server removes. An apply that changes nothing is still a request: applied_fields
spares it.
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
The precondition of an apply that creates: there is no object.

No object has that version, for an API server's first write makes a later one; of an object that it creates,
the server ignores the version.
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

    Args: force takes over fields of other managers; without it such a field is a Conflict. precondition is
    ABSENT, or the uid or resourceVersion that the server's object must have.
    Returns: the stored object; its resource version is the old one when nothing changed.
    Raises: as ResourceClient.patch; for an unmet precondition Conflict, or Invalid for an object of another
    uid.
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
