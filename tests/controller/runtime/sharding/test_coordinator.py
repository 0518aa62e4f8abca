"""Several replicas that share slots, on virtual time: who may write for what, and for how long nobody may."""

from __future__ import annotations

import random
from collections.abc import Iterator

import msgspec
import pytest
from prometheus_client import CollectorRegistry

from handloop.controller.runtime.election.candidacy import Candidacy
from handloop.controller.runtime.election.leader_election import StopTimeoutError
from handloop.controller.runtime.election.lease_lock import LeaseLock
from handloop.controller.runtime.sharding.members import ShardMismatchError
from handloop.controller.runtime.sharding.shard_metrics import ShardMetrics
from handloop.controller.runtime.sharding.shards import Shards
from handloop_explore.virtual_threads import VirtualClock
from support.checks.captured_logs import captured_logs
from support.rigs.shard_group import (
    LEASE_SECONDS,
    PERIOD,
    SAMPLE_SECONDS,
    TERMS,
    Replica,
    ShardGroup,
    shard_group,
)

SETTLE = Shards(1).settle_seconds
COUNT = 8
SERVED_SECONDS = 5.0
"""After the time of a Lease, a slot whose holder is gone has another."""


@pytest.fixture
def group() -> Iterator[ShardGroup]:
    """Eight slots, and no replica yet."""
    with shard_group(COUNT) as made:
        yield made


def at_rest(group: ShardGroup, names: str) -> None:
    """Start replicas, and wait until each has its part."""
    for name in names:
        group.start(name)
    group.run(5.0)
    assert group.check().keys() == set(range(group.count))


def test_replicas_that_start_together_share_evenly(group: ShardGroup) -> None:
    """At once, without a move; and the log says it in two lines each."""
    with captured_logs() as entries:
        at_rest(group, "abc")
        group.run(2 * SETTLE)
    assert sorted(group.spread().values()) == [2, 3, 3]
    assert group.moves.total() == 0
    told = [entry["event"] for entry in entries if entry["log_level"] != "debug"]
    assert sorted(told) == ["Joining the replicas"] * 3 + ["Members of the shards"] * 3 + ["Slots taken"] * 3


def test_at_rest_little_is_asked_for() -> None:
    """A renewal of the member Lease and a list each retry period; for 16 slots 150 writes a minute."""
    with shard_group(16) as group:
        at_rest(group, "abcd")
        group.run(SETTLE)
        for replica in group.replicas.values():
            replica.requests.clear()
        group.run(600.0)
        for replica in group.replicas.values():
            assert replica.requests["list"] <= 300 + 1
            assert set(replica.requests) == {"update", "list"}
        assert sum(replica.requests["update"] for replica in group.replicas.values()) <= 10 * 150


@pytest.mark.parametrize("killed_after", [0.0, 0.7, 1.9])
def test_a_killed_replicas_slots_are_taken_within_its_lease_and_a_period(
    group: ShardGroup, killed_after: float
) -> None:
    """And no other slot moves."""
    at_rest(group, "abc")
    group.run(SETTLE + killed_after)
    before = group.check()
    group.replicas["a"].kill()
    group.run(LEASE_SECONDS + PERIOD + 0.5)
    after = group.check()
    assert after.keys() == set(range(COUNT))
    assert {slot for slot in after if after[slot] != before[slot]} == {
        slot for slot, holder in before.items() if holder == "a"
    }


@pytest.mark.parametrize("seconds", [11.0, 25.0, 200.0])
def test_a_replica_that_was_suspended_writes_nothing_and_comes_back(
    group: ShardGroup, seconds: float
) -> None:
    """Its fence is closed before it runs again; it has its part after a while."""
    at_rest(group, "ab")
    paused, other = group.replicas.values()
    held = paused.writes
    paused.pause(seconds)
    group.run(10.5)
    assert paused.writes == set()
    group.run(seconds - 10.0)
    assert set(paused.lost_slots) == held
    assert not paused.writes & other.writes
    paused.requests.clear()
    group.run(SETTLE - 5.0)
    assert paused.requests["get"] <= COUNT, "it does not knock for slots that it would only have once settled"
    group.run(15.0)
    assert group.spread() == {"a": 4, "b": 4}


