from __future__ import annotations

from typing import Any, Final

from prometheus_client.parser import text_string_to_metric_families

from handloop.testing.eventually import eventually as until
from support.checks.metric_table import PROCESS, TABLE, exposed
from support.rigs.foo_story import wait_available, wait_event
from support.rigs.program import SECONDS, Program, Run
from support.servers.cluster import SandboxCluster

Sample = tuple[Any, ...]

RECONCILES: Final = ("controller_runtime_reconcile_total", ("controller", "foo"))
ONLY_WITH_REPLICAS = {
    "leader_election_master_status",
    "leader_election_slowpath_total",
    "handloop_lease_handover_seconds",
    "handloop_shard_slots_held",
    "handloop_shard_slots_unheld",
    "handloop_shard_members",
    "handloop_shard_slot_handover_seconds",
    "handloop_shard_slot_changes_total",
    "handloop_shard_objects",
    "controller_runtime_webhook_requests_total",
    "controller_runtime_webhook_latency_seconds",
}
"""With leader election or shards, or with a webhook that converts."""
NOT_YET = {
    "rest_client_request_retries_total",
    "rest_client_rate_limiter_duration_seconds",
    "rest_client_dns_resolution_duration_seconds",
    "handloop_reconcile_causes_total",
    "handloop_dropped_events_total",
}
"""Labels come with the first event; causes are those of controllers on the builder."""


def samples(page: str) -> dict[Sample, float]:
    """The values by name and labels."""
    families = text_string_to_metric_families(page)
    return {(s.name, *sorted(s.labels.items())): s.value for family in families for s in family.samples}


def settled(program: Program) -> str:
    """The metrics once both syncs are counted, which comes after their events, and none is due; else ""."""
    status, page = program.page("metrics", "/metrics")
    assert status == 200
    values = samples(page)
    depth = values["workqueue_depth", ("controller", "foo"), ("name", "foo"), ("priority", "")]
    return page if depth == 0 and values[*RECONCILES, ("result", "success")] >= 2 else ""


def test_the_metrics_of_a_working_program(sandbox: SandboxCluster, run: Run) -> None:
    """Every series of the table is there, and counts."""
    with run("--controllers=foo") as program:
        program.wait_ready()
        sandbox.create_foo("counted")
        wait_available(sandbox, "counted", 1)
        wait_event(sandbox, "counted", "Synced", count=2)
        page = until(lambda: settled(program), "at rest", seconds=SECONDS)
    found = exposed(page)
    for name, row in {**TABLE, **PROCESS}.items():
        if name in found:
            assert found[name] == row, name
        else:
            assert name in ONLY_WITH_REPLICAS | NOT_YET, page
    assert {name for name in found if not name.startswith("python_")} <= TABLE.keys() | PROCESS.keys()
    values = samples(page)
    host = sandbox.server.removeprefix("http://")
    assert values["workqueue_adds_total", ("controller", "foo"), ("name", "foo")] >= 2
    created = ("rest_client_requests_total", ("code", "201"), ("host", host), ("method", "POST"))
    # the reviews of its own rights, the Deployment and the event
    assert values[created] >= 3
    assert values[*RECONCILES, ("result", "requeue")] == 0
    assert values["informer_cached_objects", ("name", "foos.samplecontroller.k8s.io")] == 1
    assert values["informer_cached_objects", ("name", "deployments.apps")] == 1
