"""
The access that a controller needs to the API server: one declaration behind its roles and a program's checks.

Declare only verbs that are used. For this repository's controllers a test compares them with the requests of
a whole run.
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
    """Such as `get`; `*` = all."""

    subresource: str = ""
    """Such as `status`."""

    names: tuple[str, ...] = ()
    """Limits it to some objects; () = all."""

    namespace: str | None = None
    """None = where the controllers watch, "" = the program's own namespace, else that one, watched or not."""

    purpose: str = ""
    """Such as `leader-election`: separates it from the controllers' access."""

    optional: bool = False
    """The program does without it: roles have it, and nothing looks whether it is allowed."""

    by_name: bool = False
    """
    Only some objects are read, whose names an admin may know: a role with their names is enough, so
    nothing looks whether all are allowed.
    """

    @property
    def rule_resource(self) -> str:
        """`foos` or `foos/status`, as RBAC rules spell it."""
        return f"{self.resource.plural}/{self.subresource}" if self.subresource else self.resource.plural


def owner_access(resource: Resource) -> Access:
    """
    The right to set blockOwnerDeletion in references to owners of a kind: update of its finalizers.

    It is not a request. The admission plugin OwnerReferencesPermissionEnforcement, which OpenShift runs,
    looks for it when an object is written with such a reference.
    """
    return Access(resource=resource, subresource="finalizers", verbs=("update",))


_NAMESPACES: Final = Resource("", "v1", "namespaces", "Namespace", namespaced=False, singular="namespace")
FOLLOWING_NAMESPACES: Final = Access(resource=_NAMESPACES, verbs=("list", "watch"))
"""What a program needs whose namespaces are those with a label."""
PAUSING_NAMESPACES: Final = Access(resource=_NAMESPACES, verbs=("list", "watch"), optional=True)
"""With what a controller learns that a namespace is paused."""
LISTING_NAMESPACES: Final = Access(resource=_NAMESPACES, verbs=("list",))
"""What a program needs that shares namespaces with others. Without it, its watches tell it of them."""


def merged(access: Iterable[Access]) -> tuple[Access, ...]:
    """
    The union of declarations: each verb on a resource once, in the order of first mention.

    A verb on some objects, or one that the program does without, is left out where it is declared for all.
    """
    found: dict[Access, set[str]] = {}
    for entry in access:
        found.setdefault(replace(entry, verbs=()), set()).update(entry.verbs)
    for entry, verbs in found.items():
        whole = replace(entry, names=(), by_name=False, optional=False)
        if whole != entry:
            verbs.difference_update(found.get(whole, ()))
    return tuple(replace(entry, verbs=tuple(sorted(verbs))) for entry, verbs in found.items() if verbs)
