"""coordination.k8s.io/v1: Lease, the lock of leader election."""

from __future__ import annotations

from handloop.apis.meta import APIStruct, Kind


class LeaseSpec(APIStruct):
    """
    The holder of the lease, and for how long. Times are RFC 3339 strings with microseconds.

    All fields are here, so that a PUT of a lease loses none. The last two serve clusters that choose
    the holder themselves.
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
