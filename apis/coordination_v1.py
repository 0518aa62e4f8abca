"""coordination.k8s.io/v1: Lease, the lock of leader election."""

from __future__ import annotations

from handloop.apis.meta import APIStruct, Kind


class LeaseSpec(APIStruct):
    """
    The lease's holder and its duration. Times are RFC 3339 strings with microseconds.

    All fields are declared, so that a PUT of a lease loses none. The last two are for coordinated leader
    election, where the cluster chooses the holder.
    """

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None
    strategy: str | None = None
    preferred_holder: str | None = None


class Lease(Kind, group="coordination.k8s.io", version="v1", partial=False):
    """A lock with an expiry."""

    spec: LeaseSpec = LeaseSpec()
