"""
The access to the API server that a controller needs, declared once for roles and the program's checks.

Declare only verbs that are used. For the controllers in this repository, a test compares the declarations
with all requests of a run.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from handloop.apis.resource import Resource

VERBS: Final = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Verbs on one resource or subresource."""

    resource: Resource
    """The resource that is accessed."""

    verbs: tuple[str, ...]
    """The verbs, such as `get`; `*` means all verbs."""

    subresource: str = ""
    """A subresource, such as `status`; "" means the object itself."""

    names: tuple[str, ...] = ()
    """If this is not empty, the access is limited to objects with these names."""

    namespace: str | None = None
    """A namespace; "" means the program's own namespace, and None every namespace that is watched."""

    purpose: str = ""
    """A word such as `leader-election`. Access with a purpose is granted in a separate role."""

    optional: bool = False
    """If True, the program can run without the access. Roles include it, but no check requires it."""

    by_name: bool = False
    """
    Only some objects are read, and an admin may know their names. Because a role with these names is enough,
    nothing checks whether all objects are allowed.
    """

    @property
    def rule_resource(self) -> str:
        """The resource as RBAC rules name it: `foos` or `foos/status`."""
        return f"{self.resource.plural}/{self.subresource}" if self.subresource else self.resource.plural


def owner_access(resource: Resource) -> Access:
    """
    Return the permission to set blockOwnerDeletion in references to a kind's objects.

    The permission is update on their finalizers. No request uses it. The admission plugin
    OwnerReferencesPermissionEnforcement, which OpenShift runs, checks it when an object with such a reference
    is written.
    """
    return Access(resource=resource, subresource="finalizers", verbs=("update",))


_NAMESPACES: Final = Resource("", "v1", "namespaces", "Namespace", namespaced=False, singular="namespace")
FOLLOWING_NAMESPACES: Final = Access(resource=_NAMESPACES, verbs=("list", "watch"))
"""The access of a program that watches the namespaces with certain labels."""
PAUSING_NAMESPACES: Final = Access(resource=_NAMESPACES, verbs=("list", "watch"), optional=True)
"""The access that shows a controller which namespaces are paused."""
LISTING_NAMESPACES: Final = Access(resource=_NAMESPACES, verbs=("list",))
"""The access to namespaces if replicas share them. Without it, a program learns them from its watches."""


def merged(access: Iterable[Access]) -> tuple[Access, ...]:
    """
    Return the union of declarations, in the order of first mention. No verb on a resource is repeated.

    A verb that is optional, or limited to some objects, is omitted if the same verb is also declared as
    required for all objects.
    """
    found: dict[Access, set[str]] = {}
    for entry in access:
        found.setdefault(replace(entry, verbs=()), set()).update(entry.verbs)
    for entry, verbs in found.items():
        whole = replace(entry, names=(), by_name=False, optional=False)
        if whole != entry:
            verbs.difference_update(found.get(whole, ()))
    return tuple(replace(entry, verbs=tuple(sorted(verbs))) for entry, verbs in found.items() if verbs)
