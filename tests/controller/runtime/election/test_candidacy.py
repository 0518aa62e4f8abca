"""The steps of an election, against client-go's scenarios."""

from __future__ import annotations

from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from handloop.controller.runtime.election.candidacy import Candidacy, ElectionStatistics
from handloop.controller.runtime.election.config import LeaderElectionConfig
from handloop.controller.runtime.election.election_metrics import LeaderElectionMetrics
from handloop.controller.runtime.election.lease_lock import LeaseLock
from handloop.controller.runtime.serving.health import Well
from handloop.testing.fake_clock import FakeClock
from support.checks.captured_logs import captured_logs
from support.rigs.election import LeaseAPI, failing, refusal

PATH = "demo/foo"
BING = {"holderIdentity": "bing", "leaseDurationSeconds": 3, "leaseTransitions": 0}


class Rig:
    """A lease, a clock and candidates for it."""

    def __init__(self) -> None:
        self.api = LeaseAPI()
        self.clock = FakeClock(start=1000.0, moves_itself=True)
        self.registry = CollectorRegistry(auto_describe=True)
        self.metrics = LeaderElectionMetrics(self.registry)

    def candidate(self, identity: str = "baz", **durations: Any) -> Candidacy:
        """A candidate with client-go's usual test durations."""
        lock = LeaseLock(self.api.client(), namespace="demo", name="foo", identity=identity)
        rhythm = {"lease_duration_seconds": 10.0, "renew_deadline_seconds": 5.0, "retry_period_seconds": 2.0}
        config = LeaderElectionConfig(lock, **{**rhythm, **durations})
        return Candidacy(config, clock=self.clock, metrics=self.metrics)

    def leader(self) -> Candidacy:
        """A candidate that has taken the lease."""
        candidate = self.candidate()
        assert candidate.try_acquire_or_renew()
        return candidate

    def held(self) -> tuple[str, int]:
        """Holder and transitions, as the server has them."""
        spec = self.api.spec(PATH)
        return spec["holderIdentity"], spec["leaseTransitions"]


@pytest.fixture
def rig() -> Rig:
    """No lease yet."""
    return Rig()


def test_a_lease_is_taken_after_it_was_seen_unchanged_for_its_duration(rig: Rig) -> None:
    """Not at the first sight, however old its times are; the holder's own duration counts."""
    rig.api.put(PATH, **BING, renewTime="2001-01-01T00:00:00.000000Z")
    candidate = rig.candidate()
    assert not candidate.try_acquire_or_renew()
    rig.clock.advance(3.0)
    assert candidate.try_acquire_or_renew()
    assert rig.api.ops == ["get", "get", "update"]
    assert rig.held() == ("baz", 1)


def test_a_renewal_by_the_holder_starts_the_wait_again(rig: Rig) -> None:
    """A change of one byte is a sign of life."""
    candidate = rig.candidate()
    for renewed_at in ("2023-01-01T00:00:00.000000Z", "2023-01-01T00:00:00.000001Z"):
        rig.api.put(PATH, **BING, renewTime=renewed_at)
        assert not candidate.try_acquire_or_renew()
        rig.clock.advance(2.9)
    assert not candidate.try_acquire_or_renew()
    rig.clock.advance(0.1)
    assert candidate.try_acquire_or_renew()


def test_a_lease_without_fields_is_free(rig: Rig) -> None:
    """Missing fields read as no holder, no duration and no transition."""
    rig.api.put(PATH)
    candidate = rig.candidate()
    candidate.observe(rig.api.client().get("foo", namespace="demo"))
    assert candidate.seems_free()
    assert (candidate.get_leader(), candidate.statistics().expires_in_seconds) == ("", 0.0)
    assert candidate.try_acquire_or_renew()
    assert rig.held() == ("baz", 1)


def test_our_own_lease_is_renewed_after_a_restart(rig: Rig) -> None:
    """The same identity goes on with the same term, through the slow path, which is counted."""
    rig.api.put(
        PATH,
        holderIdentity="baz",
        leaseDurationSeconds=10,
        leaseTransitions=0,
        acquireTime="2023-01-01T00:00:00.000000Z",
    )
    assert rig.candidate().try_acquire_or_renew()
    assert rig.held() == ("baz", 0)
    assert rig.api.spec(PATH)["acquireTime"] == "2023-01-01T00:00:00.000000Z"
    assert rig.registry.get_sample_value("leader_election_slowpath_total", {"name": "foo"}) == 1


def test_a_release_clears_the_holder(rig: Rig) -> None:
    """Get then update; holder "", a duration of 1 s, transitions as they were."""
    candidate = rig.leader()
    rig.api.ops.clear()
    assert candidate.release()
    assert rig.api.ops == ["get", "update"]
    assert rig.held() == ("", 0)
    assert rig.api.spec(PATH)["leaseDurationSeconds"] == 1
    assert candidate.get_leader() == ""


