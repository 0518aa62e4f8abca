"""
Decide which part of the work this process does. The runtime asks a Share, and never whether there are slots.

    Sole       all of it: there is one process, or leader election has chosen this one
    Replica    the work in its slots; see replica.py
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
"""All informers of the process."""


class Part(NamedTuple):
    """Something that runs as long as the process, on a thread with its name, until the event is set."""

    name: str
    run: Callable[[threading.Event], None]


class Share(Protocol):
    """
    The part of the work that this process does. Sole and Replica implement it.

    Fields: is_divided, whether other processes do the rest; identity, the process's name in Leases, "" if it
    has none; restrictions, what informers may hold.
    """

    is_divided: bool

    @property
    def identity(self) -> str:
        """The process's name in its Leases."""

    @property
    def restrictions(self) -> Restrictions:
        """What the informers may hold."""

    # while a manager is set up

    def part(self, client: Client, views: Views) -> Part | None:
        """
        Return what must run so that the process gets its share; None if nothing must.

        Args: client lists Namespaces; views returns all informers of the process.
        """

    def access(self) -> tuple[Access, ...]:
        """Return the access that this part of the work needs."""

    def fenced(self, client: Client, stop: threading.Event, *, patience_seconds: float) -> Client:
        """Return a client that writes only within this process's share. Its waits end when stop is set."""

    def refuse(self, runnable: Runnable) -> None:
        """Raises: ShardingError for a runnable whose work cannot be divided."""

    # while a controller is set up

    def refuse_names(self, controller: str) -> None:
        """Raises: ShardingError if no process has the names without an object that this controller needs."""

    def declare(self, kinds: Iterable[tuple[type[Kind], bool]]) -> Sequence[str]:
        """
        Decide how kinds are divided, before their first informers exist.

        Args: pairs (kind, whether it is owned); the first is the reconciled kind.
        Returns: those whose objects need a label, as `plural.group`. Raises: ShardingError.
        """

    def watching(self, client: Client, controller: str, labelled: Sequence[str]) -> Client:
        """Return a client that reports written children without the label that they need."""

    def mapped(self, controller: str, names_of: MapFunc[Any]) -> MapFunc[Any]:
        """Return a map function that reports names that another process may have."""

    def admission(
        self,
        informers: Sequence[MultiNamespaceInformer[Any]],
        worker: ShareWorker,
        reconciled: MultiNamespaceInformer[Any],
    ) -> Admitted:
        """
        Return the block in which a worker may work on a name, which must be one that this process has.

        Args: informers are those that the controller watches; reconciled is the one for its kind.
        """

    # from any thread

    def child_labels(self) -> Mapping[str, str]:
        """Return the labels for children of the object that this thread reconciles."""

    def elsewhere(self, name: ObjectName, *, is_known: bool) -> tuple[str, str]:
        """
        Return why a name is elsewhere, and the identity of its holder; each is "" if it is here or unknown.

        Args: is_known tells whether this process has the object with that name.
        """

    def statistics(self) -> ShardStatistics | None:
        """Return who does which part; None if this process does everything."""

    def objects(self) -> Mapping[int, int]:
        """Return how many cached objects each slot has."""

    def liveness_checks(self) -> Mapping[str, Check]:
        """For `/healthz`."""

    def readiness_checks(self) -> Mapping[str, Check]:
        """For `/readyz`."""


class Sole:
    """All of the work. Implements Share."""

    is_divided = False
    identity = ""

    def __init__(self, seconds_to_write: Callable[[], float]) -> None:
        """Args: seconds_to_write returns for how long no other process can lead."""
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
