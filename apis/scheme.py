"""Kind <-> type <-> URL: which Python type stands for which kind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from handloop.apis import events_v1
from handloop.apis.apps_v1 import Deployment
from handloop.apis.autoscaling_v2 import HorizontalPodAutoscaler
from handloop.apis.coordination_v1 import Lease
from handloop.apis.core_v1 import Event, Service
from handloop.apis.meta import Kind
from handloop.apis.resource import GroupVersionKind, Resource


class Scheme:
    """
    A registry of kinds.

    State: three maps that always hold the same types. Threads: filled at import time, read-only after.
    """

    def __init__(self, kinds: Iterable[type[Kind]] = ()) -> None:
        self._by_kind: dict[GroupVersionKind, type[Kind]] = {}
        self._by_plural: dict[tuple[str, str, str], type[Kind]] = {}
        for kind in kinds:
            self.add(kind)

    def add(self, kind: type[Kind]) -> None:
        """
        Register a type under its kind and its plural.

        Raises: ValueError when another type has either already.
        """
        resource = kind.resource
        plural = (resource.group, resource.version, resource.plural)
        for known in (self._by_kind.get(resource.gvk), self._by_plural.get(plural)):
            if known is not None and known is not kind:
                raise ValueError(f"{resource.gvk} is already {known.__name__}")
        self._by_kind[resource.gvk] = kind
        self._by_plural[plural] = kind

    def type_for(self, gvk: GroupVersionKind) -> type[Kind] | None:
        """The type of a kind, or None."""
        return self._by_kind.get(gvk)

    def type_for_plural(self, group: str, version: str, plural: str) -> type[Kind] | None:
        """The type behind a URL's group, version and plural, or None."""
        return self._by_plural.get((group, version, plural))

    def resource_for(self, gvk: GroupVersionKind) -> Resource | None:
        """The resource of a kind, or None."""
        kind = self._by_kind.get(gvk)
        return None if kind is None else kind.resource

    def __iter__(self) -> Iterator[type[Kind]]:
        return iter(self._by_kind.values())


SCHEME = Scheme((Deployment, Service, HorizontalPodAutoscaler, Event, events_v1.Event, Lease))
"""The built-in kinds that have a type here."""
