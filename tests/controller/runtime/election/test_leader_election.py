"""
Whole runs of an election, on virtual time, against client-go's scenarios.

What one step does is in test_candidacy.py.
"""

from __future__ import annotations

import random
import threading
import time
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from handloop.client.errors import DeadlineExceeded
from handloop.client.http.response import Response
from handloop.controller.runtime.election.candidacy import ElectionStatistics
from handloop.controller.runtime.election.config import LeaderElectionConfig
from handloop.controller.runtime.election.election_metrics import LeaderElectionMetrics
from handloop.controller.runtime.election.leader_election import (
    LeaderCallbacks,
    LeaderElector,
    LeadershipLost,
)
from handloop.controller.runtime.election.lease_lock import LeaseLock
from handloop.seams.seams import Seams
from support.checks.captured_logs import captured_logs
from support.checks.threads import Background
from support.rigs.election import (
    BING,
    PATH,
    ElectionRig,
    LeaseAPI,
    no_answer,
    refusal,
    stopping,
    wait_for_stop,
)


@pytest.fixture
def rig() -> ElectionRig:
    """No lease yet."""
    return ElectionRig()


def test_a_stop_ends_the_work_and_then_releases(rig: ElectionRig) -> None:
    """The lease is ours until the work has ended, and free directly after."""
    rig.at_sleep = stopping(rig, 3)

    def work(stop: threading.Event) -> None:
        wait_for_stop(stop)
        assert rig.api.spec(PATH)["holderIdentity"] == "baz"

    rig.work = work
    rig.run()
    assert rig.calls == ["started", "work ended", "stopped"]
    assert rig.api.spec(PATH)["holderIdentity"] == ""
    assert rig.leaders == ["baz", ""]
    assert rig.recorder.events == [
        "Normal LeaderElection baz became leader",
        "Normal LeaderElection baz stopped leading",
    ]


def test_without_release_on_cancel_the_lease_runs_out() -> None:
    """The holder stays."""
    rig = ElectionRig(release_on_cancel=False)
    rig.at_sleep = stopping(rig, 1)
    rig.run()
    assert rig.api.spec(PATH)["holderIdentity"] == "baz"


@pytest.mark.parametrize("verb", ["update", "get"])
def test_a_stop_during_a_request_still_releases(rig: ElectionRig, verb: str) -> None:
    """The stop comes while an update, or a get, is on its way."""
    conflicts = iter([verb == "get"])

    def before(seen: str) -> Response | None:
        if seen == "update" and rig.status() == 1 and next(conflicts, False):
            return refusal(409, "Conflict")  # makes it look with a get
        if seen == verb and rig.status() == 1:
            rig.stop.set()
        return None

    rig.api.before = before
    rig.run()
    assert rig.api.spec(PATH)["holderIdentity"] == ""
    assert rig.recorder.events == [
        "Normal LeaderElection baz became leader",
        "Normal LeaderElection baz stopped leading",
    ]


def test_the_lease_is_renewed_while_the_work_winds_up(rig: ElectionRig) -> None:
    """A drain of 30 s does not lose a lease of 15 s."""
    wound_up = threading.Event()

    def act(number: int) -> None:
        if number == 1:
            rig.stop.set()
        if rig.clock.now() > 1030.0:
            wound_up.set()

    rig.at_sleep = act
    rig.work = lambda _stop: wait_for_stop(wound_up)
    rig.run()
    assert rig.api.ops.count("update") >= 15
    assert rig.api.holders == ["baz"] * (len(rig.api.holders) - 1) + [""]


def test_nothing_is_written_when_stopped_before_the_start(rig: ElectionRig) -> None:
    """And on_stopped_leading is called though we never led."""
    rig.stop.set()
    rig.run()
    assert rig.calls == ["stopped"]
    assert rig.api.ops == []


def test_a_standby_that_is_stopped_never_leads(rig: ElectionRig) -> None:
    """on_stopped_leading comes, on_started_leading does not; the lease is as it was."""
    rig.api.put(PATH, **BING)
    rig.at_sleep = stopping(rig, 2)
    rig.run()
    assert rig.calls == ["stopped"]
    assert rig.leaders == ["bing"]
    assert rig.api.spec(PATH) == BING
    assert rig.recorder.events == []
    assert rig.status() == 0


