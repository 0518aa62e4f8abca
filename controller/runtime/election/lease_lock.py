"""
The lock for leader election: one Lease, changed only if it still has the version that was read.

Its LeaseSpec names the leader, the time at which it became the leader, and the duration for which it remains
the leader without a renewal. Times keep the server's format and are not used in calculations, because another
machine's clock may be wrong.
Follows: client-go tools/leaderelection/resourcelock/leaselock.go @32ce75a7d, differs: there is only one kind
of lock, so the LeaseSpec is the record.
"""

from __future__ import annotations

from typing import Final

import msgspec

from handloop.apis.coordination_v1 import Lease, LeaseSpec
from handloop.apis.core_v1 import ObjectReference
from handloop.apis.grammar.fields import NAME, FieldTerm
from handloop.apis.meta import EMPTY_MAP, FrozenMap, ObjectMeta
from handloop.client.decoding.watch_stream import WatchStream
from handloop.client.options import ListOptions
from handloop.client.resource_client import ResourceClient
from handloop.controller.runtime.events.recorder import EVENT_TYPE_NORMAL, EventRecorder

EVENT_REASON: Final = "LeaderElection"
RENEWED_BY: Final = "handloop.dev/renewed-by"
"""The annotation that names a Lease's holder if the holder renews a different Lease instead of this one."""


class LeaseNotInitializedError(Exception):
    """update was called before the first get or create."""

    def __init__(self) -> None:
        super().__init__("lease not initialized, call get or create first")


class LeaseLock:
    """
    A Lease, used by one candidate.

    Its resource version makes every update conditional: if two candidates read the same state, only one
    update succeeds.

    Fields: name, the Lease's name; identity, which no other candidate may have.
    State: lease, as last read or written. A failed update does not change it.
    Threads: only the elector's, except for watch, which any thread may call.
    """

    def __init__(
        self,
        leases: ResourceClient[Lease],
        *,
        namespace: str,
        name: str,
        identity: str,
        recorder: EventRecorder | None = None,
        labels: FrozenMap = EMPTY_MAP,
    ) -> None:
        """Args: if recorder is None, no Events are recorded. Every write adds labels to the lease."""
        self._leases = leases
        self._namespace = namespace
        self.name = name
        self.identity = identity
        self._recorder = recorder
        self._labels = labels
        self.lease: Lease | None = None

    def describe(self) -> str:
        """`namespace/name`."""
        return f"{self._namespace}/{self.name}"

    @property
    def version(self) -> str:
        """The resource version as last read or written; "" before the first read."""
        return "" if self.lease is None else self.lease.metadata.resource_version

    @property
    def renewed_by(self) -> str:
        """The annotation RENEWED_BY of the Lease as last read or written; "" if the Lease lacks it."""
        return "" if self.lease is None else self.lease.metadata.annotations.get(RENEWED_BY, "")

    def watch(self, resource_version: str, timeout_seconds: int) -> WatchStream[Lease]:
        """
        Watch only this Lease, starting at a version. The server ends the watch after some time.

        Raises: ClientError if the watch cannot be opened.
        """
        options = ListOptions(
            field_selector=str(FieldTerm(NAME, equal=True, value=self.name)),
            resource_version=resource_version,
            allow_watch_bookmarks=True,
            timeout_seconds=timeout_seconds,
        )
        return self._leases.watch(self._namespace, options=options)

    def get(self, timeout_seconds: float) -> LeaseSpec:
        """
        Read the lease.

        Raises: NotFound if it does not exist; other ClientErrors if it cannot be read.
        """
        lease = self._leases.within(timeout_seconds).get(self.name, namespace=self._namespace)
        return self.remember(lease)

    def create(self, spec: LeaseSpec, timeout_seconds: float) -> None:
        """
        Create the lease.

        Raises: AlreadyExists if another candidate has created it first; other ClientErrors if the request
        fails.
        """
        metadata = ObjectMeta(name=self.name, namespace=self._namespace, labels=self._labels)
        lease = Lease(metadata=metadata, spec=spec)
        self.remember(self._leases.within(timeout_seconds).create(lease))

    def update(self, spec: LeaseSpec, timeout_seconds: float, *, renewed_by: str = "") -> None:
        """
        Update the Lease that was last read or written: replace its spec, and set the annotation RENEWED_BY.

        Raises: LeaseNotInitializedError before the first read or create; Conflict if the Lease has changed;
        other ClientErrors if the request fails.
        """
        if self.lease is None:
            raise LeaseNotInitializedError
        before = self.lease.metadata
        metadata = msgspec.structs.replace(before, labels=FrozenMap({**before.labels, **self._labels}))
        if renewed_by != self.renewed_by:
            marked = FrozenMap({**before.annotations, RENEWED_BY: renewed_by})
            metadata = msgspec.structs.replace(metadata, annotations=marked)
        lease = msgspec.structs.replace(self.lease, metadata=metadata, spec=spec)
        self.remember(self._leases.within(timeout_seconds).update(lease))

    def record_event(self, text: str) -> None:
        """Record an Event on the Lease: `<identity> <text>`."""
        if self._recorder is not None:
            about = ObjectReference(
                api_version=Lease.resource.api_version,
                kind=Lease.resource.kind,
                namespace=self._namespace,
                name=self.name,
                uid=self.lease.metadata.uid if self.lease is not None else "",
            )
            self._recorder.event(about, EVENT_TYPE_NORMAL, EVENT_REASON, f"{self.identity} {text}")

    def remember(self, lease: Lease) -> LeaseSpec:
        """Make the next update replace this Lease, which came from a list or watch. Returns: its spec."""
        self.lease = lease
        return lease.spec
