"""coordination.k8s.io/v1beta1: LeaseCandidate, a process that leads if the control plane chooses it."""

from __future__ import annotations

from typing import Final

from handloop.apis.meta import APIStruct, Kind

OLDEST_EMULATION_VERSION: Final = "OldestEmulationVersion"
"""The strategy by which the candidate of the oldest emulation version is chosen."""


class LeaseCandidateSpec(APIStruct):
    """
    The lease, in the same namespace, that the candidate stands for, and the strategy of the choice.

    Times are RFC 3339 strings with microseconds. ping_time is when the control plane asked for a sign of
    life, renew_time when the candidate last gave one. Versions are semantic, without a leading v.
    """

    lease_name: str | None = None
    ping_time: str | None = None
    renew_time: str | None = None
    binary_version: str | None = None
    emulation_version: str | None = None
    strategy: str | None = None


class LeaseCandidate(Kind, group="coordination.k8s.io", version="v1beta1", partial=False):
    """A candidate; its name is the identity that the lease will hold."""

    spec: LeaseCandidateSpec = LeaseCandidateSpec()
