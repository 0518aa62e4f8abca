"""
Names of informers, so that two of them do not publish metrics as one.

Follows: client-go tools/cache/identity.go.
"""

from __future__ import annotations

from typing import Final

import structlog

from apis.resource import Resource
from informers.keys import CacheError
from workqueue.locks import Lock, new_lock

log = structlog.get_logger("identity")


class InformerNameError(CacheError, ValueError):
    """A name that is empty or taken."""


class _Registry:
    """State, guarded by lock: the names in use, and per name the resources reserved under it."""

    def __init__(self) -> None:
        self.lock: Lock = new_lock("_Registry.lock", 96)
        self.reserved: dict[str, set[Resource]] = {}


_REGISTRY: Final = _Registry()


class InformerName:
    """
    A name no other informer of this process has, until release().

    Raises: InformerNameError.
    """

    def __init__(self, name: str) -> None:
        if not name:
            raise InformerNameError("informer name cannot be empty")
        with _REGISTRY.lock:
            if name in _REGISTRY.reserved:
                raise InformerNameError(f'informer name "{name}" is already registered')
            self._resources = _REGISTRY.reserved[name] = set()
        self._released = False
        self.name: Final = name

    def with_resource(self, resource: Resource) -> Identifier:
        """The identity of this informer for one resource: reserved for the first who asks."""
        with _REGISTRY.lock:
            is_first = not self._released and resource not in self._resources
            if is_first:
                self._resources.add(resource)
        if not is_first:
            log.error(
                "Duplicate informer registration - metrics will not be published",
                informerName=self.name,
                resource=str(resource),
            )
        return Identifier(self, resource, is_reserved=is_first)

    def release(self) -> None:
        """Let others have the name; its identifiers are reserved no more. May be called again."""
        with _REGISTRY.lock:
            if not self._released:
                self._released = True
                self._resources.clear()
                del _REGISTRY.reserved[self.name]

    def holds(self, resource: Resource) -> bool:
        """Whether an identifier for this resource is reserved under the name."""
        with _REGISTRY.lock:
            return resource in self._resources


class Identifier:
    """Who an informer is when it publishes metrics: only a reserved identifier does."""

    def __init__(self, name: InformerName | None, resource: Resource, *, is_reserved: bool) -> None:
        self._owner = name
        self._is_reserved = is_reserved
        self.name: Final = "" if name is None else name.name
        self.resource: Final = resource

    def is_reserved(self) -> bool:
        """Whether nobody else has this identity."""
        return self._is_reserved and self._owner is not None and self._owner.holds(self.resource)


def identifier_for(name: InformerName | None, resource: Resource) -> Identifier:
    """The identity under a name; without a name one that is not reserved."""
    if name is None:
        return Identifier(None, resource, is_reserved=False)
    return name.with_resource(resource)
