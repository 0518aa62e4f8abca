"""A record and the Lease that says it."""

from __future__ import annotations

import msgspec
import pytest

from handloop.apis.coordination_v1 import LeaseSpec
from handloop.controller.runtime.election.config import LeaderElectionRecord
from handloop.controller.runtime.election.lease_lock import record_from_spec, spec_from_record

FULL = LeaderElectionRecord(
    holder_identity="baz",
    lease_duration_seconds=15,
    acquire_time="2026-01-01T00:00:00.000001Z",
    renew_time="2026-01-01T00:00:02.500000Z",
    leader_transitions=3,
)
COORDINATED = msgspec.structs.replace(FULL, strategy="OldestEmulationVersion", preferred_holder="bing")


@pytest.mark.parametrize("record", [FULL, COORDINATED, LeaderElectionRecord()])
def test_a_record_survives_the_lease(record: LeaderElectionRecord) -> None:
    """LE-10: there and back, every field."""
    assert record_from_spec(spec_from_record(record)) == record


def test_a_lease_without_fields_is_an_empty_record() -> None:
    """LE-10: what is missing reads as "", 0 and no time."""
    assert record_from_spec(LeaseSpec()) == LeaderElectionRecord()


def test_an_empty_holder_is_written() -> None:
    """A release has to be seen by others: "" is not left out, nor is a transition count of 0."""
    body = msgspec.json.decode(msgspec.json.encode(spec_from_record(LeaderElectionRecord())))
    assert body == {"holderIdentity": "", "leaseDurationSeconds": 0, "leaseTransitions": 0}


def test_the_fields_of_coordinated_election_are_written_where_there_are_any() -> None:
    """The server refuses a preferred holder without a strategy, so neither is sent empty."""
    assert spec_from_record(FULL).strategy is None
    assert spec_from_record(COORDINATED).preferred_holder == "bing"


@pytest.mark.parametrize(
    "changed",
    [
        msgspec.structs.replace(FULL, renew_time="2026-01-01T00:00:02.500001Z"),
        msgspec.structs.replace(FULL, leader_transitions=4),
        COORDINATED,
    ],
)
def test_every_change_is_seen_in_the_raw_bytes(changed: LeaderElectionRecord) -> None:
    """They are how a candidate knows that the holder lives."""
    assert changed.raw() != FULL.raw()
    assert msgspec.structs.replace(FULL).raw() == FULL.raw()
