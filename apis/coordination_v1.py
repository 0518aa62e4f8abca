"""coordination.k8s.io/v1: Lease, the lock of leader election."""

from __future__ import annotations

from typing import ClassVar, Literal

from handloop.apis.meta import APIStruct, Kind
from handloop.apis.resource import Resource


class LeaseSpec(APIStruct, frozen=True, gc=False):
    """
    The holder of the lease, and for how long. Times are RFC 3339 strings with microseconds.

    All fields are here, so that a PUT of a lease loses none. The last two serve coordinated leader election.
    """

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None
    strategy: str | None = None
    preferred_holder: str | None = None


class Lease(Kind, frozen=True, gc=False, tag="Lease"):
    """A lock with an expiry."""

    resource: ClassVar[Resource] = Resource("coordination.k8s.io", "v1", "leases", "Lease", singular="lease")

    api_version: Literal["coordination.k8s.io/v1"] = "coordination.k8s.io/v1"
    spec: LeaseSpec = LeaseSpec()