def test_a_standby_that_may_not_watch_reads_four_times_a_period(rig: ElectionRig) -> None:
    """And it asks for a watch once in a lease's duration."""
    rig.api.put(PATH, holderIdentity="bing", leaseDurationSeconds=100_000)
    tried_at: list[float] = []

    def note(seen: ElectionStatistics) -> None:
        assert seen.holder == "bing"
        tried_at.append(rig.clock.now())
        if len(tried_at) > 200:
            rig.stop.set()

    rig.call(on_waiting=note)
    rig.run()
    waits = [later - earlier for earlier, later in pairwise(tried_at)]
    assert waits == pytest.approx([0.5] * 200)
    assert set(rig.api.ops) == {"get", "watch"}
    assert rig.api.ops.count("watch") <= 1 + (tried_at[-1] - tried_at[0]) / 15.0


@pytest.mark.parametrize("deleted", [False, True])
def test_a_lease_that_becomes_free_is_taken_at_once(rig: ElectionRig, deleted: bool) -> None:
    """A quarter of a retry period after a release at the latest, not after up to 2.2 periods."""
    rig.api.put(PATH, **BING, renewTime="2023-01-01T00:00:00.000000Z")
    freed_at: list[float] = []

    def act(number: int) -> None:
        if number == 11:
            rig.api.put(PATH, leaseDurationSeconds=1, renewTime="2023-01-01T00:00:01.000000Z")
            freed_at.append(rig.clock.now())
        if number == 12 and deleted:
            rig.api.delete(PATH)

    rig.at_sleep = act
    rig.work = lambda _stop: rig.stop.set()
    rig.run()
    assert rig.started_at - freed_at[0] <= 0.5


def test_an_outage_is_reported_once_not_at_each_look(rig: ElectionRig) -> None:
    """A standby looks twice a second: the same error again is for -v 4."""
    rig.api.before = no_answer
    rig.at_sleep = stopping(rig, 100)
    with captured_logs() as entries:
        rig.run()
    levels = [e["log_level"] for e in entries if e["event"] == "Request for the lease failed"]
    assert levels[0] == "warning"
    assert set(levels[1:]) == {"debug"}


def test_a_dead_leader_is_followed_within_duration_and_retry(rig: ElectionRig) -> None:
    """As soon as its last sign of life is 15 s old."""
    rig.api.put(PATH, **BING)
    rig.work = lambda _stop: rig.stop.set()
    rig.run()
    assert rig.started_at - 1000.0 == pytest.approx(15.0)
    assert rig.leaders == ["bing", "baz", ""]


@pytest.mark.parametrize(
    ("spec", "leaders"),
    [
        (None, ["baz"]),
        ({}, ["baz"]),
        ({"holderIdentity": "", "leaseDurationSeconds": 15}, ["baz"]),
        (BING, ["bing"]),
        ({"holderIdentity": "baz", "leaseDurationSeconds": 15}, ["baz"]),
    ],
)
def test_each_new_holder_is_reported_once(spec: dict[str, Any] | None, leaders: list[str]) -> None:
    """Ourselves, the first one we see, and an empty holder; renewals are no news."""
    rig = ElectionRig(release_on_cancel=False)
    if spec is not None:
        rig.api.put(PATH, **spec)
    rig.at_sleep = stopping(rig, 3)
    rig.run()
    assert rig.leaders == leaders


def test_a_listener_that_raises_ends_nothing(rig: ElectionRig) -> None:
    """It is logged, and renewing goes on."""
    rig.call(on_new_leader=lambda _holder: 1 / 0)
    rig.at_sleep = stopping(rig, 3)
    with captured_logs() as entries:
        rig.run()
    assert [e["event"] for e in entries if e["log_level"] == "error"] == ["on_new_leader raised"] * 2
    assert rig.calls == ["started", "work ended", "stopped"]