@pytest.mark.parametrize("restarted_after", [3.0, 14.5])
@pytest.mark.parametrize("resumed_after", [14.0, 16.0, 18.5])
def test_whoever_comes_back_keeps_no_slot_from_its_next_holder(
    group: ShardGroup, restarted_after: float, resumed_after: float
) -> None:
    """One is suspended, another killed and started anew: all is served within the lease and 5 s."""
    at_rest(group, "abc")
    group.replicas["a"].pause(resumed_after)
    group.replicas["b"].kill()
    group.run(restarted_after)
    group.start("d").latency = lambda: 0.2
    group.run(LEASE_SECONDS + SERVED_SECONDS - restarted_after)
    for _ in range(2):
        assert group.check().keys() == set(range(COUNT))
        group.run(LEASE_SECONDS)


def test_a_replica_without_a_server_loses_its_slots_and_gets_work_again(group: ShardGroup) -> None:
    """At its renew deadline, before the others may begin; it goes on trying."""
    at_rest(group, "ab")
    cut = group.replicas["a"]
    cut.reaches = False
    with captured_logs() as entries:
        group.run(10.5)
        assert (cut.writes, cut.serving) == (set(), set())
        group.run(10.0)
        assert group.spread() == {"a": 0, "b": 8}
        assert cut.coordinator.statistics().unheld == (), "it cannot know"
        cut.reaches = True
        group.run(SETTLE + 10.0)
    assert group.spread() == {"a": 4, "b": 4}
    told = [entry["event"] for entry in entries if entry["log_level"] in ("warning", "error")]
    assert told == [
        "The Leases of slots and members cannot be read or written",
        "Slots lost",
        "Our member Lease was not renewed in time: giving up all slots, and joining again",
    ]


def test_a_loss_is_told_before_the_work_is_ended(group: ShardGroup) -> None:
    """So that what waits to be sent is cancelled first; and the slot is not served twice at once."""
    at_rest(group, "a")
    replica = group.replicas["a"]
    told: list[bool] = []

    def drain() -> None:
        told.append(bool(replica.lost_slots))
        group.threads.sleep(30.0)

    replica.drain = drain
    replica.reaches = False
    group.run(15.0)
    replica.reaches = True
    group.run(10.0)
    assert told == [True] * COUNT
    assert replica.writes == set(), "the old work is still ending"
    replica.drain = lambda: None
    group.run(30.0)
    assert replica.writes == set(range(COUNT))


def test_clocks_that_differ_by_hours_do_no_harm(group: ShardGroup) -> None:
    """Nobody compares them: a death is seen in time, and no living one is taken for dead."""
    for name, skew in {"a": 0.0, "b": 86_400.0, "c": -7_200.0}.items():
        group.start(name, skew=skew)
    group.run(60.0)
    assert group.moves.total() == 0
    group.replicas["b"].kill()
    group.run(LEASE_SECONDS + PERIOD + 0.5)
    assert len(group.check()) == COUNT


def test_a_rolling_update_moves_each_slot_a_few_times() -> None:
    """Four replicas and a surge of one: once, or 1.6 times in the mean if slots settle between its steps."""
    for step in (3.0, 20.0, 60.0):
        with shard_group(16, seed=int(step)) as group:
            at_rest(group, "abcd")
            group.run(SETTLE)
            for old, new in zip("abcd", "efgh", strict=True):
                group.replicas[old].drain = lambda: group.threads.sleep(0.5)
                group.start(new)
                group.run(step)
                group.replicas[old].stop.set()
                group.run(2.0)
            group.run(2 * SETTLE)
            assert sorted(group.spread().values()) == [4, 4, 4, 4]
            assert max(group.moves.values()) <= (3 if step > SETTLE else 1)
            assert group.moves.total() <= (1.6 if step > SETTLE else 1.0) * 16
            assert max(group.gaps.values()) <= PERIOD + 1.0


def test_a_stop_gives_all_back(group: ShardGroup) -> None:
    """The member Lease goes first, so that the others get ready; each slot follows once it is drained."""
    at_rest(group, "ab")
    leaving = group.replicas["a"]
    leaving.drain = lambda: group.threads.sleep(20.0)
    leaving.stop.set()
    group.run(1.0)
    assert "demo/op-member-a" not in group.api.paths()
    assert leaving.writes, "it is drained under its Lease"
    group.run(20.0)
    assert not leaving.thread.is_alive()
    assert leaving.error is None
    assert group.spread() == {"b": COUNT}
    assert leaving.coordinator.statistics().held == ()


def test_a_stop_does_not_wait_for_a_server_that_hangs(group: ShardGroup) -> None:
    """The work ends as soon as the requests under way have failed: two of half a deadline each."""
    at_rest(group, "a")
    replica = group.replicas["a"]
    replica.reaches = False
    group.run(PERIOD + 0.5)
    replica.stop.set()
    group.run(12.0)
    assert replica.serving == set()
    assert not replica.thread.is_alive()


