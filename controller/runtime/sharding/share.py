"""
Decide which part of the work this process does. The runtime uses only Share and knows nothing about slots.

    Sole       all work, because only one process runs, or this one is the leader
    Replica    the work in this replica's slots; see replica.py
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

from handloop.apis.meta import Kind
from handloop.client.resource_client import Client
from handloop.controller.runtime.caching.multi_namespace_informer import MultiNamespaceInformer
from handloop.controller.runtime.election.write_fence import WriteFence
from handloop.controller.runtime.guards.admission import Admitted, ShareWorker, admit_all
from handloop.controller.runtime.life.runnable import Runnable
from handloop.controller.runtime.rbac.access import Access
from handloop.controller.runtime.serving.health import Check
from handloop.controller.runtime.sharding.coordinator import ShardStatistics
from handloop.controller.runtime.sources.informer_source import MapFunc
from handloop.informers.keys import ObjectName
from handloop.informers.restriction import Restrictions, Unrestricted

Views = Callable[[], Sequence[MultiNamespaceInformer[Any]]]
"""Returns all informers of the process."""


class Part(NamedTuple):
    """A function, and the name of the thread on which it runs until the process stops and sets the event."""

    name: str
    run: Callable[[threading.Event], None]


class Share(Protocol):
    """
    The part of the work that this process does. Sole and Replica implement it.

    Fields: is_divided is true if this process does only a part of the work, and other processes do the rest.
    identity is the process's name in its Leases, or "". restrictions limit the objects that informers store.
    """

    is_divided: bool

    @property
    def identity(self) -> str:
        """The process's name in its Leases, or "" if it has no Leases."""

    @property
    def restrictions(self) -> Restrictions:
        """The restrictions on the objects that the informers store."""

    # while a manager is set up

    def part(self, client: Client, views: Views) -> Part | None:
        """
        Return the function that must run so that the process acquires its share, or None if none is needed.

        Args: client lists Namespaces; views returns all informers of the process.
        """

    def access(self) -> tuple[Access, ...]:
        """Return the permissions that are required to divide the work."""

    def fenced(self, client: Client, stop: threading.Event, *, patience_seconds: float) -> Client:
        """Return a client that writes only within this process's share. Its waits end when stop is set."""

    def refuse(self, runnable: Runnable) -> None:
        """Check a runnable. Raises: ShardingError if the runnable's work cannot be divided."""

    # while a controller is set up

    def refuse_names(self, controller: str) -> None:
        """
        Check a controller whose reconcile is also called for objects that no longer exist.

        Raises: ShardingError if the work is divided by UID, because a deleted object's name has no UID.
        """

    def declare(self, kinds: Iterable[tuple[type[Kind], bool]]) -> Sequence[str]:
        """
        Decide how kinds are divided, before their first informers exist.

        Args: kinds contains pairs (kind, whether it is owned). The first pair is the reconciled kind.
        Returns: the kinds whose objects need a label, as `plural.group`.
        Raises: ShardingError if another controller needs one of the kinds to be divided differently.
        """

    def watching(self, client: Client, controller: str, labelled: Sequence[str]) -> Client:
        """Return a client that reports children that were created without the required label."""

    def mapped(self, controller: str, names_of: MapFunc[Any]) -> MapFunc[Any]:
        """Return a map function with the same results. It reports names that others may reconcile."""

    def admission(
        self,
        informers: Sequence[MultiNamespaceInformer[Any]],
        worker: ShareWorker,
        reconciled: MultiNamespaceInformer[Any],
    ) -> Admitted:
        """
        Return the context manager that a worker enters to reconcile a name that belongs to this process.

        Args: informers are those that the controller watches; reconciled is the reconciled kind's informer.
        """

    # from any thread

    def child_labels(self) -> Mapping[str, str]:
        """Return the labels for the children of the object that this thread is reconciling."""

    def elsewhere(self, name: ObjectName, *, is_known: bool) -> tuple[str, str]:
        """
        Return why another process reconciles a name, and that process's identity.

        Args: is_known is true if this process has the object with that name in its cache.
        Returns: the reason and the identity. Both are "" if this process reconciles the name. If only one of
        them is known, the other is "".
        """

    def statistics(self) -> ShardStatistics | None:
        """Return which process does which part of the work, or None if this process does all of it."""

    def objects(self) -> Mapping[int, int]:
        """Return the number of cached objects in each slot."""

    def liveness_checks(self) -> Mapping[str, Check]:
        """Return the checks for `/healthz`."""

    def readiness_checks(self) -> Mapping[str, Check]:
        """Return the checks for `/readyz`."""


class Sole:
    """The share of a process that does all work. Implements Share."""

    is_divided = False
    identity = ""

    def __init__(self, seconds_to_write: Callable[[], float]) -> None:
        """Args: seconds_to_write returns how many seconds remain in which no other process can be leader."""
        self.restrictions = Unrestricted()
        self._seconds_to_write = seconds_to_write

    def part(self, client: Client, views: Views) -> Part | None:
        """See Share."""

    def access(self) -> tuple[Access, ...]:
        """See Share."""
        return ()

    def fenced(self, client: Client, stop: threading.Event, *, patience_seconds: float) -> Client:
        """See Share."""
        fence = partial(WriteFence, seconds_to_write=lambda _path: self._seconds_to_write())
        return client.until(stop, patience_seconds=patience_seconds).wrap(fence)

    def refuse(self, runnable: Runnable) -> None:
        """See Share."""

    def refuse_names(self, controller: str) -> None:
        """See Share."""

    def declare(self, kinds: Iterable[tuple[type[Kind], bool]]) -> Sequence[str]:  # noqa: ARG002 - nothing is divided
        """See Share."""
        return ()

    def watching(self, client: Client, controller: str, labelled: Sequence[str]) -> Client:  # noqa: ARG002
        """See Share."""
        return client

    def mapped(self, controller: str, names_of: MapFunc[Any]) -> MapFunc[Any]:  # noqa: ARG002
        """See Share."""
        return names_of

    def admission(
        self,
        informers: Sequence[MultiNamespaceInformer[Any]],  # noqa: ARG002
        worker: ShareWorker,  # noqa: ARG002
        reconciled: MultiNamespaceInformer[Any],  # noqa: ARG002
    ) -> Admitted:
        """See Share."""
        return admit_all

    def child_labels(self) -> Mapping[str, str]:
        """See Share."""
        return {}

    def elsewhere(self, name: ObjectName, *, is_known: bool) -> tuple[str, str]:  # noqa: ARG002
        """See Share."""
        return "", ""

    def statistics(self) -> ShardStatistics | None:
        """See Share."""

    def objects(self) -> Mapping[int, int]:
        """See Share."""
        return {}

    def liveness_checks(self) -> Mapping[str, Check]:
        """See Share."""
        return {}

    def readiness_checks(self) -> Mapping[str, Check]:
        """See Share."""
        return {}