def test_renewals_come_every_retry_period_without_jitter(rig: ElectionRig) -> None:
    """The leader's rhythm is even."""
    rig.at_sleep = stopping(rig, 5)
    rig.run()
    assert set(rig.clock.slept) == {2.0}
    assert rig.api.ops[:8] == ["get", "create", *["update"] * 6]
    assert rig.api.ops[-2:] == ["get", "update"]


def test_a_leader_without_a_server_gives_up_at_the_renew_deadline(rig: ElectionRig) -> None:
    """E12: 10 s after its last renewal, 5 s before others may take over, and with the reason."""

    def act(number: int) -> None:
        if number == 2:
            rig.api.before = no_answer

    rig.at_sleep = act
    with pytest.raises(LeadershipLost) as lost:
        rig.run()
    # renewed at 1000, 1000 and 1002 and 1004: the last one before the server went
    assert rig.clock.now() == pytest.approx(1014.0)
    assert lost.value.seconds == pytest.approx(10.0)
    assert lost.value.why == "last error: https://test:6443: no answer within 5 s"
    assert lost.value.lease == PATH
    assert set(rig.calls) >= {"started", "stopped"}
    assert rig.elector.candidacy.seconds_to_write() == 0
    assert rig.status() == 0


def test_a_lost_lease_is_not_released(rig: ElectionRig) -> None:
    """A request under way may still be writing: others wait until the lease expires."""

    def before(_verb: str) -> Response | None:
        if rig.status() == 1 and rig.clock.now() < 1010.0:
            raise DeadlineExceeded("no answer")
        return None

    rig.api.before = before
    with pytest.raises(LeadershipLost):
        rig.run()
    assert rig.api.spec(PATH)["holderIdentity"] == "baz"


def test_a_slow_server_cannot_stretch_the_deadline(rig: ElectionRig) -> None:
    """Requests that hang are cut at the renew deadline, however many fit before it."""

    def hang(_verb: str) -> Response | None:
        if rig.status() != 1:
            return None
        seconds = rig.api.timeouts[-1]
        assert seconds is not None
        rig.clock.advance(seconds)
        raise DeadlineExceeded(f"no answer within {seconds:g} s")

    rig.api.before = hang
    with pytest.raises(LeadershipLost):
        rig.run()
    assert rig.clock.now() == pytest.approx(1010.0)
    assert all(seconds is not None and seconds <= 5.0 for seconds in rig.api.timeouts)


def test_of_many_leases_a_loss_ends_its_own_work_and_no_other() -> None:
    """The run ends with its work, so that the next one does not begin beside it; no line alarms anybody."""
    rig = ElectionRig(of_many=True)
    ended = threading.Event()

    def work(stop: threading.Event) -> None:
        wait_for_stop(stop)
        assert rig.elector.candidacy.seconds_to_write() == 0
        ended.set()

    def act(number: int) -> None:
        if number == 2:
            rig.api.before = no_answer

    rig.at_sleep, rig.work = act, work
    with captured_logs() as entries, pytest.raises(LeadershipLost):
        rig.run()
    assert ended.is_set()
    assert rig.calls == ["started", "work ended", "stopped"]
    assert {entry["log_level"] for entry in entries} == {"debug"}


def test_a_short_outage_is_survived(rig: ElectionRig) -> None:
    """Renewing goes on as soon as the server answers, and no leader changed."""

    def act(number: int) -> None:
        rig.api.before = no_answer if 2 <= number < 5 else lambda _verb: None
        if number == 9:
            rig.stop.set()

    rig.at_sleep = act
    rig.run()
    assert rig.calls == ["started", "work ended", "stopped"]
    assert set(rig.api.holders) == {"baz", ""}


def test_a_lease_that_another_took_ends_us_at_once(rig: ElectionRig) -> None:
    """There is nothing to hope for; the holder is named."""

    def act(number: int) -> None:
        if number == 2:
            rig.api.put(PATH, **BING)

    rig.at_sleep = act
    with pytest.raises(LeadershipLost, match="held by bing"):
        rig.run()
    assert rig.clock.now() == pytest.approx(1006.0)
    assert rig.leaders == ["baz", "bing"]
    assert rig.api.spec(PATH) == BING


