"""Several controllers in one process: started in order, stopped in order, and never left half dead."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping
from typing import Any, Final

import pytest
from msgspec.structs import replace

from handloop.apis.apps_v1 import Deployment
from handloop.apis.core_v1 import Event, Service
from handloop.apis.meta import Kind
from handloop.client.errors import Cancelled
from handloop.client.http.response import Stream
from handloop.client.resource_client import Client
from handloop.client.rest_client import Call
from handloop.client.transport import ForwardingTransport
from handloop.controller.foo.types import Foo
from handloop.controller.runtime.builder import controller_for
from handloop.controller.runtime.caching.cache_wait import CacheSyncTimeoutError
from handloop.controller.runtime.election.config import LeaderElectionConfig
from handloop.controller.runtime.election.leader_election import LeadershipLost, StopTimeoutError
from handloop.controller.runtime.election.lease_lock import LeaseLock
from handloop.controller.runtime.life.runnable import WorkersBusyError
from handloop.controller.runtime.manager import Manager
from handloop.controller.runtime.metrics.informer_metrics import InformerMetricsProvider
from handloop.controller.runtime.reconcile import DeadlineExceededError
from handloop.controller.runtime.reconciling.context import Context
from handloop.controller.runtime.reconciling.controller import ControllerOptions
from handloop.controller.runtime.reconciling.reporting import is_expected
from handloop.controller.runtime.serving.health import Check, Well
from handloop.controller.runtime.sources.reconcile_queue import default_rate_limiter
from handloop.informers.informer_options import InformerOptions
from handloop.informers.keys import ObjectName
from handloop.informers.outage import Hints
from handloop.seams.seams import REAL_SEAMS, Seams
from handloop.testing.eventually import eventually
from handloop.testing.fake_clock import FakeClock
from support.builders.foo_builders import new_foo
from support.checks.captured_logs import captured_logs
from support.checks.threads import Background
from support.doubles.runnables import Failing, Free, Worker, expect
from support.doubles.scripted_transport import ScriptedStream, ScriptedTransport, answer
from support.rigs.election import LeaseAPI, no_answer
from support.rigs.managed_sandbox import ManagedSandbox

LEASE = "demo/lease"


class Counting:
    """A reconciler that counts."""

    def __init__(self) -> None:
        self.names: list[ObjectName] = []

    def reconcile(self, name: ObjectName, context: Context) -> None:
        self.names.append(name)


def unmade_foo(name: str) -> Foo:
    """A Foo as one sends it to be created."""
    return new_foo(name, uid="", resource_version="")


class Misplaced(Kind, group="app", version="v1", kind="Deployment"):
    """A Deployment, but for its group."""


def test_a_controller_without_its_crd_keeps_no_other_from_working(cluster: ManagedSandbox) -> None:
    """One waits and logs for what; the other works; when the CRD comes, both do."""
    manager = cluster.manager()
    services, foos = Counting(), Counting()
    controller_for(manager, "services").for_(Service).complete_by_name(services)
    controller_for(manager, "foos").for_(Foo).complete_by_name(foos)
    with cluster.running(manager):
        eventually(lambda: services.names, "the kubernetes Service reconciled")
        assert manager.readiness_checks()["informers-synced"]() == "caches not filled yet: foos"
        assert manager.liveness_checks()["workers"]() is None
        cluster.install(Foo)
        eventually(lambda: not manager.readiness_checks()["informers-synced"](), "synced")
    assert foos.names == []


def test_caches_that_never_fill_end_the_process(cluster: ManagedSandbox) -> None:
    """
    With a limit: the error has the controller, the kind and the reason.

    Of a kind of a wrong group it has the nearest one that the server knows, and the fix.
    """
    clock = FakeClock()
    manager = cluster.manager(
        controller_options=ControllerOptions(cache_sync_timeout_seconds=1.0), seams=Seams(clock=clock)
    )
    controller_for(manager, "events").for_(Misplaced).complete_by_name(Counting())
    informer = manager.informer_for(Misplaced)
    running = Background(lambda: manager.run(cluster.stop))
    eventually(lambda: "did you mean" in str(informer.troubles()), "refused")
    annotations = manager.namespace_annotations
    eventually(lambda: annotations._informer and annotations._informer.has_synced(), "namespaces cached")

    def is_over_a_second_later() -> bool:
        clock.advance(1.0)
        return running.has_ended()

    eventually(is_over_a_second_later, "given up")
    what = r"controller events: timed out after 1s waiting for caches to sync: deployments\.app: "
    hint = r"\(did you mean deployments\.apps/v1\?\): install a"
    with pytest.raises(CacheSyncTimeoutError, match=rf"^{what}.*{hint}"):
        running.result()
    assert cluster.stop.is_set()


@pytest.mark.parametrize("elects", [False, True])
def test_a_stop_while_caches_are_filled_is_a_clean_end(cluster: ManagedSandbox, elects: bool) -> None:
    """Nobody waits for a list that may never come: controllers and caches end, and nothing is raised."""
    manager = electing(cluster, LeaseAPI(), **PATIENT) if elects else cluster.manager()
    foos, informer = Counting(), manager.informer_for(Foo).informers[0]
    controller = controller_for(manager, "foos").for_(Foo).complete_by_name(foos)
    with captured_logs() as logs, cluster.running(manager):
        eventually(lambda: "Starting controller" in [entry["event"] for entry in logs], "started")
    assert foos.names == []
    assert controller.statistics().workers == 0
    assert informer.statistics().stopped


def test_informers_are_shared(cluster: ManagedSandbox) -> None:
    """Two controllers of one kind are one watch."""
    manager = cluster.manager()
    assert manager.informer_for(Service).informers == manager.informer_for(Service).informers
    several = ManagedSandbox().manager(namespaces=("a", "b"))
    assert [informer.name for informer in several.informer_for(Service).informers] == [
        "services@a",
        "services@b",
    ]
    assert manager.lister_for(Service).list() == []


# informers that are asked for after the start


class Late(Worker):
    """Asks for the informer of a kind when it runs, and keeps the result."""

    def __init__(self, manager: Manager, kind: type[Kind], name: str = "late") -> None:
        super().__init__([], name)
        self._manager = manager
        self._kind = kind
        self.names: list[str] = []
        self.error: Exception | None = None
        self.ended = threading.Event()

    def run(self, stop: threading.Event) -> None:
        try:
            self.names = [obj.metadata.name for obj in self._manager.lister_for(self._kind).list()]
        except Exception as error:
            self.error = error
        self.ended.set()
        super().run(stop)


@pytest.mark.parametrize("elects", [False, True])
def test_a_kind_that_is_asked_for_while_the_manager_runs_can_be_read_at_once(
    cluster: ManagedSandbox, elects: bool
) -> None:
    """As in controller-runtime the cache is started and waited for: in an empty one all would seem gone."""
    manager = electing(cluster, LeaseAPI(), **PATIENT) if elects else cluster.manager()
    late = Late(manager, Service)
    manager.add(late)
    with cluster.running(manager):
        expect(late.ended)
        assert manager.informer_for(Service).has_synced()
    assert (late.names, late.error) == (["kubernetes"], None)


def test_a_reconcile_may_ask_for_a_kind_without_a_watch(cluster: ManagedSandbox) -> None:
    """Two of one controller at once, and each reads a full cache."""
    cluster.install(Foo)
    foos = cluster.client.resource(Foo)
    manager = cluster.manager()
    both, seen = threading.Barrier(2, timeout=20), list[list[str]]()

    class Reading(Counting):
        def reconcile(self, name: ObjectName, context: Context) -> None:
            both.wait()
            seen.append([service.metadata.name for service in manager.lister_for(Service).list()])

    controller_for(manager, "foos").for_(Foo).with_options(max_concurrent_reconciles=2).complete_by_name(
        Reading()
    )
    for name in ("a", "b"):
        foos.create(unmade_foo(name))
    with cluster.running(manager):
        eventually(lambda: len(seen) == 2, "both reconciled")
    assert seen == [["kubernetes"]] * 2


def test_a_late_cache_that_cannot_be_filled_is_an_error_in_words(cluster: ManagedSandbox) -> None:
    """After the time that caches have: with the kind, and the server's message. A reconcile retries it."""
    manager = cluster.manager(controller_options=ControllerOptions(cache_sync_timeout_seconds=0.3))
    late = Late(manager, Foo)
    manager.add(late)
    with cluster.running(manager), captured_logs():
        expect(late.ended)
    assert isinstance(late.error, CacheSyncTimeoutError)
    assert str(late.error).startswith(
        "informer of foos: timed out after 0.3s waiting for caches to sync: foos.samplecontroller.k8s.io: "
    )
    assert is_expected(late.error)


