"""
The lock of leader election: one Lease, changed only in the version that was read.

Follows: client-go tools/leaderelection/resourcelock/leaselock.go @32ce75a7d.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from handloop.apis.coordination_v1 import Lease
from handloop.apis.core_v1 import ObjectReference
from handloop.apis.meta import FrozenMap, ObjectMeta
from handloop.client.resource_client import ResourceClient
from handloop.controller.runtime.election.record import (
    LeaderElectionRecord,
    record_from_spec,
    spec_from_record,
)
from handloop.controller.runtime.events.recorder import EVENT_TYPE_NORMAL, EventRecorder

EVENT_REASON: Final = "LeaderElection"


class LeaseNotInitializedError(Exception):
    """An update came before the first get or create."""

    def __init__(self) -> None:
        super().__init__("lease not initialized, call get or create first")


class LeaseLock:
    """
    A Lease under one identity.

    Its resource version makes every update conditional: of two candidates that read the same state, the
    server lets one win.

    State: _lease, as last read or written; an update that fails leaves it as it was.
    Threads: the elector's only.
    """

    def __init__(
        self,
        leases: ResourceClient[Lease],
        *,
        namespace: str,
        name: str,
        identity: str,
        labels: Mapping[str, str] | None = None,
        recorder: EventRecorder | None = None,
    ) -> None:
        """Args: labels are set on create and merged on update; recorder None = no events on the lease."""
        self._leases = leases
        self._namespace = namespace
        self._name = name
        self._identity = identity
        self._labels = labels or {}
        self._recorder = recorder
        self._lease: Lease | None = None

    def report_to(self, recorder: EventRecorder) -> None:
        """Record events there from here on; before the election begins."""
        self._recorder = recorder

    @property
    def identity(self) -> str:
        """Who we are, unlike any other candidate."""
        return self._identity

    @property
    def name(self) -> str:
        """The Lease's name."""
        return self._name

    def describe(self) -> str:
        """`namespace/name`."""
        return f"{self._namespace}/{self._name}"

    def get(self, timeout_seconds: float) -> LeaderElectionRecord:
        """
        Read the lease.

        Raises: NotFound when there is none, other ClientErrors when it cannot be read.
        """
        lease = self._leases.within(timeout_seconds).get(self._name, namespace=self._namespace)
        return self._remember(lease)

    def create(self, record: LeaderElectionRecord, timeout_seconds: float) -> None:
        """
        Make the lease.

        Raises: AlreadyExists when somebody else was first, other ClientErrors.
        """
        metadata = ObjectMeta(name=self._name, namespace=self._namespace, labels=FrozenMap(self._labels))
        lease = Lease(metadata=metadata, spec=spec_from_record(record))
        self._remember(self._leases.within(timeout_seconds).create(lease))

    def update(self, record: LeaderElectionRecord, timeout_seconds: float) -> None:
        """
        Write the lease over the state that was last read or written.

        Raises: LeaseNotInitializedError; Conflict when it has changed since, other ClientErrors.
        """
        if self._lease is None:
            raise LeaseNotInitializedError
        metadata = self._lease.metadata
        if self._labels:
            labels = FrozenMap({**metadata.labels, **self._labels})
            metadata = msgspec.structs.replace(metadata, labels=labels)
        lease = msgspec.structs.replace(self._lease, metadata=metadata, spec=spec_from_record(record))
        self._remember(self._leases.within(timeout_seconds).update(lease))

    def record_event(self, text: str) -> None:
        """Tell about us on the Lease: `<identity> <text>`."""
        if self._recorder is not None:
            about = ObjectReference(
                api_version=Lease.resource.api_version,
                kind=Lease.resource.kind,
                namespace=self._namespace,
                name=self._name,
                uid=self._lease.metadata.uid if self._lease is not None else "",
            )
            self._recorder.event(about, EVENT_TYPE_NORMAL, EVENT_REASON, f"{self._identity} {text}")

    def _remember(self, lease: Lease) -> LeaderElectionRecord:
        self._lease = lease
        return record_from_spec(lease.spec)