@pytest.mark.parametrize("stopping", [False, True])
def test_work_that_does_not_end_keeps_its_lease_from_the_others(group: ShardGroup, stopping: bool) -> None:
    """Until it expires; at a stop the error ends the process, at a handover it is told."""
    at_rest(group, "ab")
    stuck = group.replicas["a"]

    def hang() -> None:
        raise StopTimeoutError("worker 3 did not end")

    stuck.drain = hang
    with captured_logs() as entries:
        if stopping:
            stuck.stop.set()
        else:
            group.start("c")
            group.run(SETTLE + 3.0)
        group.run(10.0)
        assert len(group.check()) < COUNT
        group.run(10.0)
        assert len(group.check()) == COUNT
    assert isinstance(stuck.error, StopTimeoutError) == stopping
    events = {entry["event"] for entry in entries if entry["log_level"] == "error"}
    assert events == (set() if stopping else {"The work of a slot did not end in time"})


def test_work_that_fails_ends_the_process(group: ShardGroup) -> None:
    """With its error; its slots go to the others."""
    at_rest(group, "ab")
    broken = group.start("c")
    broken.work = lambda: 1 / 0
    group.run(SETTLE + LEASE_SECONDS + 10.0)
    assert isinstance(broken.error, ZeroDivisionError)
    assert group.spread() == {"a": 4, "b": 4}


def test_work_that_fails_after_its_lease_was_lost_ends_the_process_too(group: ShardGroup) -> None:
    """The loss does not hide it."""
    at_rest(group, "a")
    broken = group.replicas["a"]
    broken.drain = lambda: 1 / 0
    broken.reaches = False
    group.run(13.0)
    assert isinstance(broken.error, ZeroDivisionError)


def test_a_replica_that_cannot_renew_its_membership_gives_its_slots_up(group: ShardGroup) -> None:
    """The others take it for dead, and would wait for its slots for ever."""
    at_rest(group, "ab")
    group.replicas["a"].refused = "op-member-a"
    with captured_logs() as entries:
        group.run(LEASE_SECONDS + PERIOD + 3.0)
    assert group.spread() == {"a": 0, "b": COUNT}
    told = [entry["event"] for entry in entries if entry["log_level"] == "warning"]
    assert told == [
        "The Leases of slots and members cannot be read or written",
        "Our member Lease was not renewed in time: giving up all slots, and joining again",
    ]


@pytest.mark.parametrize("what", ["slot", "member"])
def test_leases_that_are_deleted_by_hand_come_back(group: ShardGroup, what: str) -> None:
    """And no slot moves: the holder notices with its next renewal, and others wait for so long."""
    at_rest(group, "ab")
    group.start("c")
    group.run(SETTLE + 10.0)
    moves = group.moves.total()
    for path in group.api.paths():
        if f"-{what}-" in path:
            group.api.delete(path)
    before = group.check()
    group.run(5.0)
    assert len(group.api.paths()) == COUNT + 3 + 1
    assert group.check() == before
    assert group.moves.total() == moves


def test_a_leader_is_waited_for_and_told(group: ShardGroup) -> None:
    """Also one that comes later: then all slots are given up."""
    at_rest(group, "a")
    replica = group.replicas["a"]
    with captured_logs() as entries:
        group.api.put("demo/op", holderIdentity="leader_1", leaseDurationSeconds=15)
        group.run(PERIOD + 1.0)
        assert (replica.writes, replica.coordinator.statistics().leader) == (set(), "leader_1")
        group.run(LEASE_SECONDS + 5.0)
    assert replica.writes == set(range(COUNT))
    told = [entry["event"] for entry in entries if entry["log_level"] == "warning"]
    assert told == ["A process with leader election is running: waiting until it has stopped"]


def leader_of(group: ShardGroup) -> Candidacy:
    """A process with leader election under the same name."""
    lock = LeaseLock(group.api.client(), namespace="demo", name="op", identity="leader_1")
    metrics = ShardMetrics(CollectorRegistry())
    return Candidacy(TERMS.config(lock), clock=VirtualClock(group.threads), metrics=metrics)


def test_a_leader_begins_when_the_work_of_the_last_replica_has_ended(group: ShardGroup) -> None:
    """However long that takes; and then at once."""
    at_rest(group, "a")
    last, leader = group.replicas["a"], leader_of(group)
    last.drain = lambda: group.threads.sleep(70.0)
    last.stop.set()
    while last.thread.is_alive():
        assert not (leader.try_acquire_or_renew() and last.serving)
        group.run(PERIOD)
    assert leader.try_acquire_or_renew()


