"""RBAC roles that allow what was declared, and no more."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from controller.access import Access, merged

API_VERSION: Final = "rbac.authorization.k8s.io/v1"


def roles(name: str, access: Iterable[Access], *, namespaces: Sequence[str] = ()) -> list[dict[str, Any]]:
    """
    The least roles for what was declared.

    Without namespaces a ClusterRole; with them a Role in each, and a ClusterRole for cluster-scoped kinds
    only. What has a purpose of its own comes after, as `NAME-PURPOSE`.
    """
    declared = merged(access)
    purposes = dict.fromkeys(entry.purpose for entry in sorted(declared, key=lambda entry: entry.purpose))
    made: list[dict[str, Any]] = []
    for purpose in purposes:
        wanted = [entry for entry in declared if entry.purpose == purpose]
        full_name = f"{name}-{purpose}" if purpose else name
        made += [_role(full_name, entries, place) for place, entries in _by_place(wanted, namespaces)]
    return made


def _by_place(
    access: Sequence[Access], namespaces: Sequence[str]
) -> Iterator[tuple[str | None, list[Access]]]:
    """Entries with the namespace that their role belongs to; None = the whole cluster."""
    places: dict[str | None, list[Access]] = {None: []} | {namespace: [] for namespace in namespaces}
    for entry in access:
        for place in _places(entry, namespaces):
            places.setdefault(place, []).append(entry)
    yield from ((place, entries) for place, entries in places.items() if entries)


def _places(entry: Access, namespaces: Sequence[str]) -> Sequence[str | None]:
    if not entry.resource.namespaced:
        return (None,)
    if entry.namespace is not None:
        return (entry.namespace,)
    return namespaces or (None,)


def _role(name: str, access: Iterable[Access], namespace: str | None) -> dict[str, Any]:
    """A ClusterRole for None; a Role that leaves its namespace to whoever applies it for ""."""
    return {
        "apiVersion": API_VERSION,
        "kind": "ClusterRole" if namespace is None else "Role",
        "metadata": {"name": name} | ({"namespace": namespace} if namespace else {}),
        "rules": [_rule(entry) for entry in access],
    }


def _rule(entry: Access) -> dict[str, Any]:
    names = {"resourceNames": list(entry.names)} if entry.names else {}
    return {
        "apiGroups": [entry.resource.group],
        "resources": [entry.rule_resource],
        **names,
        "verbs": list(entry.verbs),
    }
