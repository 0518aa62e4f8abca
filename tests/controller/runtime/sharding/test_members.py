"""What one member knows of the others, turn by turn. Whole groups are in test_coordinator.py."""

from __future__ import annotations

from dataclasses import replace

import pytest
from prometheus_client import CollectorRegistry

from handloop.client.errors import ClientError
from handloop.controller.runtime.election.candidacy import Candidacy
from handloop.controller.runtime.election.election import LeaseTerms
from handloop.controller.runtime.election.lease_lock import LeaseLock
from handloop.controller.runtime.sharding.members import Members, ShardMismatchError
from handloop.controller.runtime.sharding.shard_metrics import ShardMetrics
from handloop.controller.runtime.sharding.shards import Shards
from handloop.testing.fake_clock import FakeClock
from support.rigs.election import LeaseAPI, failing, no_answer, refusal

TERMS = LeaseTerms(namespace="demo", name="op")
LABELS = {"handloop.dev/shards": "op", "handloop.dev/slots": "2-namespace"}


class Rig:
    """Members on one server, with one clock."""

    def __init__(self) -> None:
        self.api = LeaseAPI()
        self.clock = FakeClock(start=1000.0)
        self.terms = TERMS

    def member(self, name: str, shards: Shards = Shards(2)) -> Members:  # noqa: B008 - frozen
        """A member that has not begun."""
        return Members(
            shards,
            self.terms,
            self.api.client(),
            f"{name}_{name}",
            metrics=ShardMetrics(CollectorRegistry()),
            clock=self.clock,
        )

    def joined(self, name: str) -> Members:
        """A member after its first turns."""
        member = self.member(name)
        self.turns(2, member)
        assert member.joined
        return member

    def turns(self, count: int, *members: Members) -> None:
        """Several turns of each, a retry period apart."""
        for _ in range(count):
            self.clock.advance(2.0)
            for member in members:
                member.turn()


@pytest.fixture
def rig() -> Rig:
    """No Lease yet."""
    return Rig()


def test_a_member_lease_says_who_and_how_many(rig: Rig) -> None:
    """By its labels, which the list asks for; it joins as soon as it may."""
    member = rig.member("a")
    member.turn()
    assert (member.joined, member.next_change()) == (False, rig.clock.now() + 2.0)
    rig.turns(1, member)
    assert member.next_change() == rig.clock.now() + 15.0
    lease = rig.api.lease("demo/op-member-a")
    assert lease["metadata"]["labels"] == {**LABELS, "handloop.dev/marks-slots": "true"}
    assert (lease["spec"]["holderIdentity"], lease["spec"]["leaseDurationSeconds"]) == ("a_a", 15)
    leaders = ["get", "create"]
    assert rig.api.ops == ["delete", "get", "create", "list", *leaders, "update", "list"]


def test_a_member_lives_while_its_lease_changes(rig: Rig) -> None:
    """Its own duration from when we saw it change; however wrong the times in it are."""
    first, second = rig.joined("a"), rig.joined("b")
    rig.turns(2, second, first)
    assert first.living() == ("a_a", "b_b")
    rig.turns(7, first)
    assert first.next_change() == rig.clock.now() + 1.0
    assert first.living() == ("a_a", "b_b")
    rig.turns(1, first)
    assert first.living() == ("a_a",)
    second.leave()
    rig.turns(1, first)
    assert rig.api.paths() == ["demo/op", "demo/op-member-a"]


def test_a_renewal_that_comes_too_late_is_a_new_beginning(rig: Rig) -> None:
    """Others may have taken the member for dead, and joined with other slots, though its answer says yes."""
    member = rig.joined("a")

    def be_slow(verb: str) -> None:
        rig.api.before = lambda _verb: None
        rig.clock.advance(15.0 if verb == "update" else 0.0)

    rig.api.before = be_slow
    rig.turns(1, member)
    assert not member.joined
    rig.turns(2, member)
    assert member.joined


def test_a_lease_that_never_changed_counts_for_a_few_periods_only(rig: Rig) -> None:
    """A replica that starts after a crash of all does not keep slots for the dead."""
    rig.joined("dead")
    member = rig.joined("a")
    rig.turns(1, member)
    assert member.living() == ("a_a", "dead_dead")
    rig.turns(1, member)
    assert member.living() == ("a_a",)


