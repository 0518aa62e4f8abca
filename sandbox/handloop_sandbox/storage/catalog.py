"""The served resources. Catalogs are immutable snapshots: when a definition changes, a new one is made."""

from __future__ import annotations

from collections.abc import Iterable

from handloop_sandbox.wire.resource import GroupResource, ServedResource


class Catalog:
    """
    Every served resource, by path, by kind and by collection.

    revision increases with each snapshot, so that a document generated from a snapshot can be cached until
    the next one.
    """

    __slots__ = ("_by_kind", "_by_path", "_by_storage", "_by_version", "_versions", "resources", "revision")

    def __init__(self, resources: Iterable[ServedResource], *, revision: int = 1) -> None:
        self.resources = tuple(resources)
        self.revision = revision
        self._by_path = {(r.group, r.version, r.plural): r for r in self.resources}
        self._by_kind = {(r.group, r.version, r.kind): r for r in self.resources}
        self._by_storage: dict[GroupResource, ServedResource] = {}
        self._by_version: dict[tuple[str, str], list[ServedResource]] = {}
        self._versions: dict[str, list[str]] = {}
        for resource in self.resources:
            self._index(resource)

    def _index(self, resource: ServedResource) -> None:
        stored = self._by_storage.get(resource.group_resource)
        if stored is None or resource.version == resource.storage_version:
            self._by_storage[resource.group_resource] = resource
        self._by_version.setdefault((resource.group, resource.version), []).append(resource)
        versions = self._versions.setdefault(resource.group, [])
        if resource.version not in versions:
            versions.append(resource.version)

    def find(self, group: str, version: str, plural: str) -> ServedResource | None:
        """Return the resource at `/apis/group/version/plural`, or None."""
        return self._by_path.get((group, version, plural))

    def by_kind(self, group: str, version: str, kind: str) -> ServedResource | None:
        """Return the resource whose objects have this kind, or None."""
        return self._by_kind.get((group, version, kind))

    def storage(self, group_resource: GroupResource) -> ServedResource | None:
        """Return a collection's resource in its storage version, or None."""
        return self._by_storage.get(group_resource)

    def preferred(self, group_resource: GroupResource) -> ServedResource | None:
        """Return a collection's resource in the version that discovery lists first, or None."""
        return next((each for each in self.resources if each.group_resource == group_resource), None)

    def groups(self) -> tuple[str, ...]:
        """Return the groups in the order in which the API server lists them, without the core group."""
        return tuple(group for group in self._versions if group)

    def versions(self, group: str) -> tuple[str, ...]:
        """Return the served versions of a group, preferred first."""
        return tuple(self._versions.get(group, ()))

    def in_group_version(self, group: str, version: str) -> tuple[ServedResource, ...]:
        """Return every resource of one group version."""
        return tuple(self._by_version.get((group, version), ()))
