"""handloop_shard_*."""

from __future__ import annotations

from prometheus_client import CollectorRegistry

from handloop.controller.runtime.sharding.shard_metrics import ShardMetrics


def test_a_turn_sets_the_gauges_and_a_handover_is_timed() -> None:
    """Slots have no series of their own: an elector's reports move the handovers alone."""
    registry = CollectorRegistry(auto_describe=True)
    metrics = ShardMetrics(registry)
    metrics.report(held=4, unheld=1, members=3)
    metrics.changed("taken", 5)
    metrics.changed("lost", 1)
    metrics.leader_off("op-slot-0-of-16")
    metrics.leader_on("op-slot-0-of-16")
    metrics.slowpath("op-slot-0-of-16")
    metrics.handed_over("op-slot-0-of-16", 0.5)
    values = {
        (sample.name, *sample.labels.values()): sample.value
        for family in registry.collect()
        for sample in family.samples
        if not sample.name.endswith(("_bucket", "_created"))
    }
    assert values == {
        ("handloop_shard_slots_held",): 4,
        ("handloop_shard_slots_unheld",): 1,
        ("handloop_shard_members",): 3,
        ("handloop_shard_slot_changes_total", "taken"): 5,
        ("handloop_shard_slot_changes_total", "given_up"): 0,
        ("handloop_shard_slot_changes_total", "lost"): 1,
        ("handloop_shard_slot_handover_seconds_count",): 1,
        ("handloop_shard_slot_handover_seconds_sum",): 0.5,
    }