@pytest.mark.parametrize("looks", range(32, 41))
def test_a_suspended_replica_writes_nothing_beside_a_leader(group: ShardGroup, looks: int) -> None:
    """Its slots are lost before the Lease that keeps leaders out expires, though that is renewed rarely."""
    at_rest(group, "a")
    replica, leader = group.replicas["a"], leader_of(group)
    for _ in range(looks):
        group.run(SAMPLE_SECONDS)
        assert not leader.try_acquire_or_renew()
    replica.pause(60.0)
    while not leader.try_acquire_or_renew():
        group.run(SAMPLE_SECONDS)
    assert replica.writes == set()


def test_a_replica_that_cannot_keep_leaders_out_does_not_join(group: ShardGroup) -> None:
    """And says so."""
    group.api.put("demo/op", holderIdentity="", leaseDurationSeconds=1)
    replica = group.start("a")
    replica.refused = "/op"
    with captured_logs() as entries:
        group.run(10.0)
    assert replica.served == []
    told = [entry["err"] for entry in entries if entry["log_level"] == "warning"]
    assert len(told) == 1
    assert "Forbidden" in told[0]


def test_a_stranger_in_a_slots_lease_is_respected(group: ShardGroup) -> None:
    """Its holder loses it; no member has the slot, which is counted, until the stranger has had its time."""
    at_rest(group, "a")
    replica = group.replicas["a"]
    group.api.put("demo/op-slot-3-of-8", holderIdentity="stranger", leaseDurationSeconds=30)
    group.run(5.0)
    assert replica.writes == set(range(COUNT)) - {3}
    assert replica.coordinator.statistics().unheld == (3,)
    assert replica.registry.get_sample_value("handloop_shard_slots_unheld") == 1
    group.run(27.0)
    assert replica.writes == set(range(COUNT))


def test_views_that_differ_settle(group: ShardGroup) -> None:
    """One replica does not see another's Lease for a while: never two holders, and an even end."""
    at_rest(group, "abc")
    blind = group.replicas["b"]
    members = blind.coordinator._members
    living = members.living
    members.living = lambda: tuple(set(living()) - {"c_c"})  # type: ignore[method-assign] # it does not see it
    group.run(3 * SETTLE)
    members.living = living  # type: ignore[method-assign] # it sees all again
    group.run(2 * SETTLE)
    assert sorted(group.spread().values()) == [2, 3, 3]


def test_a_replica_with_other_shards_is_refused(group: ShardGroup) -> None:
    """In words that say what to do; those that run go on undisturbed."""
    at_rest(group, "ab")
    before = group.check()
    other = group.start("c", shards=Shards(COUNT, "uid"))
    group.run(10.0)
    assert isinstance(other.error, ShardMismatchError)
    assert other.served == []
    assert str(other.error).endswith("strategy: Recreate in the Deployment")
    assert "has 8 slots by namespace, but this one has 8 slots by uid" in str(other.error)
    assert group.check() == before
    assert "demo/op-member-c" not in group.api.paths()


@pytest.mark.parametrize("later", [0.0, 0.1, 0.9, 1.9])
def test_of_two_that_start_at_once_one_is_refused(group: ShardGroup, later: float) -> None:
    """However close: exactly one works."""
    first = group.start("b", shards=Shards(4))
    group.threads.run_for(later)
    second = group.start("a")
    group.run(20.0)
    assert [bool(first.served), bool(second.served)].count(True) == 1
    assert [type(first.error), type(second.error)].count(ShardMismatchError) == 1


def test_other_shards_may_follow_once_all_are_gone(group: ShardGroup) -> None:
    """Killed ones have their time; what they left is deleted in the end."""
    at_rest(group, "a")
    group.replicas["a"].kill()
    other = group.start("b", shards=Shards(4))
    group.run(14.0)
    assert other.served == []
    group.run(5.0)
    assert sorted(other.served) == [0, 1, 2, 3]
    group.run(200.0)
    names = [f"demo/op-slot-{slot}-of-4" for slot in range(4)]
    assert group.api.paths() == ["demo/op", "demo/op-member-b", *names]
    assert other.error is None


def test_a_slow_server_starves_no_slot(group: ShardGroup) -> None:
    """Each request takes three seconds, of a deadline of ten: the slots are renewed side by side."""
    at_rest(group, "a")
    replica = group.replicas["a"]
    replica.latency = lambda: 1.5
    group.run(120.0)
    assert (replica.lost_slots, replica.writes) == ([], set(range(COUNT)))


