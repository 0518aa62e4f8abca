"""Leader election as the command line asks for it: its lease, and its messages E11 and E12."""

from __future__ import annotations

import os
import socket
import threading
import uuid
from collections.abc import Callable
from typing import Final

from handloop.apis.coordination_v1 import Lease
from handloop.client.config import ClientConfig
from handloop.client.request_reports import RequestMetrics
from handloop.client.resource_client import Client, ResourceClient
from handloop.client.rest_client import Reachability
from handloop.client.transport import HTTPTransport
from handloop.controller.cli.options import Options
from handloop.controller.cli.problems import EXIT_FATAL, EXIT_OK, Problem
from handloop.controller.runtime.election.candidacy import ElectionStatistics
from handloop.controller.runtime.election.config import LeaderElection
from handloop.controller.runtime.election.leader_election import LeadershipLost
from handloop.controller.runtime.election.lease_lock import LeaseLock
from handloop.controller.runtime.manager import Manager
from handloop.workqueue.seams import REAL_SEAMS, Clock, Seams

LINGER_SECONDS: Final = 1.0


class Election:
    """
    Sets leader election up in a manager, and ends the process in time when the lease is lost.

    It has connections of its own, so that a busy controller cannot delay a renewal. After a loss the process
    has a second to end in order; then it is ended, whatever it is doing.

    State: _over, set when the work has ended in order. Threads: `lost-lease`, only after a loss.
    """

    def __init__(
        self,
        config: ClientConfig,
        options: Options,
        *,
        say: Callable[[Problem], object],
        metrics: RequestMetrics,
        seams: Seams = REAL_SEAMS,
        end_process: Callable[[int], object] = os._exit,
    ) -> None:
        """Prepare; nothing is sent. Args: end_process ends this process at once, with an exit code."""
        self._options = options
        self._say = say
        self._metrics = metrics
        self._seams = seams
        self._end_process = end_process
        self._over = threading.Event()
        self._transport = HTTPTransport(config, metrics=metrics, seams=seams)

    def close(self) -> None:
        """Say that the work has ended in order, and give the connections back."""
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
            recorder=manager.recorder(f"{options.operator.name}-leader-election"),
        )
        rhythm = LeaderElection(
            lock,
            lease_duration_seconds=options.leader_elect_lease_duration,
            renew_deadline_seconds=options.leader_elect_renew_deadline,
            retry_period_seconds=options.leader_elect_retry_period,
        )
        manager.elect(rhythm, on_waiting=StandbyReport(self._say, self._seams.clock), on_lost=self._lost)

    def _leases(self, reachability: Reachability) -> ResourceClient[Lease]:
        # a stopped client neither repeats nor waits: the elector does both, in its own rhythm
        stopped = threading.Event()
        stopped.set()
        client = Client(
            self._transport,
            metrics=self._metrics,
            user_agent=f"{self._options.operator.user_agent} leader-election",
            seams=self._seams,
            stop=stopped,
            reachability=reachability,
        )
        return client.resource(Lease)

    def _lost(self, lost: LeadershipLost) -> None:
        """Say E12, and end in time even if a request hangs or the log blocks. The elector's thread."""
        self._seams.spawn("lost-lease", self._end_in_time)
        self._say(lost_lease(lost))

    def _end_in_time(self) -> None:
        if not self._seams.clock.sleep(LINGER_SECONDS, self._over):
            self._end_process(EXIT_FATAL)


def new_identity() -> str:
    """`<host>_<random>`: people recognise it, and no other candidate has it."""
    return f"{socket.gethostname()}_{uuid.uuid4()}"


STANDBY_SECONDS: Final = 60.0


class StandbyReport:
    """
    Says E11 after the first attempt in vain, when the holder changes, and every minute.

    State: _said_at, _holder, of the elector's thread alone, which calls it.
    """

    def __init__(self, say: Callable[[Problem], object], clock: Clock) -> None:
        self._say = say
        self._clock = clock
        self._said_at: float | None = None
        self._holder = ""

    def __call__(self, seen: ElectionStatistics) -> None:
        """An attempt to lead was in vain."""
        now = self._clock.now()
        recently = self._said_at is not None and now - self._said_at < STANDBY_SECONDS
        if recently and seen.holder == self._holder:
            return
        self._said_at, self._holder = now, seen.holder
        self._say(standby(seen))


def standby(seen: ElectionStatistics) -> Problem:
    """E11: this replica runs, and another one works."""
    namespace, _, name = seen.lease.partition("/")
    return Problem(
        code="E11",
        exit_code=EXIT_OK,
        severity="info",
        what=f"standby: lease {seen.lease} {_state(seen)}",
        causes=(_cause(seen),),
        fixes=(f"kubectl -n {namespace} get lease {name}   (who holds it, and since when)",),
    )


def _state(seen: ElectionStatistics) -> str:
    if seen.renewed_seconds_ago is None:
        return "could not be read yet"
    if not seen.holder:
        return "has no holder"
    ago, left = round(seen.renewed_seconds_ago), round(seen.expires_in_seconds)
    return f"held by {seen.holder} (renewed {ago} s ago, expires in {left} s)"


def _cause(seen: ElectionStatistics) -> str:
    if seen.last_error:
        return f"the last try failed: {seen.last_error}"
    if not seen.holder:
        return "this replica takes over in a moment"
    return "this is normal: one replica works, the others wait with warm caches"


def lost_lease(lost: LeadershipLost) -> Problem:
    """E12: another replica may work from now on, so this process must not."""
    return Problem(
        code="E12",
        exit_code=EXIT_FATAL,
        what=f"lost leadership: lease {lost.lease} not renewed for {lost.seconds:.0f} s ({lost.why})",
        causes=("another replica may lead from now on, so this process ends; a Deployment starts it again",),
        fixes=(
            "kubectl get --raw /readyz?verbose   (is the API server slow?)",
            "raise the CPU limit of this process, or the durations of --leader-elect",
        ),
    )
