"""
The access to the API server that a controller needs: one declaration for roles and for a program's checks.

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
    """Of which kind."""

    verbs: tuple[str, ...]
    """The verbs, such as `get`; `*` = all."""

    subresource: str = ""
    """Such as `status`."""

    names: tuple[str, ...] = ()
    """Limits the access to the objects with these names; () = all."""

    namespace: str | None = None
    """None = where the controllers watch, "" = the program's own namespace; others need not be watched."""

    purpose: str = ""
    """A word such as `leader-election`, which separates this access from that of the controllers."""

    optional: bool = False
    """The program can run without this access. Roles include it, but nothing checks whether it is allowed."""

    by_name: bool = False
    """
    Only some objects are read, and an admin may know their names. Because a role with these names is enough,
    nothing checks whether all objects are allowed.
    """

    @property
    def rule_resource(self) -> str:
        """`foos` or `foos/status`, as RBAC rules spell it."""
        return f"{self.resource.plural}/{self.subresource}" if self.subresource else self.resource.plural


def owner_access(resource: Resource) -> Access:
    """
    Return the permission to set blockOwnerDeletion in references to owners of a kind: update on its
    finalizers.

    No request uses it. The admission plugin OwnerReferencesPermissionEnforcement, which OpenShift runs,
    checks it when an object with such a reference is written.
    """
    return Access(resource=resource, subresource="finalizers", verbs=("update",))


_NAMESPACES: Final = Resource("", "v1", "namespaces", "Namespace", namespaced=False, singular="namespace")
FOLLOWING_NAMESPACES: Final = Access(resource=_NAMESPACES, verbs=("list", "watch"))
"""The access that a program needs if a label selects its namespaces."""
PAUSING_NAMESPACES: Final = Access(resource=_NAMESPACES, verbs=("list", "watch"), optional=True)
"""The access with which a controller learns that a namespace is paused."""
LISTING_NAMESPACES: Final = Access(resource=_NAMESPACES, verbs=("list",))
"""The access to namespaces if replicas share them. Without it, a program learns them from its watches."""


def merged(access: Iterable[Access]) -> tuple[Access, ...]:
    """
    Return the union of declarations: each verb on a resource once, in the order of their first mention.

    A verb on some objects, or an optional verb, is left out if the verb is also declared for all objects.
    """
    found: dict[Access, set[str]] = {}
    for entry in access:
        found.setdefault(replace(entry, verbs=()), set()).update(entry.verbs)
    for entry, verbs in found.items():
        whole = replace(entry, names=(), by_name=False, optional=False)
        if whole != entry:
            verbs.difference_update(found.get(whole, ()))
    return tuple(replace(entry, verbs=tuple(sorted(verbs))) for entry, verbs in found.items() if verbs)
