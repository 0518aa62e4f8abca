"""A standby that watches the Lease, on virtual time: what it sends, and when it follows."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, Final

import pytest
from prometheus_client import CollectorRegistry

from handloop.client.errors import ConnectionBroken
from handloop.client.http.response import Response
from handloop.controller.runtime.election.candidacy import Candidacy
from handloop.controller.runtime.election.config import LeaderElectionConfig
from handloop.controller.runtime.election.election_metrics import LeaderElectionMetrics
from handloop.controller.runtime.election.leader_election import LeaderCallbacks, LeaderElector
from handloop.controller.runtime.election.lease_lock import LeaseLock
from handloop.controller.runtime.election.lease_watch import LeaseWatch
from handloop.seams.seams import Seams
from handloop.seams.threads import Joinable
from handloop_explore.virtual_threads import VirtualThread, VirtualThreads
from support.checks.captured_logs import captured_logs
from support.rigs.election import LeaseAPI

PATH: Final = "demo/foo"
LEASE_SECONDS: Final = 15.0
PERIOD: Final = 2.0


class Rig:
    """A leader that renews every two seconds while it lives, and a standby that may watch."""

    def __init__(self, threads: VirtualThreads) -> None:
        self.threads = threads
        self.api = LeaseAPI()
        self.api.may_watch = True
        self.no_threads = False
        self.led_at: float | None = None
        self.waits = 0
        self.stop = threading.Event()
        self.registry = CollectorRegistry()
        self.leader = Candidacy(self._config("leader"), clock=threads.seams.clock, metrics=self._metrics())
        self.lives = True
        self.renewed_at = 0.0
        assert self.leader.try_acquire_or_renew()
        threads.spawn("leader", self._renew)
        self.api.ops.clear()
        self.elector = LeaderElector(
            self._config("standby"),
            LeaderCallbacks(on_started_leading=self._lead, on_waiting=self._wait),
            metrics=self._metrics(),
            seams=Seams(clock=threads.seams.clock, random=Random(7).random, spawn=self._spawn),
        )
        self.thread = VirtualThread(threads, target=lambda: self.elector.run(self.stop), name="standby")
        self.thread.start()
        self.run(1.0)

    def _config(self, identity: str) -> LeaderElectionConfig:
        return LeaderElectionConfig(
            LeaseLock(self.api.client(), namespace="demo", name="foo", identity=identity)
        )

    def _metrics(self) -> LeaderElectionMetrics:
        return LeaderElectionMetrics(CollectorRegistry())

    def _spawn(self, name: str, target: Callable[[], None]) -> Joinable:
        if self.no_threads and name == "lease-watch":
            raise RuntimeError("can't start new thread")
        return self.threads.spawn(name, target)

    def _renew(self) -> None:
        while self.lives:
            if self.leader.try_acquire_or_renew():
                self.renewed_at = self.threads.now
            self.threads.sleep(PERIOD)

    def _lead(self, stop: threading.Event) -> None:
        self.led_at = self.threads.now
        stop.wait()

    def _wait(self, _seen: object) -> None:
        self.waits += 1

    def run(self, seconds: float) -> None:
        """Let time pass."""
        self.threads.run_for(seconds)

    def asked(self) -> dict[str, int]:
        """What the standby has asked for since the last call; the leader's renewals are updates."""
        found = {verb: self.api.ops.count(verb) for verb in set(self.api.ops) - {"update"}}
        self.api.ops.clear()
        return found


@pytest.fixture
def rig() -> Iterator[Rig]:
    """A standby that has looked once."""
    with VirtualThreads() as threads:
        yield Rig(threads)


def test_a_standby_sends_nothing_while_the_holder_renews(rig: Rig) -> None:
    """One read and one watch at the start, and then nothing for ten minutes."""
    assert rig.asked() == {"get": 1, "watch": 1}
    rig.run(600.0)
    assert rig.asked() == {}
    assert rig.waits >= 300, "it is told of each renewal"


def test_a_quiet_lease_is_left_alone_too(rig: Rig) -> None:
    """Of a holder whose duration is long: one look whether the watch still works, and then nothing."""
    rig.lives = False
    rig.run(PERIOD)
    rig.api.put(PATH, holderIdentity="other", leaseDurationSeconds=600)
    rig.run(1.0)
    rig.asked()
    rig.run(590.0)
    assert rig.asked() == {"get": 1, "watch": 1}
    rig.run(10.0)
    assert rig.led_at is not None


def test_a_dead_holder_is_followed_when_its_lease_is_over(rig: Rig) -> None:
    """Counted from the news of its last renewal, and not before."""
    rig.run(60.3)
    rig.lives = False
    rig.run(LEASE_SECONDS + PERIOD)
    assert rig.led_at is not None
    assert 0.0 <= rig.led_at - rig.renewed_at - LEASE_SECONDS <= 0.1


def test_a_release_is_followed_at_once(rig: Rig) -> None:
    """The news wakes the standby."""
    rig.run(60.3)
    rig.lives = False
    assert rig.leader.release()
    rig.run(0.05)
    assert rig.led_at is not None