@pytest.mark.parametrize("error", [ZeroDivisionError("broken"), SystemExit(3), MemoryError()])
def test_work_that_raises_ends_the_election(rig: ElectionRig, error: BaseException) -> None:
    """Renewing stops, and the error comes out of run, also one that ends a thread without a word."""

    def work(_stop: threading.Event) -> None:
        raise error

    rig.work = work
    with pytest.raises(type(error)) as raised:
        rig.run()
    assert raised.value is error
    assert rig.calls == ["started", "work ended", "stopped"]
    assert rig.status() == 0


def test_a_machine_that_slept_does_not_go_on(rig: ElectionRig) -> None:
    """After ten minutes without a renewal the lease counts as lost, without asking."""

    def act(number: int) -> None:
        if number == 2:
            rig.clock.advance(600.0)
            assert rig.elector.candidacy.seconds_to_write() == 0

    rig.at_sleep = act
    with pytest.raises(LeadershipLost) as lost:
        rig.run()
    assert lost.value.seconds >= 600.0


def test_a_leader_is_known(rig: ElectionRig) -> None:
    """By the gauge, get_leader and is_leader: before, while and after it leads."""
    candidacy = rig.elector.candidacy
    assert (rig.status(), candidacy.get_leader()) == (0, "")
    seen: list[object] = []

    def work(stop: threading.Event) -> None:
        seen.extend([rig.status(), candidacy.get_leader(), candidacy.is_leader()])
        rig.stop.set()
        wait_for_stop(stop)

    rig.work = work
    rig.run()
    assert seen == [1, "baz", True]
    assert (rig.status(), candidacy.is_leader()) == (0, False)


def test_checks_and_renewals_do_not_race(rig: ElectionRig) -> None:
    """The lock's ranks hold, and a leader that renews is never called unwell."""
    over = threading.Event()
    wrong: list[object] = []

    def ask() -> None:
        while not over.is_set():
            wrong.extend(found for found in (rig.elector.candidacy.check(0.0),) if found is not None)
            statistics = rig.elector.candidacy.statistics()
            if statistics.leading and statistics.holder != "baz":
                wrong.append(statistics)
            assert rig.elector.candidacy.seconds_to_write() >= 0
            time.sleep(0)

    rig.at_sleep = stopping(rig, 500)
    askers = [Background(ask) for _ in range(3)]
    try:
        rig.run()
    finally:
        over.set()
    for asker in askers:
        asker.result()
    assert wrong == []


def test_of_many_candidates_one_leads_at_a_time() -> None:
    """Five processes on real time, each stopped in turn: the work of two never overlaps."""
    api, inside, overlaps = LeaseAPI(), [], []
    served: set[str] = set()
    lock = threading.Lock()
    stops = {f"pod-{number}": threading.Event() for number in range(5)}

    def elector(identity: str) -> LeaderElector:
        def work(stop: threading.Event) -> None:
            with lock:
                inside.append(identity)
                overlaps.append(len(inside))
                served.add(identity)
            stops[identity].set()
            assert stop.wait(20.0)
            with lock:
                inside.remove(identity)

        held = LeaseLock(api.client(), namespace="demo", name="foo", identity=identity)
        return LeaderElector(
            LeaderElectionConfig(held, 15.0, 10.0, 0.01),
            LeaderCallbacks(on_started_leading=work),
            metrics=LeaderElectionMetrics(CollectorRegistry()),
            seams=Seams(random=random.Random(identity).random),
        )

    runs = [Background(partial(elector(identity).run, stop)) for identity, stop in stops.items()]
    for run in runs:
        run.result()
    assert served == set(stops)
    assert set(overlaps) == {1}


def test_a_configuration_that_makes_no_sense_is_refused() -> None:
    """Before anything is sent."""
    with pytest.raises(ValueError, match="leaseDuration must be greater than renewDeadline"):
        ElectionRig(lease_duration_seconds=10.0)