def test_a_release_is_repeated_after_a_conflict(rig: Rig) -> None:
    """From the get."""
    candidate = rig.leader()
    rig.api.ops.clear()
    rig.api.before = failing(1, "update", refusal(409, "Conflict"))
    assert candidate.release()
    assert rig.api.ops == ["get", "update", "get", "update"]
    assert rig.held() == ("", 0)


@pytest.mark.parametrize("on", ["get", "update"])
def test_a_release_gives_up_on_other_errors(rig: Rig, on: str) -> None:
    """The lease then simply expires."""
    candidate = rig.leader()
    rig.api.before = failing(1, on, refusal(500, "InternalError"))
    assert not candidate.release()
    assert rig.held() == ("baz", 0)


def test_a_release_whose_conflicts_never_end_is_given_up(rig: Rig) -> None:
    """At most the renew deadline is spent on it, with a pause after each try."""
    candidate = rig.leader()
    rig.api.before = lambda verb: refusal(409, "Conflict") if verb == "update" else None
    rig.api.ops.clear()
    begun_at = rig.clock.now()
    assert not candidate.release()
    assert rig.clock.now() - begun_at <= 5.5
    assert rig.api.ops == ["get", "update"] * 10


def test_a_lease_that_another_took_is_not_cleared(rig: Rig) -> None:
    """We think it is ours, the get shows otherwise; nor is it renewed as ours after that."""
    candidate = rig.leader()
    rig.api.put(PATH, **BING)
    assert candidate.release()
    assert not candidate.try_acquire_or_renew()
    assert rig.held() == ("bing", 0)


def test_a_renewal_keeps_when_the_term_began(rig: Rig) -> None:
    """The acquireTime stays, renewTime moves, both to the microsecond."""
    candidate = rig.leader()
    begun = rig.api.spec(PATH)["acquireTime"]
    rig.clock.advance(2.000001)
    candidate.try_acquire_or_renew()
    spec = rig.api.spec(PATH)
    assert (spec["acquireTime"], begun) == ("2023-11-14T22:13:20.000000Z",) * 2
    assert spec["renewTime"] == "2023-11-14T22:13:22.000001Z"


def test_a_conflict_on_the_fast_path_falls_back_to_the_slow_one(rig: Rig) -> None:
    """Get, create, update, update (conflict), get, update, update."""
    candidate = rig.leader()
    candidate.try_acquire_or_renew()
    rig.api.before = failing(1, "update", refusal(409, "Conflict"))
    assert candidate.try_acquire_or_renew()
    assert candidate.try_acquire_or_renew()
    assert rig.api.ops == ["get", "create", "update", "update", "get", "update", "update"]
    assert rig.registry.get_sample_value("leader_election_slowpath_total", {"name": "foo"}) == 1
    assert rig.held() == ("baz", 0)


def test_an_expired_lease_of_ours_is_looked_at_first(rig: Rig) -> None:
    """Another may have taken it meanwhile, so there is no fast path."""
    candidate = rig.leader()
    rig.clock.advance(10.0)
    assert candidate.try_acquire_or_renew()
    assert rig.api.ops == ["get", "create", "get", "update"]
    assert rig.registry.get_sample_value("leader_election_slowpath_total", {"name": "foo"}) == 1


def test_a_lease_that_was_deleted_is_made_again(rig: Rig) -> None:
    """The leader goes on."""
    candidate = rig.leader()
    rig.api.delete(PATH)
    assert candidate.try_acquire_or_renew()
    assert rig.api.ops == ["get", "create", "update", "get", "create"]
    assert rig.held() == ("baz", 0)


def test_a_lease_that_was_emptied_is_taken_again(rig: Rig) -> None:
    """As a new term, since another might have led in between."""
    candidate = rig.leader()
    rig.api.put(PATH, holderIdentity="", leaseDurationSeconds=10, leaseTransitions=4)
    assert candidate.try_acquire_or_renew()
    assert rig.held() == ("baz", 5)


