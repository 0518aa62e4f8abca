"""Leader election for a manager, over connections that only the election uses."""

from __future__ import annotations

import os
import socket
import threading
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from handloop.client.auth.in_cluster import SERVICE_ACCOUNT, in_cluster_namespace
from handloop.client.config import ClientConfig
from handloop.client.request_reports import NO_METRICS, RequestMetrics
from handloop.client.resource_client import Client
from handloop.client.transport import Transport
from handloop.controller.runtime.election.candidacy import ElectionStatistics
from handloop.controller.runtime.election.config import LeaderElectionConfig
from handloop.controller.runtime.election.durations import (
    LEASE_DURATION_SECONDS,
    RENEW_DEADLINE_SECONDS,
    RETRY_PERIOD_SECONDS,
)
from handloop.controller.runtime.election.leader_election import LeadershipLost
from handloop.controller.runtime.election.lease_connections import LeaseConnections
from handloop.controller.runtime.election.lease_lock import LeaseLock
from handloop.controller.runtime.events.recorder import EventRecorder
from handloop.seams.seams import REAL_SEAMS, Seams

LINGER_SECONDS: Final = 1.0
_EXIT_FATAL: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseTerms:
    """The Lease of an election, and the durations with which it is renewed; see LeaderElectionConfig."""

    namespace: str
    name: str
    lease_duration_seconds: float = LEASE_DURATION_SECONDS
    renew_deadline_seconds: float = RENEW_DEADLINE_SECONDS
    retry_period_seconds: float = RETRY_PERIOD_SECONDS

    def config(self, lock: LeaseLock, *, of_many: bool = False) -> LeaderElectionConfig:
        """Return a candidate's configuration with this lock and these durations."""
        return LeaderElectionConfig(
            lock,
            lease_duration_seconds=self.lease_duration_seconds,
            renew_deadline_seconds=self.renew_deadline_seconds,
            retry_period_seconds=self.retry_period_seconds,
            of_many=of_many,
        )


def lease_terms(
    lease: str, environment: Mapping[str, str] = os.environ, *, service_account: str = SERVICE_ACCOUNT
) -> LeaseTerms:
    """
    Return the LeaseTerms of a Lease, with the default durations.

    Args: lease is `namespace/name`; in a pod, a name alone means the pod's namespace. service_account is the
    folder that contains a pod's account.
    Raises: ValueError for a lease without a name or, outside a pod, without a namespace.
    """
    namespace, _, name = lease.rpartition("/")
    if not namespace and (environment.get("POD_NAMESPACE") or Path(service_account, "namespace").exists()):
        namespace = in_cluster_namespace(environment, service_account)
    if not namespace or not name:
        raise ValueError(f'the lease "{lease}" needs a namespace outside a cluster: "NAMESPACE/NAME"')
    return LeaseTerms(namespace=namespace, name=name)


class Electing(Protocol):
    """The part of a manager that an election needs."""

    @property
    def client(self) -> Client:
        """The manager's client."""

    def recorder(self, component: str) -> EventRecorder:
        """Records Events."""

    def elect(
        self,
        config: LeaderElectionConfig,
        *,
        on_waiting: Callable[[ElectionStatistics], None] | None = None,
        on_lost: Callable[[LeadershipLost], None] | None = None,
    ) -> None:
        """Work only while holding a lease."""


class Election:
    """
    Sets up leader election in a manager.

    An election has its own connections, so that a busy controller cannot delay a renewal. If end_process is
    given, a process that has lost its lease has one second to shut down cleanly before end_process is called.

    State: _over, which close sets.
    Threads: after the lease is lost, `lost-lease` waits for the shutdown and calls end_process.
    """

    def __init__(
        self,
        config: ClientConfig,
        terms: LeaseTerms,
        *,
        component: str,
        user_agent: str,
        on_waiting: Callable[[ElectionStatistics], None] | None = None,
        on_lost: Callable[[LeadershipLost], object] | None = None,
        end_process: Callable[[int], object] | None = None,
        metrics: RequestMetrics = NO_METRICS,
        transport: Transport | None = None,
        seams: Seams = REAL_SEAMS,
    ) -> None:
        """
        Prepare the election. No request is sent.

        Args: component is the source that Events about the lease name; on_waiting and on_lost work as in
        LeaderCallbacks; end_process ends this process immediately, with an exit code; if transport is None,
        connections are created from config.
        """
        self._terms = terms
        self._component = component
        self._on_waiting = on_waiting
        self._on_lost = on_lost
        self._end_process = end_process
        self._seams = seams
        self._over = threading.Event()
        self._connections = LeaseConnections(
            config,
            user_agent=f"{user_agent} leader-election",
            metrics=metrics,
            transport=transport,
            seams=seams,
        )

    def close(self) -> None:
        """Record that the work has ended, so that end_process is not called, and close the connections."""
        self._over.set()
        self._connections.close()

    def elect(self, manager: Electing) -> None:
        """Make the manager work only while it leads. Raises: ValueError if the durations conflict."""
        terms = self._terms
        lock = LeaseLock(
            self._connections.leases(manager.client.reachability),
            namespace=terms.namespace,
            name=terms.name,
            identity=new_identity(),
            recorder=manager.recorder(self._component),
        )
        manager.elect(terms.config(lock), on_waiting=self._on_waiting, on_lost=self._lost)

    def _lost(self, lost: LeadershipLost) -> None:
        """
        Report that the lease is lost.

        If end_process was given, another thread calls it after one second, unless close was called by then. A
        request or a log line that blocks cannot prevent this.
        Threads: called on the elector's thread.
        """
        if self._end_process is not None:
            self._seams.spawn("lost-lease", self._end_in_time)
        if self._on_lost is not None:
            self._on_lost(lost)

    def _end_in_time(self) -> None:
        assert self._end_process is not None
        if not self._seams.clock.sleep(LINGER_SECONDS, self._over):
            self._end_process(_EXIT_FATAL)


def new_identity() -> str:
    """Return `<host>_<random>`, an identity that people recognize and that is unique among candidates."""
    return f"{socket.gethostname()}_{uuid.uuid4()}"