def test_the_oldest_comes_first(rig: Rig) -> None:
    """By the server's times, which are spelled alike, then by name; a member that is not listed is new."""
    first, second = rig.joined("b"), rig.joined("a")
    for path, created in (("a", "2026-01-01T00:00:01Z"), ("b", "2026-01-01T00:00:00Z")):
        rig.api._leases[f"demo/op-member-{path}"]["metadata"]["creationTimestamp"] = created
    rig.turns(1, first, second)
    assert second.living() == ("b_b", "a_a")


def test_holders_are_those_of_leases_that_have_not_expired(rig: Rig) -> None:
    """A slot without a Lease, a released one and an expired one have none."""
    member = rig.joined("a")
    rig.api.put("demo/op-slot-0-of-2", holderIdentity="b_b", leaseDurationSeconds=3)
    rig.api.put("demo/op-slot-1-of-2", holderIdentity="", leaseDurationSeconds=1)
    for slot in range(2):
        rig.api.label(f"demo/op-slot-{slot}-of-2", LABELS)
    rig.turns(1, member)
    assert (member.holders(), sorted(member.slot_leases())) == ({0: "b_b"}, [0, 1])
    rig.clock.advance(3.0)
    assert member.holders() == {}


def test_a_lease_that_nobody_needs_is_deleted_in_the_end(rig: Rig) -> None:
    """A dead member's, and a slot's of another count; ours stay. Who is quicker is right."""
    _, member = rig.joined("dead"), rig.joined("a")
    for name in ("op-slot-0-of-9", "op-slot-0-of-2"):
        rig.api.put(f"demo/{name}", holderIdentity="", leaseDurationSeconds=1)
        rig.api.label(f"demo/{name}", LABELS)
    rig.turns(74, member)
    assert len(rig.api.paths()) == 5
    rig.api.before = failing(1, "delete", refusal(409, "Conflict"))
    rig.turns(10, member)
    assert rig.api.paths() == ["demo/op", "demo/op-member-a", "demo/op-slot-0-of-2"]


def test_a_member_that_the_others_took_for_dead_joins_anew(rig: Rig) -> None:
    """As the youngest: another group may have begun meanwhile."""
    member = rig.joined("a")
    rig.api.before = no_answer
    for _ in range(8):
        rig.clock.advance(2.0)
        with pytest.raises(ClientError):
            member.turn()
    assert not member.joined
    rig.api.before = lambda _verb: None
    rig.api.ops.clear()
    rig.turns(1, member)
    assert rig.api.ops == ["delete", "get", "create", "list", "update"]
    assert not member.joined
    rig.turns(1, member)
    assert member.joined


def test_a_member_is_dead_after_the_whole_seconds_that_others_wait(rig: Rig) -> None:
    """A Lease has no fractions of a second: with 15.9, others with other slots may join after 15."""
    rig.terms = replace(TERMS, lease_duration_seconds=15.9)
    member, other = rig.joined("a"), rig.member("b", Shards(3))
    other.turn()
    rig.turns(7, other)
    rig.clock.advance(1.0)
    other.turn()
    assert other.joined
    rig.clock.advance(0.5)
    member.turn()
    assert not member.joined


def test_a_member_lease_that_somebody_deletes_is_made_again(rig: Rig) -> None:
    """It is still a member."""
    member = rig.joined("a")
    rig.api.delete("demo/op-member-a")
    rig.turns(1, member)
    assert rig.api.paths() == ["demo/op", "demo/op-member-a"]
    assert member.joined


def test_one_with_other_settings_is_refused_once_another_shows_that_it_lives(rig: Rig) -> None:
    """The one that runs goes on."""
    running, other = rig.joined("a"), rig.member("b", Shards(2, "uid"))
    other.turn()
    rig.turns(1, running)
    with pytest.raises(ShardMismatchError, match="a_a has 2 slots by namespace, but this one has 2 slots"):
        rig.turns(1, other)
    assert running.joined


