"""
What a lease says, as the elector sees it, and how that is written into a Lease.

Follows: client-go tools/leaderelection/resourcelock/interface.go and leaselock.go, differs: times stay as the
server spells them. Nobody computes with them, since another machine's clock may be wrong.
"""

from __future__ import annotations

import msgspec

from handloop.apis.coordination_v1 import LeaseSpec


class LeaderElectionRecord(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """
    Who leads, for how long without a sign of life, and since when.

    holder_identity "" = nobody. Times are RFC 3339 with microseconds, "" = none. leader_transitions counts
    how often the lease has changed hands. strategy and preferred_holder are of coordinated leader election.
    """

    holder_identity: str = ""
    lease_duration_seconds: int = 0
    acquire_time: str = ""
    renew_time: str = ""
    leader_transitions: int = 0
    strategy: str = ""
    preferred_holder: str = ""

    def raw(self) -> bytes:
        """The bytes that tell one state of the lease from another."""
        return msgspec.json.encode(self)


def record_from_spec(spec: LeaseSpec) -> LeaderElectionRecord:
    """What a Lease says; what is missing reads as "" or 0."""
    return LeaderElectionRecord(
        holder_identity=spec.holder_identity or "",
        lease_duration_seconds=spec.lease_duration_seconds or 0,
        acquire_time=spec.acquire_time or "",
        renew_time=spec.renew_time or "",
        leader_transitions=spec.lease_transitions or 0,
        strategy=spec.strategy or "",
        preferred_holder=spec.preferred_holder or "",
    )


def spec_from_record(record: LeaderElectionRecord) -> LeaseSpec:
    """The Lease that says it; strategy and preferred holder only where there are any."""
    return LeaseSpec(
        holder_identity=record.holder_identity,
        lease_duration_seconds=record.lease_duration_seconds,
        acquire_time=record.acquire_time or None,
        renew_time=record.renew_time or None,
        lease_transitions=record.leader_transitions,
        strategy=record.strategy or None,
        preferred_holder=record.preferred_holder or None,
    )
