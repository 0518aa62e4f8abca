"""Leader election as the command line asks for it: a lease of our own, and what is said about it."""

from __future__ import annotations

import os
import socket
import threading
import uuid
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

from handloop.apis.coordination_v1 import Lease
from handloop.client.config import ClientConfig
from handloop.client.reachability import Reachability
from handloop.client.request_metrics import RequestMetrics
from handloop.client.resource_client import Client, ResourceClient
from handloop.client.transport import HTTPTransport
from handloop.controller.cli.election_problems import lost_lease
from handloop.controller.cli.options import Options
from handloop.controller.cli.problems import EXIT_FATAL, Problem
from handloop.controller.cli.standby_report import StandbyReport
from handloop.controller.cli.version import version
from handloop.controller.runtime.election.config import LeaderElection
from handloop.controller.runtime.election.leader_election import LeadershipLost
from handloop.controller.runtime.election.lease_lock import LeaseLock
from handloop.controller.runtime.manager import Manager
from handloop.workqueue.clock import Clock
from handloop.workqueue.spawn import Spawn, spawn_thread

LINGER_SECONDS: Final = 1.0
COMPONENT: Final = "handloop-leader-election"


class Election:
    """
    Sets leader election up in a manager, and ends the process in time when the lease is lost.

    It has connections of its own, so that a busy controller cannot keep the lease from being renewed. After a
    loss the process has a second to end in order; then it ends, whatever it is doing.

    State: _over, set once there is nothing left to end. Threads: `lost-lease`, only after a loss.
    """

    def __init__(
        self,
        config: ClientConfig,
        options: Options,
        *,
        say: Callable[[Problem], object],
        metrics: RequestMetrics,
        clock: Clock,
        spawn: Spawn = spawn_thread,
        end_process: Callable[[int], object] = os._exit,
    ) -> None:
        """Prepare; nothing is sent. Args: end_process ends this process at once, with an exit code."""
        self._options = options
        self._say = say
        self._metrics = metrics
        self._clock = clock
        self._spawn = spawn
        self._end_process = end_process
        self._over = threading.Event()
        self._transport = HTTPTransport(config, metrics=metrics, clock=clock)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._transport.close()

    def elect(self, manager: Manager) -> None:
        """Let manager work only while it leads."""
        options = self._options
        lock = LeaseLock(
            self._leases(manager.client.reachability),
            namespace=options.leader_elect_resource_namespace,
            name=options.leader_elect_resource_name,
            identity=new_identity(),
            recorder=manager.recorder(COMPONENT),
        )
        rhythm = LeaderElection(
            lock,
            lease_duration_seconds=options.leader_elect_lease_duration,
            renew_deadline_seconds=options.leader_elect_renew_deadline,
            retry_period_seconds=options.leader_elect_retry_period,
        )
        manager.elect(rhythm, on_waiting=StandbyReport(self._say, self._clock), on_lost=self._lost)

    def _leases(self, reachability: Reachability) -> ResourceClient[Lease]:
        # a client that is stopped repeats nothing and waits for nothing: the elector does, in its own rhythm
        stopped = threading.Event()
        stopped.set()
        client = Client(
            self._transport,
            metrics=self._metrics,
            user_agent=f"handloop/{version()} leader-election",
            clock=self._clock,
            stop=stopped,
            reachability=reachability,
        )
        return client.resource(Lease)

    def _lost(self, lost: LeadershipLost) -> None:
        """E12, and an end that neither a hanging request nor a blocked log puts off. The elector's thread."""
        self._spawn("lost-lease", self._end_in_time)
        self._say(lost_lease(lost))

    def _end_in_time(self) -> None:
        if not self._clock.sleep(LINGER_SECONDS, self._over):
            self._end_process(EXIT_FATAL)


def new_identity() -> str:
    """`<host>_<random>`: a name for people, and unlike that of any other candidate."""
    return f"{socket.gethostname()}_{uuid.uuid4()}"