def test_the_lease_of_a_dead_one_with_other_settings_has_its_time(rig: Rig) -> None:
    """Then the new settings hold."""
    rig.joined("a")
    other = rig.member("b", Shards(2, "uid"))
    other.turn()
    rig.turns(7, other)
    early = other.joined
    rig.turns(1, other)
    assert (early, other.joined) == (False, True)
    assert other.living() == ("b_b",)


def test_a_slot_that_is_held_by_others_shards_is_a_sign_of_life_too(rig: Rig) -> None:
    """Even if their member Leases were deleted."""
    member, path = rig.member("b", Shards(2, "uid")), "demo/op-slot-0-of-2"
    for second in range(2):
        rig.api.put(path, holderIdentity="a_a", leaseDurationSeconds=15, renewTime=str(second))
        rig.api.label(path, LABELS)
        member.turn()
    rig.clock.advance(2.0)
    with pytest.raises(ShardMismatchError, match="a_a has 2 slots by namespace"):
        member.turn()


def test_a_leader_is_waited_for(rig: Rig) -> None:
    """While its Lease changes, and until it has expired; then the members hold that Lease together."""
    member = rig.member("a")
    for second in range(10):
        rig.api.put("demo/op", holderIdentity="leader_1", leaseDurationSeconds=15, renewTime=str(second))
        rig.turns(1, member)
    rig.turns(7, member)
    assert (member.joined, member.leader) == (False, "leader_1")
    rig.turns(1, member)
    assert (member.leader, member.living()) == ("", ("a_a",))
    other = rig.joined("b")
    rig.turns(20, member, other)
    assert [each.joined for each in (member, other)] == [True, True]


def leader_of(rig: Rig) -> Candidacy:
    """A process with leader election under the same name."""
    lock = LeaseLock(rig.api.client(), namespace="demo", name="op", identity="leader_1")
    return Candidacy(TERMS.config(lock), clock=rig.clock, metrics=ShardMetrics(CollectorRegistry()))


def test_no_leader_begins_while_a_member_lives_or_its_work_goes_on(rig: Rig) -> None:
    """The Lease of leader election is renewed by whoever is there, and released after the last work."""
    first, second = rig.joined("a"), rig.joined("b")
    leader = leader_of(rig)
    rig.turns(3, first, second)
    for _ in range(30):
        rig.turns(1, second)
        assert not leader.try_acquire_or_renew()
    assert second.living() == ("b_b",)
    second.leave()
    for _ in range(30):
        rig.clock.advance(2.0)
        second.work_goes_on()
        assert not leader.try_acquire_or_renew()
    rig.clock.advance(0.1)
    second.work_has_ended()
    assert leader.try_acquire_or_renew()


def test_of_two_that_leave_the_first_to_end_lets_no_leader_in(rig: Rig) -> None:
    """The other still has a slot; a slot that was left to expire counts, too."""
    first, second = rig.joined("a"), rig.joined("b")
    leader = leader_of(rig)
    rig.api.put("demo/op-slot-0-of-2", holderIdentity="b_b", leaseDurationSeconds=15)
    rig.api.label("demo/op-slot-0-of-2", LABELS)
    for member in (first, second):
        member.leave()
        member.work_has_ended()
    assert not leader.try_acquire_or_renew()
    rig.api.put("demo/op-slot-0-of-2", holderIdentity="", leaseDurationSeconds=1)
    second.work_has_ended()
    assert leader.try_acquire_or_renew()


def test_leaders_are_kept_out_by_who_can_list_no_leases(rig: Rig) -> None:
    """Electors may go on to renew the Leases of slots."""
    member, leader = rig.joined("a"), leader_of(rig)
    rig.api.before = failing(30, "list", refusal(403, "Forbidden"))
    for _ in range(30):
        rig.clock.advance(2.0)
        with pytest.raises(ClientError):
            member.turn()
        assert not leader.try_acquire_or_renew()


def test_members_yield_to_a_leader_that_has_the_lease_all_the_same(rig: Rig) -> None:
    """Somebody has written it by hand, or none of them had a server for long."""
    member = rig.joined("a")
    rig.api.put("demo/op", holderIdentity="leader_1", leaseDurationSeconds=15)
    rig.turns(1, member)
    assert (member.joined, member.leader) == (False, "leader_1")