def test_a_watch_that_ends_in_order_is_opened_again(rig: Rig) -> None:
    """From the last version, and nothing is read: what came meanwhile is sent."""
    rig.run(10.0)
    rig.asked()
    rig.api.streams.pop().end()
    rig.run(1.0)
    assert rig.asked() == {"watch": 1}
    rig.lives = False
    assert rig.leader.release()
    rig.run(0.05)
    assert rig.led_at is not None


@pytest.mark.parametrize("error", [ConnectionBroken("cut"), None])
def test_after_a_watch_that_is_cut_the_lease_is_read(rig: Rig, error: Exception | None) -> None:
    """So a release is noticed within half a second, as it is by who may not watch; later it watches again."""
    rig.run(10.0)
    stream = rig.api.streams.pop()
    if error is None:
        stream.send("ERROR", {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"})
    stream.end(error)
    rig.run(5.0)
    assert rig.asked()["get"] >= 5
    rig.run(20.0)
    rig.asked()
    rig.run(60.0)
    assert rig.asked() == {}


def test_a_release_while_the_watch_is_cut_is_followed_within_a_period(rig: Rig) -> None:
    """By reading."""
    rig.api.streams.pop().end(ConnectionBroken("cut"))
    rig.run(1.0)
    rig.lives = False
    assert rig.leader.release()
    rig.run(PERIOD / 4)
    assert rig.led_at is not None


def test_a_watch_that_falls_silent_is_replaced(rig: Rig) -> None:
    """A half-open connection, after three renewals that it did not bring: one read, another watch."""
    rig.run(10.0)
    stream = rig.api.streams.pop()
    rig.asked()
    rig.run(3 * PERIOD + 0.5)
    assert rig.asked() == {"get": 1, "watch": 1}
    assert stream.is_closed
    rig.run(60.0)
    assert rig.asked() == {}
    assert rig.led_at is None


def test_a_watch_that_never_brings_news_takes_no_lease_of_a_living_holder(rig: Rig) -> None:
    """Before a try the lease is read: the holder has renewed it."""
    rig.run(0.4)
    rig.api.before = lambda verb: Response(200, {}, b"") if verb == "watch" else None
    rig.api.streams.pop().end(ConnectionBroken("cut"))
    rig.run(300.0)
    assert rig.led_at is None


def test_a_holder_that_dies_while_the_watch_is_half_open_is_followed(rig: Rig) -> None:
    """Its last renewal is found by the read after the silence: the lease's duration and four periods."""
    rig.run(10.0)
    rig.api.streams.pop()
    rig.run(PERIOD + 0.5)
    rig.lives = False
    rig.run(LEASE_SECONDS + 4 * PERIOD)
    assert rig.led_at is not None
    assert rig.led_at >= rig.renewed_at + LEASE_SECONDS


def test_news_from_the_past_frees_no_lease(rig: Rig) -> None:
    """An event of an earlier release comes after the read of the new holder: it is waited for longer."""
    stream = rig.api.streams[-1]
    old = rig.api.lease(PATH)
    old["spec"].update(holderIdentity="", leaseDurationSeconds=1, renewTime="2000-01-01T00:00:00.000000Z")
    rig.run(1.0)
    stream.send("MODIFIED", old)
    rig.run(0.1)
    assert rig.led_at is None
    rig.lives = False
    rig.run(LEASE_SECONDS + PERIOD)
    assert rig.led_at is not None


def test_a_deleted_lease_leaves_its_holder_the_time(rig: Rig) -> None:
    """A user deletes it: the holder makes it again, and no standby takes it meanwhile."""
    rig.run(10.5)
    rig.api.delete(PATH)
    rig.run(60.0)
    assert rig.led_at is None
    rig.asked()
    rig.run(60.0)
    assert rig.asked() == {}, "it watches again"


def test_a_server_that_ends_each_watch_at_once_is_not_asked_in_a_loop(rig: Rig) -> None:
    """A watch that brought nothing is not opened again before the lease was read."""
    rig.api.streams.pop().end(ConnectionBroken("cut"))
    open_one = rig.api.stream

    def end_at_once(*given: Any, **options: Any) -> Any:
        stream: Any = open_one(*given, **options)
        rig.api.streams.clear()
        stream.end()
        return stream

    rig.api.stream = end_at_once  # type: ignore[method-assign] # as a proxy that cannot stream does
    rig.run(60.0)
    asked = rig.asked()
    assert asked["watch"] <= 60 / PERIOD + 2
    assert asked["get"] <= 60 * 2.5
    rig.lives = False
    rig.run(LEASE_SECONDS + PERIOD)
    assert rig.led_at is not None


@pytest.mark.parametrize("seconds", [0.7, 5.0, 20.0])
def test_a_watch_that_opens_slowly_is_opened_once(rig: Rig, seconds: float) -> None:
    """Over a long line, or by a busy server. Until then the lease is read, and a release is noticed."""
    rig.run(10.0)
    rig.api.before = lambda verb: rig.threads.sleep(seconds) if verb == "watch" else None
    rig.api.streams.pop().end(ConnectionBroken("cut"))
    rig.run(LEASE_SECONDS)
    rig.asked()
    rig.run(1.0 + seconds)
    asked = rig.asked()
    assert asked["watch"] == 1
    assert asked["get"] >= seconds
    rig.run(60.0)
    assert rig.asked() == {}
    assert rig.led_at is None


def test_a_release_while_the_watch_opens_is_followed_within_a_period(rig: Rig) -> None:
    """By reading; a leader has no use for the watch."""
    rig.api.before = lambda verb: rig.threads.sleep(20.0) if verb == "watch" else None
    rig.api.streams.pop().end(ConnectionBroken("cut"))
    rig.run(LEASE_SECONDS + 5.0)
    rig.lives = False
    assert rig.leader.release()
    rig.run(PERIOD / 4)
    assert rig.led_at is not None
    rig.run(20.0)
    assert all(stream.is_closed for stream in rig.api.streams)


def test_who_may_not_watch_says_so_once_and_reads(rig: Rig) -> None:
    """The role of an earlier version lacks the verb."""
    rig.api.may_watch = False
    with captured_logs() as entries:
        rig.api.streams.pop().end(ConnectionBroken("cut"))
        rig.run(300.0)
    told = [
        entry for entry in entries if "cannot be watched" in entry["event"] and entry["log_level"] == "info"
    ]
    assert len(told) == 1
    rig.asked()
    rig.run(60.0)
    asked = rig.asked()
    assert asked["watch"] <= 60 / LEASE_SECONDS + 1
    assert 60 <= asked["get"] <= 140
    rig.api.may_watch = True
    rig.run(60.0)
    rig.asked()
    rig.run(60.0)
    assert rig.asked() == {}


def test_without_a_thread_for_the_watch_the_lease_is_read(rig: Rig) -> None:
    """And it is followed in time; the watch is tried again."""
    rig.no_threads = True
    rig.api.streams.pop().end(ConnectionBroken("cut"))
    rig.run(60.0)
    assert rig.asked()["get"] >= 60
    rig.no_threads = False
    rig.run(60.0)
    rig.asked()
    rig.run(60.0)
    assert rig.asked() == {}


def test_a_stop_ends_a_standby_and_its_watch(rig: Rig) -> None:
    """Within half a second, and no thread stays."""
    rig.run(10.0)
    rig.stop.set()
    rig.run(0.5)
    assert not rig.thread.is_alive()
    assert rig.api.streams[-1].is_closed
    assert [thread.name for thread in rig.threads.threads() if thread.name == "lease-watch"] == []


def test_a_leader_watches_nothing(rig: Rig) -> None:
    """Its own renewals are not news."""
    rig.lives = False
    assert rig.leader.release()
    rig.run(1.0)
    assert rig.led_at is not None
    assert all(stream.is_closed for stream in rig.api.streams)
    rig.asked()
    rig.run(60.0)
    assert rig.asked() == {}


def test_a_watch_names_its_lease_alone() -> None:
    """By a field selector, in which a name is escaped; and the server is asked to end it."""
    queries: list[dict[str, str]] = []
    api = LeaseAPI()

    def stream(_method: str, _path: str, *, query: dict[str, str], **_options: object) -> object:
        queries.append(query)
        raise ConnectionBroken("cut")

    api.stream = stream  # type: ignore[method-assign,assignment] # only the query matters
    lock = LeaseLock(api.client(), namespace="demo", name="a,b", identity="me")
    with pytest.raises(ConnectionBroken):
        lock.watch("17", 300)
    assert queries == [
        {
            "fieldSelector": "metadata.name=a\\,b",
            "resourceVersion": "17",
            "allowWatchBookmarks": "true",
            "timeoutSeconds": "300",
            "watch": "true",
        }
    ]


def test_what_closes_while_it_opens_reads_nothing() -> None:
    """A stop comes during the request."""
    with VirtualThreads() as threads:
        api = LeaseAPI()
        api.may_watch = True
        lock = LeaseLock(api.client(), namespace="demo", name="foo", identity="me")
        api.put(PATH, holderIdentity="other", leaseDurationSeconds=15)
        lock.get(1.0)

        def slow(_verb: str) -> None:
            threads.sleep(3.0)

        api.before = slow
        watch = LeaseWatch(lock, threads.seams)
        threads.run_for(1.0)
        watch.close()
        threads.run_for(3.0)
        assert (watch.is_open, watch.error, watch.came.is_set()) == (False, None, True)
        assert api.streams[-1].is_closed


def test_an_unreadable_event_ends_the_watch() -> None:
    """Whatever it is: the elector reads from then on."""
    with VirtualThreads() as threads:
        api = LeaseAPI()
        api.may_watch = True
        lock = LeaseLock(api.client(), namespace="demo", name="foo", identity="me")
        api.put(PATH, holderIdentity="other", leaseDurationSeconds=15)
        lock.get(1.0)
        for content in (
            {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "x", "resourceVersion": "1"}},
            {},
        ):
            watch = LeaseWatch(lock, threads.seams)
            threads.run_for(1.0)
            opened = watch.is_open
            api.streams[-1].send("MODIFIED", content)
            threads.run_for(1.0)
            assert (opened, watch.is_open, watch.take()) == (True, False, None)
