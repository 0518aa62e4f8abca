"""The leader_election_* metrics of client-go and controller-runtime, and the duration of takeovers."""

from __future__ import annotations

from typing import Final, Protocol

from prometheus_client import CollectorRegistry

from handloop.controller.runtime.metrics.instruments import Instruments

HAND_OVER_BUCKETS: Final = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 12.0, 15.0, 17.0, 20.0, 30.0, 60.0)


class ElectionReports(Protocol):
    """Receives a candidate's reports on the elector's thread. name is the lease's name."""

    def leader_off(self, name: str) -> None:
        """Record that this process does not lead, or no longer leads."""

    def leader_on(self, name: str) -> None:
        """Record that this process leads."""

    def slowpath(self, name: str) -> None:
        """Count a renewal that had to read the lease before writing it."""

    def handed_over(self, name: str, seconds: float) -> None:
        """Record a takeover. Args: seconds is the time since the lease's last observed change before it."""


class LeaderElectionMetrics:
    """The instruments for all leases. The label `name` has the lease's name. Threads: any thread may call."""

    def __init__(self, registry: CollectorRegistry) -> None:
        new = Instruments(registry, "leader_election", "name")
        self._status = new.gauge("master_status", "1 while this process holds the lease, 0 while it does not")
        self._slowpath = new.counter("slowpath_total", "Renewals that had to read the lease first")
        self._hand_over = Instruments(registry, "handloop", "name").histogram(
            "lease_handover_seconds",
            "Seconds between the last change of a lease by another holder and our takeover",
            HAND_OVER_BUCKETS,
        )

    def leader_off(self, name: str) -> None:
        """Record that this process does not lead. All series of the lease then exist, with value 0."""
        self._status.labels(name).set(0)
        self._slowpath.labels(name)
        self._hand_over.labels(name)

    def leader_on(self, name: str) -> None:
        """Record that this process leads."""
        self._status.labels(name).set(1)

    def slowpath(self, name: str) -> None:
        """Count a renewal that had to read the lease before writing it."""
        self._slowpath.labels(name).inc()

    def handed_over(self, name: str, seconds: float) -> None:
        """Record a takeover. Args: seconds is the time since the lease's last observed change before it."""
        self._hand_over.labels(name).observe(seconds)
