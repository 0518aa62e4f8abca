"""A lease that the control plane gives away, against client-go's scenario: step by step, and whole terms."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from handloop.controller.runtime.election.config import LeaderElection
from handloop.controller.runtime.election.coordinated_election import CoordinatedCandidacy
from handloop.controller.runtime.election.election_metrics import LeaderElectionMetrics
from handloop.controller.runtime.election.leader_election import LeadershipLost
from handloop.controller.runtime.election.lease_lock import LeaseLock
from support.captured_logs import captured_logs
from support.election_rig import ElectionRig, stopping, wait_for_stop
from support.fake_clock import FakeClock
from support.lease_api import LeaseAPI, failing, refusal

PATH = "demo/foo"
GIVEN = {
    "holderIdentity": "baz",
    "leaseDurationSeconds": 10,
    "leaseTransitions": 3,
    "acquireTime": "2023-01-01T00:00:00.000000Z",
    "strategy": "OldestEmulationVersion",
}


class Rig:
    """A lease, a clock, and the candidate baz."""

    def __init__(self) -> None:
        self.api = LeaseAPI()
        self.clock = FakeClock(start=1000.0)
        lock = LeaseLock(self.api.client(), namespace="demo", name="foo", identity="baz")
        config = LeaderElection(lock, coordinated=True)
        metrics = LeaderElectionMetrics(CollectorRegistry())
        self.candidate = CoordinatedCandidacy(config, clock=self.clock, metrics=metrics)

    def give(self, **changes: Any) -> None:
        """Write the lease as the control plane does."""
        self.api.put(PATH, **{**GIVEN, **changes})


@pytest.fixture
def rig() -> Rig:
    """No lease yet."""
    return Rig()


def test_a_lease_that_another_was_given_is_left_alone(rig: Rig) -> None:
    """LE-19: led by another: no, also after it has expired; nothing is written."""
    rig.give(holderIdentity="bing")
    assert not rig.candidate.try_acquire_or_renew()
    assert rig.candidate.get_leader() == "bing"
    rig.clock.advance(100.0)
    assert not rig.candidate.try_acquire_or_renew()
    assert not rig.candidate.is_free()
    assert rig.api.ops == ["get"] * 3


def test_a_lease_that_was_given_to_us_is_renewed(rig: Rig) -> None:
    """LE-19: led by me: yes, by an update that keeps the term and the strategy."""
    rig.give()
    assert rig.candidate.is_free()
    assert rig.candidate.try_acquire_or_renew()
    assert rig.api.ops == ["get", "get", "update"]
    spec = rig.api.spec(PATH)
    assert {key: spec[key] for key in GIVEN} == {**GIVEN, "leaseDurationSeconds": 15}
    assert spec["renewTime"] == "2023-11-14T22:13:20.000000Z"


def test_a_term_that_is_over_is_not_renewed(rig: Rig) -> None:
    """LE-19: end of term: another is preferred, so the lease is ours and is to be given up."""
    rig.give()
    rig.candidate.try_acquire_or_renew()
    assert not rig.candidate.term_is_over()
    rig.give(preferredHolder="bing")
    rig.api.ops.clear()
    assert not rig.candidate.try_acquire_or_renew()
    assert rig.api.ops == ["get"]
    assert rig.candidate.term_is_over()
    assert not rig.candidate.held_by_another()
    assert not rig.candidate.is_free()


def test_a_lease_that_we_were_given_too_long_ago_is_not_renewed(rig: Rig) -> None:
    """LE-19: seen unchanged for its duration: the control plane may be choosing another already."""
    rig.give()
    assert rig.candidate.is_free()
    rig.clock.advance(10.1)
    assert not rig.candidate.is_free()
    assert not rig.candidate.try_acquire_or_renew()
    assert rig.api.ops == ["get"] * 3


def test_a_lease_is_never_made(rig: Rig) -> None:
    """LE-19: as long as nobody was chosen there is none, which is no news."""
    with captured_logs() as entries:
        assert not rig.candidate.try_acquire_or_renew()
        assert not rig.candidate.is_free()
    assert rig.api.ops == ["get", "get"]
    assert entries == []
    assert rig.candidate.statistics().last_error == ""


def test_an_error_is_no_lease(rig: Rig) -> None:
    """LE-19: it is said in the statistics, and the next try succeeds."""
    rig.give()
    rig.api.before = failing(1, "get", refusal(500, "InternalError"))
    assert not rig.candidate.try_acquire_or_renew()
    assert "InternalError" in rig.candidate.statistics().last_error
    assert rig.candidate.try_acquire_or_renew()


def test_writes_are_allowed_within_the_renew_deadline_only(rig: Rig) -> None:
    """P07: whoever gave the lease, ten seconds after the last renewal nothing is written."""
    rig.give()
    rig.candidate.try_acquire_or_renew()
    rig.candidate.start_leading()
    rig.clock.advance(9.9)
    assert rig.candidate.seconds_to_write() > 0
    rig.clock.advance(0.1)
    assert rig.candidate.seconds_to_write() == 0


def coordinated(**options: Any) -> ElectionRig:
    """An elector that was given the lease before it looks for the second time."""
    rig = ElectionRig(coordinated=True, **options)

    def give(number: int) -> None:
        if number == 0:
            rig.api.put(PATH, **GIVEN)

    rig.at_sleep = give
    return rig


def test_whoever_is_given_the_lease_leads_until_it_stops() -> None:
    """LE-19: it waits without a lease, works, renews in its usual rhythm, and releases after the work."""
    rig = coordinated()
    give, stop = rig.at_sleep, stopping(rig, 8)

    def act(number: int) -> None:
        give(number)
        stop(number)

    rig.at_sleep = act
    rig.run()
    assert rig.calls == ["started", "work ended", "stopped"]
    assert rig.leaders == ["baz", ""]
    assert rig.api.spec(PATH)["leaseTransitions"] == GIVEN["leaseTransitions"]
    assert "create" not in rig.api.ops


def preferring_another(rig: ElectionRig, at: int) -> None:
    """Let the control plane prefer another at that sleep."""
    give = rig.at_sleep

    def act(number: int) -> None:
        give(number)
        if number == at:
            rig.api.put(PATH, **{**rig.api.spec(PATH), "preferredHolder": "bing"})

    rig.at_sleep = act


def test_a_leader_makes_room_for_a_better_one() -> None:
    """LE-19: it ends its work first, gives the lease back then, and says why it ends."""
    rig = coordinated()
    preferring_another(rig, 4)
    prefer = rig.at_sleep

    def act(number: int) -> None:
        prefer(number)
        if "LOST" in rig.calls:
            assert rig.sleeping_on.wait(20.0)

    rig.at_sleep = act
    rig.call(on_lost=lambda _lost: rig.calls.append("LOST"))

    def work(stop: threading.Event) -> None:
        wait_for_stop(stop)
        assert rig.elector.candidacy.seconds_to_write() == 0
        assert rig.api.spec(PATH)["holderIdentity"] == "baz"

    rig.work = work
    with pytest.raises(LeadershipLost, match="another one is preferred"):
        rig.run()
    assert rig.calls == ["started", "LOST", "work ended", "stopped"]
    assert rig.api.spec(PATH)["holderIdentity"] == ""
    assert rig.recorder.events[-1] == "Normal LeaderElection baz stopped leading"


def test_a_leader_whose_work_does_not_end_gives_nothing_back() -> None:
    """P07: others wait until the lease expires, as after any loss."""
    rig = coordinated()
    preferring_another(rig, 4)
    over = threading.Event()
    rig.work = lambda _stop: wait_for_stop(over)
    try:
        with pytest.raises(LeadershipLost):
            rig.run()
        assert rig.api.spec(PATH)["holderIdentity"] == "baz"
    finally:
        over.set()