def test_a_stop_ends_the_wait_for_a_late_cache(cluster: ManagedSandbox) -> None:
    """Of the first caller and of all others: no caller gets a cache that is not full. The end is clean."""
    manager = cluster.manager(controller_options=ControllerOptions(cache_sync_timeout_seconds=math.inf))
    both = [Late(manager, Foo, "first"), Late(manager, Foo, "second")]
    for late in both:
        manager.add(late)
    with captured_logs() as logs, cluster.running(manager):
        eventually(lambda: "Failed to list" in [entry["event"] for entry in logs], "asked for")
    errors = [late.error for late in both]
    assert [str(error) for error in errors] == ["stopping: the cache of foos is not filled"] * 2
    assert all(error is not None and is_expected(error) for error in errors)
    with pytest.raises(DeadlineExceededError, match="the cache of deployments is not filled"):
        manager.informer_for(Deployment)


# requests that wait, for the rate limit or as the server asked


class WithoutStreamedLists(ForwardingTransport):
    """A server that does not know sendInitialEvents."""

    def stream(self, *_args: Any, **_kwargs: Any) -> Stream:
        return ScriptedStream([b'{"kind":"Status","code":422,"reason":"Invalid"}'], status=422)


def limited(cluster: ManagedSandbox, clock: FakeClock) -> Client:
    """A client that may send one request per second of the clock, and whose first second is used up."""
    client = Client(
        WithoutStreamedLists(cluster.transport()), qps=1, burst=1, seams=Seams(clock=clock), stop=cluster.stop
    )
    client.get_raw("/version")
    return client


