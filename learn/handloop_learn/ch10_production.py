"""Chapter 10: a leader loses its lease. Another replica takes over, and is then shut down."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Final, NamedTuple, Self

from prometheus_client import CollectorRegistry

from handloop.apis.coordination_v1 import Lease
from handloop.client.errors import Forbidden
from handloop.client.resource_client import Client
from handloop.controller.foo.runnable import add_foo
from handloop.controller.foo.types import Foo
from handloop.controller.runtime.election.config import LeaderElectionConfig
from handloop.controller.runtime.election.leader_election import LeadershipLost
from handloop.controller.runtime.election.lease_lock import LeaseLock
from handloop.controller.runtime.manager import Manager
from handloop.controller.runtime.serving.health import Well
from handloop.seams.clock import Clock
from handloop.seams.seams import Seams
from handloop.seams.threads import Joinable, spawn_thread
from handloop_learn.clocks import FastClock
from handloop_learn.prediction import YES, Words
from handloop_learn.screen import Colour, Screen
from handloop_learn.stage import Stage
from handloop_learn.waiting import until

ADDS: Final = "workqueue_adds_total"
LEASE: Final = "/apis/coordination.k8s.io/v1/namespaces/default/leases/foo"
WORKERS: Final = 2
RECAP: Final = (
    "One replica works. All replicas keep their caches up to date, so another can take over at once.",
    "The old leader stops before a new one starts: the renew deadline is shorter than the lease duration.",
    "An orderly shutdown releases the lease, so no replica has to wait until it expires.",
)


class End(NamedTuple):
    """
    The chapter's results.

    first, last = who held the lease, and how many workers ada and bob had, before and after the takeover;
    seconds = from the first error to the takeover, and from the end of ada's worker-0 to the start of bob's;
    ada_gave_up = whether ada could not renew the lease; refusal = the response to a user without roles; adds
    = how many keys were added to bob's queue; holder = who held the lease after bob's shutdown; order = bob's
    threads, in the order in which they ended.
    """

    first: tuple[str, int, int]
    last: tuple[str, int, int]
    seconds: tuple[float, float]
    ada_gave_up: bool
    refusal: str
    adds: float
    holder: str
    order: list[str]


def chapter(screen: Screen) -> End:
    """Run the chapter."""
    clock = FastClock(times=8)
    with Stage(users=("ada", "bob")) as stage, Replica(stage, "ada", clock) as ada:
        until(lambda: ada.workers == WORKERS and ada.synced, "a leader")
        with Replica(stage, "bob", clock) as bob:
            until(lambda: bob.synced and "ada" in bob.readiness(), "bob as a standby")
            screen.tell(
                "Two replicas of the production controller, ada and bob, run on a clock that is "
                f"{clock.times:g} times as fast as a real one."
            )
            screen.ask("Which of them works, and what does the other one do in the meantime?")
            first = _show(screen, stage, ada, bob)
            screen.reveal(
                f"{first[0]} works, because its name is in the lease. The other one waits, and keeps its "
                "caches up to date.",
                Words(("ada",), ("bob", "both")),
            )
            screen.break_it("a controller without a role lists Foos.", "Which status code does it get?")
            screen.line(refusal := refusal_without_roles(stage), Colour.RED)
            screen.reveal("403. `python -m handloop manifests rbac` prints the roles that are needed.", 403)
            seconds, last = _cut_off(screen, stage, ada, bob)
            stage.apply()
            until(lambda: bob.metric(ADDS), "a name in bob's queue")
            adds = bob.metric(ADDS)
            screen.line(f"A Foo is applied. bob's metric {ADDS}, which client-go has, too, is now {adds:g}.")
            screen.tell("Now bob is shut down. Its threads stop in this order:")
            order = bob.stopped()
            screen.line(" > ".join(order))
            screen.show(readyz=bob.readiness(), holder_of_the_lease=holder(stage) or "nobody")
            screen.tell("The workers stop first. Then bob releases the lease, and its caches stop.")
        return End(first, last, seconds, ada.lost, refusal, adds, holder(stage), order)


def _cut_off(
    screen: Screen, stage: Stage, ada: Replica, bob: Replica
) -> tuple[tuple[float, float], tuple[str, int, int]]:
    """
    Make ada lose the lease.

    Returns: the seconds until the takeover, and from the end of ada's worker-0 to the start of bob's; who
    then holds the lease, and how many workers ada and bob then have.
    """
    screen.break_it(
        "the server answers ada only with errors, so ada cannot renew the lease.",
        "Do ada's workers stop before bob's start?",
    )
    clock = ada.clock
    cut_at = clock.now()
    stage.sandbox.faults.error(500, user="ada")
    until(lambda: bob.workers == WORKERS and not ada.workers, "the takeover")
    seconds = clock.now() - cut_at, bob.began["worker-0"] - ada.ended["worker-0"]
    last = _show(screen, stage, ada, bob)
    screen.show(seconds_until_bob_works=f"{seconds[0]:.1f}", **ada.durations())
    screen.reveal(
        f"Yes: ada's workers stopped {seconds[1]:.1f} s before bob's started. ada gives up after the renew "
        "deadline, and bob waits for the lease duration. Both periods start at ada's last renewal. The "
        "seconds until bob works are counted from the first error, up to one retry period later, so they can "
        "be fewer than the lease duration.",
        Words((*YES.right, "ada"), (*YES.wrong, "bob")),
    )
    screen.tell(
        "ada's process has ended. A cluster restarts it as a standby, with no state from its time as leader."
    )
    return seconds, last


def _show(screen: Screen, stage: Stage, *replicas: Replica) -> tuple[str, int, int]:
    rows = [(one.name, one.workers, one.synced, one.readiness()) for one in replicas]
    screen.table(("replica", "workers", "caches filled", "/readyz"), rows)
    screen.show(holder_of_the_lease=holder(stage))
    return holder(stage), replicas[0].workers, replicas[1].workers


class Replica:
    """
    One replica of the Foo controller, with the default lease durations. A `with` block starts and stops it.

    lost = whether it gave up because it could not renew the lease. began, ended = when each thread started
    and ended, on the replica's clock, oldest first; each thread writes its own entry.
    """

    def __init__(self, stage: Stage, name: str, clock: Clock) -> None:
        """Args: name is the replica's name, and also the user that its client authenticates as."""
        self.name = name
        self.lost = False
        self.registry = CollectorRegistry()
        self.stop = threading.Event()
        client: Client = stage.client_of(name, stop=self.stop)
        self.began: dict[str, float] = {}
        self.ended: dict[str, float] = {}
        self.clock = clock
        self.manager = Manager(client, registry=self.registry, seams=Seams(clock=clock, spawn=self._spawn))
        add_foo(self.manager, workers=WORKERS)
        lock = LeaseLock(client.resource(Lease), namespace="default", name="foo", identity=name)
        self._election = LeaderElectionConfig(lock)
        self.manager.elect(self._election)
        self._thread = threading.Thread(target=self._run, name=f"replica-{name}")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        self._thread.join()

    @property
    def workers(self) -> int:
        """The number of live workers; 0 before it leads."""
        return sum(name.startswith("worker-") and name not in self.ended for name in list(self.began))

    @property
    def synced(self) -> bool:
        """Whether its caches are filled. A standby fills its caches, too."""
        informers = self.manager.informers()
        return bool(informers) and all(informer.has_synced() for informer in informers)

    def stopped(self) -> list[str]:
        """Stop it, and wait. Returns: the names of its threads, in the order in which they ended."""
        before = set(self.ended)
        self.stop.set()
        self._thread.join()
        return [name for name in self.ended if name not in before]

    def durations(self) -> dict[str, str]:
        """Return the election's durations in words."""
        election = self._election
        return {
            "lease_duration": f"{election.lease_duration_seconds:g} s",
            "renew_deadline": f"{election.renew_deadline_seconds:g} s",
            "retry_period": f"{election.retry_period_seconds:g} s",
        }

    def metric(self, name: str) -> float:
        """Return a metric of the workqueue, or 0 if it does not exist yet."""
        return self.registry.get_sample_value(name, {"name": "foo", "controller": "foo"}) or 0.0

    def readiness(self) -> str:
        """Return what `/readyz` answers: 200 with the state of the lease, or 503 with the reasons."""
        found = {name: check() for name, check in self.manager.readiness_checks().items()}
        bad = [reason for reason in found.values() if isinstance(reason, str)]
        said = [reason.detail for reason in found.values() if isinstance(reason, Well)]
        return "; ".join(["503", *bad] if bad else ["200", *said])

    def _spawn(self, name: str, target: Callable[[], None]) -> Joinable:
        def run() -> None:
            self.began[name] = self.clock.now()
            target()
            self.ended[name] = self.clock.now()

        return spawn_thread(name, run)

    def _run(self) -> None:
        with suppress(LeadershipLost):
            self.manager.run(self.stop)
            return
        self.lost = True


def holder(stage: Stage) -> str:
    """Return the lease's holder on the server, or "" if it has none."""
    identity: str = stage.send("GET", LEASE).get("spec", {}).get("holderIdentity", "")
    return identity


def refusal_without_roles(stage: Stage) -> str:
    """List Foos as a user without any role. Returns: the server's refusal, or "" if it allows the list."""
    try:
        stage.client_of("nobody").resource(Foo).list("default")
    except Forbidden as error:
        return str(error)
    return ""
