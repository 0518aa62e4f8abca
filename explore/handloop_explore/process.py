"""One of the operator's processes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, closing, nullcontext
from typing import Any

from prometheus_client import CollectorRegistry

from handloop.client.errors import ConnectionBroken
from handloop.client.resource_client import Client
from handloop.client.transport import Transport
from handloop.controller.runtime.election.election import Election
from handloop.controller.runtime.election.leader_election import LeadershipLost
from handloop.controller.runtime.election.lease_connections import LeaseConnections
from handloop.controller.runtime.manager import Manager
from handloop_explore.branches import Branches
from handloop_explore.cluster import VirtualCluster
from handloop_explore.leadership import NOWHERE, TERMS, Leadership, LeaseTransport
from handloop_explore.plan import PAUSE_SECONDS, Where
from handloop_explore.played import Journal
from handloop_explore.record import OPERATOR, RecordedTransport
from handloop_explore.strikes import place_of
from handloop_explore.struck_transport import StruckTransport
from handloop_explore.timed_queues import TimedQueues
from handloop_explore.views import Views
from handloop_explore.virtual_threads import VirtualThread


class Process:
    """
    One of the operator's processes.

    With a leadership, the process works only while it leads, as a program with --leader-elect does.
    State: is_dead, whether the process has ended, so that its requests fail; is_down: see crash.
    """

    def __init__(
        self,
        set_up: Callable[[Any], object],
        cluster: VirtualCluster,
        journal: Journal,
        struck_here: Callable[[Where, int], str],
        end: Callable[[Process, str], None],
        *,
        branches: Branches,
        number: int = 1,
        leadership: Leadership | None = None,
    ) -> None:
        """
        Args: end: ends the process at once, for the given reason, and replaces it with another one.
        struck_here: receives the kind (see Strike.where) and the number of each of the operator's calls, just
        before the server receives the call, and returns the fault that strikes it, or "". In a trunk,
        struck_here also forks the run. number: the process's number, from 1; each new process has a new
        number. leadership: None without an election. branches: records which lines of the operator run.
        """
        self.is_dead = self.is_down = False
        self.number = number
        self.kinds: list[Any] = []
        self.manager: Manager | None = None
        self.cluster = cluster
        self.journal = journal
        self.struck_here = struck_here
        self.leadership = leadership
        self.agent = f"operator/{number}"
        self.views = Views(cluster, self.agent)
        self._end = end
        self._branches = branches
        self._set_up = set_up

    @property
    def name(self) -> str:
        """The process's name in the story."""
        return f"process {self.number}"

    def check_alive(self) -> None:
        """Raises: ConnectionBroken if the process has ended."""
        if self.is_dead:
            raise ConnectionBroken("the process has ended")

    def crash(self, *, is_down: bool = False) -> None:
        """
        End the process at once. Never returns in a thread of the process.

        Args: is_down: whether no other process starts before the users' last step.
        """
        self.is_down = is_down
        self._end(self, "as by kill -9")

    def start(self) -> None:
        """Set up the operator, and run it until the process or the run ends."""
        thread = VirtualThread(self.journal.threads, target=self._main, name="operator")
        thread.process = self
        thread.start()

    def _main(self) -> None:
        threads = self.journal.threads
        stop, seams = threads.new_event(), threads.seams
        transport = StruckTransport(self._recorded(), self)
        client: Any = Client(transport, stop=stop, seams=seams, user_agent=self.agent)
        manager = Manager(client, registry=CollectorRegistry(), seams=seams, **self._shared(client))
        manager.workqueue_metrics = TimedQueues(self.journal, self._works)
        self._branches.trace(begins=True)
        try:
            self._set_up(manager)
        finally:
            self._branches.trace(begins=False)
        self.manager = manager
        self.kinds = [informer.kind for informer in manager.informers()]
        if any(kind.resource.plural == "events" for kind in self.kinds):
            self.cluster.keep_events()
        try:
            with self._elected(manager):
                manager.run(stop)
        except LeadershipLost as lost:
            self._end(self, f"because it has {lost}")
        except Exception as error:  # noqa: BLE001 - any error is a verdict
            self.journal.died = f"{type(error).__name__}: {error}"
            self.journal.tell(self.name, f"the process ended by itself: {self.journal.died}")

    def _works(self, begins: bool) -> None:  # noqa: FBT001 - called by position
        """Record that the running thread starts or ends a reconcile, so that a plan can strike its waits."""
        self.journal.threads.current_thread().on_wait = self._waits if begins else None
        self._branches.trace(begins=begins)

    def _waits(self) -> None:
        thread = self.journal.threads.current_thread()
        self.journal.waits += 1
        number, thread.on_wait = self.journal.waits, None  # a strike's own wait is not counted
        if what := self.struck_here("p", number):
            self.journal.tell("plan", f"the plan strikes wait {number}, in a reconcile: {what}")
            if what == "crash":
                self.crash()
            self.journal.threads.pause(PAUSE_SECONDS)
        thread.on_wait = self._waits

    def _shared(self, client: Client) -> dict[str, Any]:
        """Return the arguments for a manager that shares its work by slots, or {} for any other manager."""
        if self.leadership is None or self.leadership.shards is None:
            return {}
        transport: Any = LeaseTransport(self.cluster.transport(), self, self.leadership)
        seams = self.journal.threads.seams
        connections = LeaseConnections(NOWHERE, user_agent=self.agent, transport=transport, seams=seams)
        return {"shards": self.leadership.shards, "leases": connections.leases(client.reachability)}

    def _elected(self, manager: Manager) -> AbstractContextManager[object]:
        """Return a context in which the manager runs only while it leads, if several processes run."""
        if self.leadership is None or self.leadership.shards:
            return nullcontext()
        election = Election(
            NOWHERE,
            TERMS,
            component="operator-leader-election",
            user_agent=self.agent,
            end_process=lambda _: self._end(self, "because its work outlives its Lease"),
            transport=LeaseTransport(self.cluster.transport(), self, self.leadership),
            seams=manager.seams,
        )
        election.elect(manager)
        return closing(election)

    def _recorded(self) -> Transport:
        cluster = self.cluster
        return RecordedTransport(
            cluster.transport(OPERATOR),
            cluster.record,
            lambda: cluster.version,
            self._seen,
            self.journal.arrived,
        )

    def _seen(self, path: str) -> int:
        """Return the cached version of the object at a path, or 0 if the object is not cached."""
        namespace, collection, name = place_of(path)
        key = f"{namespace}/{name}" if namespace else name
        for informer in self.manager.informers() if self.manager else ():
            if informer.kind.resource.path(namespace=namespace) == collection:
                held = informer.indexer.get_by_key(key)
                return int(held.metadata.resource_version) if held else 0
        return 0
