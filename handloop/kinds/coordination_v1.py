"""coordination.k8s.io/v1, complete; made by `python -m tools.generate_kinds`."""

from __future__ import annotations

from handloop.apis.meta import APIStruct, Kind


class LeaseSpec(APIStruct):
    acquire_time: str | None = None
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    lease_transitions: int | None = None
    preferred_holder: str | None = None
    renew_time: str | None = None
    strategy: str | None = None


class Lease(Kind, group="coordination.k8s.io", version="v1", partial=False):
    spec: LeaseSpec = LeaseSpec()
