"""leader_election_* and the time of a hand-over."""

from __future__ import annotations

from prometheus_client import CollectorRegistry

from handloop.controller.runtime.election.election_metrics import LeaderElectionMetrics

NAMES = (
    "leader_election_master_status",
    "leader_election_slowpath_total",
    "handloop_lease_handover_seconds_count",
)


def values(registry: CollectorRegistry) -> list[float | None]:
    """The three series of the lease foo."""
    return [registry.get_sample_value(name, {"name": "foo"}) for name in NAMES]


def test_each_step_moves_its_own_series() -> None:
    """All are there at 0 before anything happens; then on, a slow path, a hand-over; and off again."""
    registry = CollectorRegistry(auto_describe=True)
    metrics = LeaderElectionMetrics(registry)
    metrics.leader_off("foo")
    assert values(registry) == [0, 0, 0]
    metrics.leader_on("foo")
    assert values(registry) == [1, 0, 0]
    metrics.slowpath("foo")
    assert values(registry) == [1, 1, 0]
    metrics.handed_over("foo", 3.5)
    assert values(registry) == [1, 1, 1]
    metrics.leader_off("foo")
    assert values(registry) == [0, 1, 1]
    assert registry.get_sample_value("handloop_lease_handover_seconds_sum", {"name": "foo"}) == 3.5