@pytest.mark.parametrize(
    "spec",
    [
        None,
        {},
        {"holderIdentity": "", "leaseDurationSeconds": 3, "renewTime": "2023-01-01T00:00:00.000000Z"},
        {"holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": "2022-01-01T00:00:00.000000Z"},
        {"holderIdentity": "baz", "leaseDurationSeconds": 3, "renewTime": "2023-01-01T00:00:01.000000Z"},
    ],
    ids=["deleted", "without fields", "emptied", "an old release put back", "given to us by hand"],
)
def test_what_a_user_does_to_a_lease_frees_it_no_sooner(rig: Rig, spec: dict[str, Any] | None) -> None:
    """Its holder may write until it notices, so it has the time that it was seen to have."""
    rig.api.put(PATH, **BING, renewTime="2023-01-01T00:00:00.000000Z")
    candidate = rig.candidate()
    assert not candidate.try_acquire_or_renew()
    rig.clock.advance(1.0)
    if spec is None:
        rig.api.delete(PATH)
    else:
        rig.api.put(PATH, **spec)
    assert not candidate.try_acquire_or_renew()
    assert not candidate.seems_free()
    assert candidate.statistics().expires_in_seconds >= 2.0
    rig.clock.advance(2.0)
    assert candidate.seems_free()
    assert candidate.try_acquire_or_renew()


def test_a_lease_that_was_given_to_another_is_lost(rig: Rig) -> None:
    """Its new holder is respected for its whole duration."""
    candidate = rig.leader()
    candidate.start_leading()
    rig.api.put(PATH, **BING)
    assert not candidate.try_acquire_or_renew()
    assert candidate.held_by_another()
    assert candidate.seconds_to_write() == 0
    assert rig.held() == ("bing", 0)


def test_of_two_that_find_it_free_one_wins(rig: Rig) -> None:
    """The resource version decides; the loser knows nothing wrong."""
    rig.api.put(PATH)
    first, second = rig.candidate(), rig.candidate("bing")

    def overtake(verb: str) -> None:
        if verb == "update":
            rig.api.before = lambda _verb: None
            assert second.try_acquire_or_renew()

    rig.api.before = overtake
    assert not first.try_acquire_or_renew()
    assert rig.held() == ("bing", 1)
    assert not first.is_leader()
    assert first.seconds_to_write() == 0


@pytest.mark.parametrize(
    ("on", "answer", "level"),
    [
        ("create", refusal(409, "AlreadyExists"), "debug"),
        ("update", refusal(409, "Conflict"), "debug"),
        ("update", refusal(403, "Forbidden"), "warning"),
    ],
)
def test_who_loses_a_race_for_a_free_lease_does_not_complain(
    rig: Rig, on: str, answer: Any, level: str
) -> None:
    """Two replicas that start together: one of them wins, and nothing is wrong; a refusal is."""
    if on == "update":
        rig.api.put(PATH)
    rig.api.before = failing(1, on, answer)
    with captured_logs() as entries:
        assert not rig.candidate().try_acquire_or_renew()
    failures = [entry for entry in entries if entry["event"] == "Request for the lease failed"]
    assert [entry["log_level"] for entry in failures] == [level]


@pytest.mark.parametrize("on", ["get", "create"])
def test_an_error_is_no_lease(rig: Rig, on: str) -> None:
    """The statistics show it, and the next try succeeds."""
    rig.api.before = failing(1, on, refusal(500, "InternalError"))
    candidate = rig.candidate()
    assert not candidate.try_acquire_or_renew()
    assert "InternalError" in candidate.statistics().last_error
    assert candidate.try_acquire_or_renew()
    assert candidate.statistics().last_error == ""


def test_a_duration_below_a_second_is_refused(rig: Rig) -> None:
    """900 ms are written as 0 s, so others take over at once."""
    first = rig.candidate(lease_duration_seconds=0.9, renew_deadline_seconds=0.5, retry_period_seconds=0.1)
    assert first.try_acquire_or_renew()
    assert rig.api.spec(PATH)["leaseDurationSeconds"] == 0
    assert rig.candidate("bing").try_acquire_or_renew()
    assert rig.held() == ("bing", 1)


@pytest.mark.parametrize(
    ("identity", "age", "reason"),
    [
        ("baz", 3600.0, "failed election to renew leadership on lease foo"),
        ("bing", 3600.0, None),
        ("baz", 0.0, None),
        ("baz", 61.0, None),
        ("baz", 80.0, None),
        ("baz", 80.1, "failed election to renew leadership on lease foo"),
    ],
)
def test_a_leader_that_outlives_its_lease_is_unhealthy(
    rig: Rig, identity: str, age: float, reason: str | None
) -> None:
    """An hour past, another's, fresh, and 1 s past a lease of a minute, with a tolerance of 20 s."""
    rig.api.put(PATH, holderIdentity=identity, leaseDurationSeconds=60)
    candidate = rig.candidate(lease_duration_seconds=60.0)
    candidate.try_acquire_or_renew()
    rig.clock.advance(age)
    assert candidate.check(20.0) == reason


