"""The metrics handloop_shard_*: the slots of this replica, the slots without a holder, and handover times."""

from __future__ import annotations

from typing import Final

from prometheus_client import CollectorRegistry

from handloop.controller.runtime.election.election_metrics import HAND_OVER_BUCKETS
from handloop.controller.runtime.metrics.instruments import Instruments

CHANGES: Final = ("taken", "given_up", "lost")


class ShardMetrics:
    """
    The metrics of a replica. They count slots, and have no label that says which slot it is.

    Implements handloop.controller.runtime.election.election_metrics.ElectionReports. Threads: any thread can
    call the methods.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        new = Instruments(registry, "handloop_shard")
        self._held = new.gauge("slots_held", "Slots whose Lease this replica holds")
        self._unheld = new.gauge(
            "slots_unheld", "Slots whose Lease no living replica holds, as seen by this replica"
        )
        self._members = new.gauge("members", "Living replicas that share the slots, as seen by this replica")
        self._changes = new.counter(
            "slot_changes", "Slots that this replica has taken, given up, or lost with their Lease", "change"
        )
        for change in CHANGES:
            self._changes.labels(change)
        self._hand_over = new.histogram(
            "slot_handover_seconds",
            "Seconds between the last change of a slot's Lease by another holder and our takeover",
            HAND_OVER_BUCKETS,
        )

    def report(self, *, held: int, unheld: int, members: int) -> None:
        """Set the gauges, once per turn of the coordinator."""
        self._held.set(held)
        self._unheld.set(unheld)
        self._members.set(members)

    def changed(self, change: str, slots: int) -> None:
        """Count slots that were taken, given up, or lost. Args: change is one of CHANGES."""
        self._changes.labels(change).inc(slots)

    def leader_off(self, name: str) -> None:
        """Do nothing, because report sets the gauges once per turn."""

    def leader_on(self, name: str) -> None:
        """Do nothing, because report sets the gauges once per turn."""

    def slowpath(self, name: str) -> None:
        """Do nothing, because a count of slow renewals is useful only if there is a single Lease."""

    def handed_over(self, name: str, seconds: float) -> None:  # noqa: ARG002 - slots have no label
        """Record a takeover. Args: seconds is the time since another holder last changed the slot's Lease."""
        self._hand_over.observe(seconds)