def test_the_statistics_are_json(group: ShardGroup) -> None:
    """Who has what, and since when."""
    at_rest(group, "ab")
    group.run(SETTLE)
    shown = msgspec.to_builtins(group.replicas["a"].coordinator.statistics())
    assert (shown["members"], shown["count"], shown["settled"]) == (("a_a", "b_b"), COUNT, True)
    assert [slot["slot"] for slot in shown["slots"] if slot["holder"] == "a_a"] == list(shown["held"])
    assert (shown["taken"], shown["given_up"], shown["lost"]) == (len(shown["held"]), 0, 0)
    assert all(later > 1e9 for later in (slot["since"] for slot in shown["slots"]))


def play(seed: int, count: int = 6, seconds: float = 150.0) -> ShardGroup:
    """Joins, stops, kills, pauses, partitions and slow answers at any moment; then rest."""
    chance = random.Random(seed)
    with shard_group(count, seed=seed) as group:
        names = iter(f"r{number}" for number in range(100))

        def join() -> None:
            replica = group.start(next(names), skew=chance.choice([0.0, 86_400.0, -3_600.0]))
            replica.drain = lambda: group.threads.sleep(chance.choice([0.0, 0.5, 12.0]))
            replica.latency = lambda: chance.expovariate(20.0)

        def disturb(replica: Replica) -> None:
            what = chance.randrange(5)
            if what == 0:
                replica.kill()
            elif what == 1:
                replica.stop.set()
            elif what == 2:
                replica.pause(chance.choice([1.0, 9.0, 11.0, 16.0, 40.0]))
            elif what == 3:
                replica.latency = lambda: chance.expovariate(chance.choice([0.3, 1.0]))
            else:
                replica.reaches = not replica.reaches

        for _ in range(chance.randint(2, 3)):
            join()
        while group.threads.now < seconds:
            group.run(chance.choice([0.25, 1.0, 5.0, 14.0]))
            living = group.living()
            if len(living) < 2 or (len(living) < 4 and chance.random() < 0.3):
                join()
            else:
                disturb(chance.choice(living))
        for replica in group.living():
            replica.reaches, replica.latency = True, lambda: 0.005
        group.gaps.clear()
        group.count_gaps_anew()
        group.run(3 * SETTLE + 60.0)
        assert max(group.gaps.values(), default=0.0) <= LEASE_SECONDS + SERVED_SECONDS + SAMPLE_SECONDS
        living = [replica for replica in group.living() if not replica.stop.is_set()]
        assert [replica.error for replica in group.replicas.values() if replica.error is not None] == []
        assert not living or group.check().keys() == set(range(count))
        sizes = [len(replica.writes) for replica in living]
        assert not sizes or max(sizes) - min(sizes) <= 1
        return group


@pytest.mark.parametrize("seed", range(6))
def test_never_do_two_write_for_a_slot(seed: int) -> None:
    """Whatever happens, and in the end every slot has a holder, and the shares are even."""
    play(seed)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(6, 206))
def test_never_do_two_write_for_a_slot_at_length(seed: int) -> None:
    """As above."""
    play(seed)


@pytest.mark.parametrize("how", ["stop", "kill", "pause"])
@pytest.mark.parametrize("seed", [None, 1, 2])
def test_nobody_acts_before_its_caches_have_what_was_written_before(how: str, seed: int | None) -> None:
    """Each replica changes its objects all the time, and the caches of the server are ten seconds behind."""
    with shard_group(COUNT, seed=seed, lag_seconds=10.0) as group:
        assert group.server is not None
        for number in range(16):
            group.server.put(f"n{number}", namespace=f"ns-{number}")
        at_rest(group, "abc")
        group.run(SETTLE)
        first, *others = group.replicas.values()
        leaving, before = first.writes, [one.served[:] for one in others]
        assert leaving
        if how == "stop":
            first.stop.set()
        elif how == "kill":
            first.kill()
        else:
            first.pause(30.0)
        group.run(LEASE_SECONDS + PERIOD + SERVED_SECONDS)
        came = {slot for one, had in zip(others, before, strict=True) for slot in one.served[len(had) :]}
        assert came == leaving
        group.run(SETTLE + 10.0)
        for replica in others:
            assert replica.informed is not None
            assert replica.informed.acted > len(came)
        assert [one.informed.missed for one in group.replicas.values() if one.informed] == [[], [], []]