def test_writes_are_allowed_within_the_renew_deadline_only(rig: Rig) -> None:
    """From before the renewal was sent, and not from when its answer came."""
    candidate = rig.candidate()
    assert candidate.seconds_to_write() == 0

    def slow(_verb: str) -> None:
        rig.clock.advance(1.0)

    rig.api.before = slow
    candidate.try_acquire_or_renew()  # get and create: 2 s
    assert candidate.seconds_to_write() == 0
    candidate.start_leading()
    assert candidate.seconds_to_write() == pytest.approx(3.0)
    rig.clock.advance(2.9)
    assert candidate.seconds_to_write() > 0
    rig.clock.advance(0.1)
    assert candidate.seconds_to_write() == 0
    rig.api.before = lambda _verb: None
    candidate.try_acquire_or_renew()
    assert candidate.seconds_to_write() > 0
    candidate.stop_leading()
    assert candidate.seconds_to_write() == 0


def test_a_request_has_half_the_renew_deadline(rig: Rig) -> None:
    """A slow lease is asked again within the deadline, and never beyond the end of a step."""
    candidate = rig.candidate(renew_deadline_seconds=8.0)
    candidate.try_acquire_or_renew()
    candidate.try_acquire_or_renew(deadline=rig.clock.now() + 1.5)
    assert rig.api.timeouts == [4.0, 4.0, 1.5]
    assert not candidate.try_acquire_or_renew(deadline=rig.clock.now())
    assert rig.api.ops == ["get", "create", "update"]


def test_a_request_has_a_second_at_least(rig: Rig) -> None:
    """As client-go's clients for leases."""
    rig.candidate(renew_deadline_seconds=1.5, retry_period_seconds=0.5).try_acquire_or_renew()
    assert rig.api.timeouts == [1.0, 1.0]


def test_the_statistics_name_the_missing_informers(rig: Rig) -> None:
    """E11: holder, how long ago it renewed, and when it expires, by our clock."""
    rig.api.put(PATH, **BING)
    candidate = rig.candidate()
    assert candidate.statistics().renewed_seconds_ago is None
    candidate.try_acquire_or_renew()
    rig.clock.advance(1.0)
    seen = candidate.statistics()
    assert (seen.lease, seen.identity, seen.holder, seen.leading) == (PATH, "baz", "bing", False)
    assert (seen.renewed_seconds_ago, seen.expires_in_seconds) == (1.0, 2.0)
    rig.clock.advance(9.0)
    assert candidate.statistics().expires_in_seconds == 0.0


def test_a_hand_over_is_timed(rig: Rig) -> None:
    """From the last sign of life of the one before us."""
    rig.api.put(PATH, **BING)
    candidate = rig.candidate()
    candidate.try_acquire_or_renew()
    rig.clock.advance(4.0)
    candidate.try_acquire_or_renew()
    assert rig.registry.get_sample_value("handloop_lease_handover_seconds_sum", {"name": "foo"}) == 4.0
    assert rig.registry.get_sample_value("handloop_lease_handover_seconds_count", {"name": "foo"}) == 1


@pytest.mark.parametrize(
    ("holder", "leading", "words"),
    [
        ("pod-b", True, "leader"),
        ("pod-a", False, "standby, holder=pod-a"),
        ("", False, "standby, holder=none"),
    ],
)
def test_a_standby_is_ready_and_reports_it(holder: str, leading: bool, words: str) -> None:
    """Else a rollout would wait for ever, and people would think that it hangs."""
    assert ElectionStatistics("demo/foo", "pod-b", holder, leading, 1.0, 14.0, "").state() == Well(words)


def test_a_list_tells_a_candidate_what_it_has_not_read(rig: Rig) -> None:
    """A dead holder's time began with the list; and a lease of ours can be renewed by what was listed."""
    rig.api.put(PATH, **BING, renewTime="2023-01-01T00:00:00.000000Z")
    candidate = rig.candidate()
    candidate.observe(rig.api.client().get("foo", namespace="demo"))
    rig.clock.advance(3.0)
    assert candidate.try_acquire_or_renew()
    assert rig.held() == ("baz", 1)
    again = rig.candidate()
    again.observe(rig.api.client().get("foo", namespace="demo"))
    rig.api.ops.clear()
    assert again.try_acquire_or_renew()
    assert rig.api.ops == ["update"]


def test_a_lease_that_was_listed_and_then_deleted_has_its_time(rig: Rig) -> None:
    """Its holder may write until it notices."""
    rig.api.put(PATH, **BING)
    candidate = rig.candidate()
    candidate.observe(rig.api.client().get("foo", namespace="demo"))
    rig.api.delete(PATH)
    assert not candidate.try_acquire_or_renew()
    rig.clock.advance(3.0)
    assert candidate.try_acquire_or_renew()
