"""RBAC roles that allow exactly the declared access."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from handloop.apis.class_attributes import has_status_subresource
from handloop.apis.meta import Kind
from handloop.controller.runtime.rbac.access import Access, merged

API_VERSION: Final = "rbac.authorization.k8s.io/v1"
ROLE_NAME: Final = "handloop"
_EDITING: Final = ("create", "delete", "deletecollection", "patch", "update")


class RolePlace(NamedTuple):
    """A role's name and namespace: None for a ClusterRole, "" for the namespace where it is applied."""

    name: str
    namespace: str | None


def grouped(
    access: Iterable[Access], *, namespaces: Sequence[str] = (), name: str = ROLE_NAME
) -> dict[RolePlace, list[Access]]:
    """
    Group declarations by the role that grants them.

    Without namespaces, the role is a ClusterRole. With namespaces, it is a Role in each of them, and a
    ClusterRole only for cluster-scoped kinds. Access with a purpose goes into separate roles called
    `NAME-PURPOSE`.

    Raises: TypeError for a str, because its letters would be treated as namespaces.
    """
    if isinstance(namespaces, str):
        raise TypeError(f"namespaces is a sequence of names, such as ({namespaces!r},), and not a str")
    places: dict[RolePlace, list[Access]] = {}
    # A role has no optional verbs, so one rule lists them with the required ones.
    granted = merged(replace(entry, by_name=False, optional=False) for entry in access)
    for entry in sorted(granted, key=lambda entry: (entry.purpose, entry.resource.namespaced)):
        full_name = f"{name}-{entry.purpose}" if entry.purpose else name
        for namespace in _namespaces(entry, namespaces):
            places.setdefault(RolePlace(full_name, namespace), []).append(entry)
    return places


def roles(
    access: Iterable[Access], *, namespaces: Sequence[str] = (), name: str = ROLE_NAME
) -> list[dict[str, Any]]:
    """Return the manifests of the minimal roles for declarations, one for each key of `grouped`."""
    return list(_manifests(grouped(access, namespaces=namespaces, name=name)))


def user_roles(kind: type[Kind], *, name: str = ROLE_NAME) -> list[dict[str, Any]]:
    """
    Return roles for people: one to read a kind's objects, and one to edit them.

    They are aggregated into the ClusterRoles view, edit and admin, so that everyone who has one of these
    ClusterRoles also gets the permissions for this kind.
    """
    resource = kind.resource
    read = [resource.plural, *([f"{resource.plural}/status"] if has_status_subresource(kind) else [])]
    return [
        {
            "apiVersion": API_VERSION,
            "kind": "ClusterRole",
            "metadata": {
                "name": f"{name}-{resource.singular}-{role}",
                "labels": {f"rbac.authorization.k8s.io/aggregate-to-{each}": "true" for each in joined},
            },
            "rules": [{"apiGroups": [resource.group], "resources": resources, "verbs": list(verbs)}],
        }
        for role, joined, resources, verbs in (
            ("viewer", ("view", "edit", "admin"), read, ("get", "list", "watch")),
            ("editor", ("edit", "admin"), [resource.plural], _EDITING),
        )
    ]


def _namespaces(entry: Access, namespaces: Sequence[str]) -> Sequence[str | None]:
    if not entry.resource.namespaced:
        return (None,)
    if entry.namespace is not None:
        return (entry.namespace,)
    return namespaces or (None,)


def _manifests(places: dict[RolePlace, list[Access]]) -> Iterator[dict[str, Any]]:
    for (name, namespace), entries in places.items():
        yield {
            "apiVersion": API_VERSION,
            "kind": "ClusterRole" if namespace is None else "Role",
            "metadata": {"name": name} | ({"namespace": namespace} if namespace else {}),
            "rules": [_rule(entry) for entry in entries],
        }


def _rule(entry: Access) -> dict[str, Any]:
    names = {"resourceNames": list(entry.names)} if entry.names else {}
    return {
        "apiGroups": [entry.resource.group],
        "resources": [entry.rule_resource],
        **names,
        "verbs": list(entry.verbs),
    }