def test_a_stop_lets_requests_that_wait_be_sent(cluster: ManagedSandbox) -> None:
    """The reconcile in flight ends as it should, and what it reports is written after it."""
    clock, story = FakeClock(), list[str]()
    cluster.client = limited(cluster, clock)
    manager = cluster.manager()

    def finish() -> None:
        manager.client.get_raw("/version")
        manager.recorder("w").event(new_foo(), "Normal", "Synced", "done")

    manager.add(Worker(story, "w", finish))
    with cluster.running(manager) as running:
        eventually(lambda: story, "begun")
        cluster.stop.set()
        clock.wait_for_deadline(1.0)
        clock.advance(1.0)
        clock.wait_for_deadline(2.0)
        assert story == ["w begins", "w ends"]
        clock.advance(1.0)
        running.result()
    written = Client(cluster.transport()).resource(Event).list("default").items
    assert [event.reason for event in written] == ["Synced"]


def test_a_request_that_waits_is_given_up_when_the_time_to_stop_is_over(
    cluster: ManagedSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that was left behind does not write long after."""
    monkeypatch.setattr("handloop.controller.runtime.lifetime._GRACE_SECONDS", 0.0)
    clock, story = FakeClock(), list[str]()
    cluster.client = limited(cluster, clock)
    manager = cluster.manager(controller_options=ControllerOptions(shutdown_timeout_seconds=0.05))

    def finish() -> None:
        with pytest.raises(Cancelled):
            manager.client.get_raw("/version")

    manager.add(Worker(story, "w", finish))
    with pytest.raises(StopTimeoutError), captured_logs() as logs, cluster.running(manager):
        eventually(lambda: story, "begun")
    eventually(lambda: story == ["w begins", "w ends"], "ended")
    assert "Controllers did not end in time" in [entry["event"] for entry in logs]


def test_lists_that_wait_hold_no_stop_up(cluster: ManagedSandbox) -> None:
    """The caches go after the controllers, with any request waiting, and nothing is logged."""
    clock = FakeClock()
    cluster.client = limited(cluster, clock)
    manager = cluster.manager()
    (informer,) = manager.informer_for(Service).informers
    with captured_logs() as logs, cluster.running(manager):
        clock.wait_for_deadline(1.0)
    assert informer.statistics().stopped
    assert [entry for entry in logs if entry["log_level"] not in ("info", "debug")] == []


def test_checks_of_all_runnables_are_joined(cluster: ManagedSandbox) -> None:
    """Liveness names every controller whose workers have died, and a stop is not ready."""
    manager = cluster.manager()
    first, second = Worker([], "a"), Worker([], "b")
    manager.add(first)
    manager.add(second)
    assert manager.liveness_checks()["workers"]() is None
    first.trouble, second.trouble = "a: 0 of 1 are alive", "b: 0 of 2 are alive"
    assert manager.liveness_checks()["workers"]() == "a: 0 of 1 are alive; b: 0 of 2 are alive"
    first.trouble = second.trouble = None
    checks = manager.readiness_checks()
    with cluster.running(manager):
        eventually(lambda: checks["shutdown"]() is None, "running")
    assert checks["shutdown"]() == "shutting down"


def test_a_manager_hands_the_options_of_informers_down(cluster: ManagedSandbox) -> None:
    """It adds its metrics, the server's reachability, the nearest kinds, and a suffix per namespace."""
    wanted = InformerOptions(resync_seconds=5, page_size=7, hints=Hints(crd_command="greeter crd"))
    manager = cluster.manager(namespaces=("a", "b"), informer_options=wanted)
    for namespace, informer in zip("ab", manager.informer_for(Service).informers, strict=True):
        options = informer._options
        assert informer.name == f"services@{namespace}"
        assert (options.resync_seconds, options.page_size) == (5, 7)
        assert options.hints == replace(wanted.hints, nearest=options.hints.nearest)
        assert options.reachability is cluster.client.reachability
        assert isinstance(options.metrics_provider, InformerMetricsProvider)


def test_a_manager_refuses_a_rate_limiter_for_all(cluster: ManagedSandbox) -> None:
    """Two controllers that share one would count each other's failures of a name."""
    with pytest.raises(ValueError, match="pass it to with_options"):
        cluster.manager(controller_options=ControllerOptions(rate_limiter=default_rate_limiter()))


# leader election


def ill(checks: Mapping[str, Check]) -> dict[str, object]:
    """The unhealthy checks."""
    results = {name: check() for name, check in checks.items()}
    return {name: result for name, result in results.items() if result and not isinstance(result, Well)}


def electing(cluster: ManagedSandbox, api: LeaseAPI, *, seams: Seams = REAL_SEAMS, **options: Any) -> Manager:
    """A manager that works only while it holds a lease."""
    lock = LeaseLock(api.client(), namespace="demo", name="lease", identity="us")
    config = LeaderElectionConfig(lock, **options)
    return cluster.manager(leader_election=config, seams=seams)


def lose_lease(api: LeaseAPI, clock: FakeClock, running: Background[None]) -> None:
    """The server is silent from now on: the run of a patient leader ends at its renew deadline."""
    api.before = no_answer
    clock.advance(PATIENT["renew_deadline_seconds"])

    def has_ended() -> bool:
        # the elector may have begun to sleep after that
        clock.advance(0.1)
        return running.has_ended()

    eventually(has_ended, "ended")
    with pytest.raises(LeadershipLost):
        running.result()


PATIENT: Final[dict[str, Any]] = {
    "lease_duration_seconds": 90.0,
    "renew_deadline_seconds": 60.0,
    "retry_period_seconds": 0.05,
}


def test_controllers_work_only_while_we_lead(cluster: ManagedSandbox) -> None:
    """A standby has warm caches and is ready, its controllers wait; what needs no lease runs."""
    api = LeaseAPI()
    api.put(LEASE, holderIdentity="other", leaseDurationSeconds=3600, leaseTransitions=0)
    manager = electing(cluster, api, **PATIENT)
    services, story = Counting(), list[str]()
    controller_for(manager, "services").for_(Service).complete_by_name(services)
    manager.add(Free(story, "free"))
    with cluster.running(manager):
        eventually(lambda: manager.informer_for(Service).has_synced(), "warm")
        eventually(lambda: api.ops.count("get") > 1, "waiting for the lease")
        assert ill(manager.readiness_checks()) == {}
        assert ill(manager.liveness_checks()) == {}
        assert manager.seconds_to_write() == 0
        eventually(lambda: story == ["free begins"], "the free one at work")
        assert services.names == []
        why = manager.why(ObjectName("default", "any"))
        assert (why.process, why.holder) == ("us", "other")
        assert why.elsewhere == "this process does not lead: the Lease demo/lease is held by other"
        api.put(LEASE, leaseDurationSeconds=1, renewTime="2023-01-01T00:00:00.000000Z")  # a release
        eventually(lambda: services.names, "leading")
        assert manager.seconds_to_write() > 0
        assert manager.why(ObjectName("default", "any")).elsewhere == ""
    assert api.holders[-1] == ""
    assert story == ["free begins", "free ends"]


def test_a_standby_that_ends_leaves_nothing_behind(cluster: ManagedSandbox) -> None:
    """Its controllers never ran: none of their threads is there before, while or after it waits."""
    api = LeaseAPI()
    api.put(LEASE, holderIdentity="other", leaseDurationSeconds=3600, leaseTransitions=0)
    manager = electing(cluster, api, **PATIENT)
    before = set(threading.enumerate())
    controller_for(manager, "services").for_(Service).complete_by_name(Counting())
    assert set(threading.enumerate()) == before
    with cluster.running(manager):
        eventually(lambda: api.ops.count("get") > 1, "waiting for the lease")
    assert not [thread.name for thread in threading.enumerate() if "services" in thread.name]


def test_the_lease_is_released_after_the_controllers_have_ended(cluster: ManagedSandbox) -> None:
    """While a worker may still write, no other replica may lead."""
    api, story = LeaseAPI(), list[str]()
    manager = electing(cluster, api, **PATIENT)
    manager.add(Worker(story, "w", lambda: story.append(f"holder {api.spec(LEASE)['holderIdentity']}")))
    with cluster.running(manager):
        eventually(lambda: story, "leading")
    assert story == ["w begins", "holder us", "w ends"]
    assert not api.spec(LEASE).get("holderIdentity")


def test_a_lease_is_not_released_while_a_worker_is_left_behind(cluster: ManagedSandbox) -> None:
    """It expires instead: the next leader waits for as long as the worker may still write."""
    api, story = LeaseAPI(), list[str]()
    manager = electing(cluster, api, **PATIENT)

    class Busy(Worker):
        def run(self, stop: threading.Event) -> None:
            self._story.append("begins")
            stop.wait(20)
            raise WorkersBusyError("busy", 1, 0)

    manager.add(Busy(story, "busy"))
    # one failure, although the election ends with it, too
    with pytest.raises(WorkersBusyError), captured_logs() as logs, cluster.running(manager):
        eventually(lambda: story, "leading")
    assert api.spec(LEASE)["holderIdentity"] == "us"
    assert [entry["controller"] for entry in logs if entry["event"] == "Controller failed"] == ["busy"]


def test_a_lost_lease_stops_the_controllers_and_ends_the_process(cluster: ManagedSandbox) -> None:
    """LeadershipLost is raised once everything has stopped; the lease is left alone."""
    api, story, clock = LeaseAPI(), list[str](), FakeClock()
    manager = electing(cluster, api, seams=Seams(clock=clock), **PATIENT)
    manager.add(Worker(story, "w"))
    with captured_logs():
        running = Background(lambda: manager.run(cluster.stop))
        eventually(lambda: story, "leading")
        lose_lease(api, clock, running)
    assert story == ["w begins", "w ends"]
    assert api.spec(LEASE)["holderIdentity"] == "us"
    assert manager.seconds_to_write() == 0


def test_a_lost_lease_is_raised_alone_though_work_is_stuck(cluster: ManagedSandbox) -> None:
    """As upstream: `except LeadershipLost` catches it. The log names the stuck runnable."""
    api, story, release = LeaseAPI(), list[str](), threading.Event()
    brief = {**PATIENT, "lease_duration_seconds": 5.0, "renew_deadline_seconds": 4.0}
    manager = electing(cluster, api, **brief)
    manager.add(Worker(story, "stuck", lambda: expect(release)))
    manager.add(Failing(WorkersBusyError("busy", 1, 0), "busy"))

    with captured_logs() as logs:
        running = Background(lambda: manager.run(cluster.stop))
        eventually(lambda: story, "leading")
        api.before = no_answer
        with pytest.raises(LeadershipLost):
            running.result()
    (line,) = [entry for entry in logs if entry["event"] == "Controllers did not end in time"]
    assert line["controllers"] == ["stuck"]
    release.set()
    eventually(lambda: story[-1] == "stuck ends", "ended")


def test_the_client_of_a_manager_writes_only_while_we_lead(cluster: ManagedSandbox) -> None:
    """Nothing of the user's own is needed: a write before we lead, or after a loss, is not sent."""
    cluster.install(Foo)
    api, story, clock = LeaseAPI(), list[str](), FakeClock()
    manager = electing(cluster, api, seams=Seams(clock=clock), **PATIENT)
    foos = manager.client.resource(Foo)
    manager.add(Worker(story, "w"))
    with pytest.raises(Cancelled, match="not the leader: nothing was sent"):
        foos.create(unmade_foo("too-early"))
    with captured_logs():
        running = Background(lambda: manager.run(cluster.stop))
        eventually(lambda: story, "leading")
        foos.create(unmade_foo("leading"))
        lose_lease(api, clock, running)
    with pytest.raises(Cancelled, match="not the leader: nothing was sent"):
        foos.create(unmade_foo("too-late"))
    assert [foo.metadata.name for foo in foos.list().items] == ["leading"]
    # a runnable that works without leading has the client that the manager was given
    cluster.client.resource(Foo).create(unmade_foo("free"))


def test_a_write_of_the_managers_client_has_until_the_renew_deadline_to_leave(
    cluster: ManagedSandbox,
) -> None:
    """A request that is held up behind the fence is cut by the transport, not by luck."""
    transport = ScriptedTransport([answer(), answer()])
    cluster.client = Client(transport)
    manager = electing(cluster, LeaseAPI())
    elector = manager.elector
    assert elector is not None
    elector.candidacy.try_acquire_or_renew()
    elector.candidacy.start_leading()
    manager.client.send(Call("delete", "DELETE", "/x"))
    manager.client.send(Call("get", "GET", "/x"))
    write, read = (sent.send_seconds for sent in transport.sent)
    assert 0 < write <= 10
    assert read == math.inf


def test_after_a_lost_lease_no_write_waits_for_its_turn(cluster: ManagedSandbox) -> None:
    """The fence would refuse it: it ends at once, although the program was asked to stop in peace before."""
    clock, lease_clock, api, story = FakeClock(), FakeClock(), LeaseAPI(), list[str]()
    cluster.client = limited(cluster, clock)
    manager = electing(cluster, api, seams=Seams(clock=lease_clock), **PATIENT)

    def finish() -> None:
        with pytest.raises(Cancelled):
            manager.client.get_raw("/version")

    manager.add(Worker(story, "w", finish))
    with captured_logs():
        running = Background(lambda: manager.run(cluster.stop))
        eventually(lambda: story, "leading")
        cluster.stop.set()
        clock.wait_for_deadline(1.0)
        lose_lease(api, lease_clock, running)
    assert story == ["w begins", "w ends"]


def test_after_a_lost_lease_no_wait_lasts_until_another_may_begin(
    cluster: ManagedSandbox,
) -> None:
    """Half of the time that is left of the lease as others count it, for any patience of a usual stop."""
    manager = electing(cluster, LeaseAPI(), lease_duration_seconds=15.9)
    assert manager._lifetime.seconds_to_stop() == 35
    with captured_logs():
        manager._lifetime.fail("leader election", LeadershipLost("x", 10, "y"))
    assert manager._lifetime.seconds_to_stop() == 2.5


def test_without_election_writes_are_not_fenced(cluster: ManagedSandbox) -> None:
    """One replica needs no lease."""
    manager = cluster.manager()
    assert manager.seconds_to_write() > 0
    assert manager.seconds_to_write() == math.inf
    assert manager.elector is None
    assert manager.lister_for(Deployment).get("default/x") is None


@pytest.mark.parametrize("seams", [FakeClock(), None], ids=["a clock", "nothing"])
def test_only_seams_are_taken_as_seams(cluster: ManagedSandbox, seams: Any) -> None:
    """Before threads die of them."""
    with pytest.raises(TypeError, match=r"seams is Seams\(clock=\.\.\.\)"):
        cluster.manager(seams=seams)
