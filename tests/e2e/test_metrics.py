from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from support.cluster import SandboxCluster
from support.foo_story import wait_available, wait_event
from support.metric_table import PROCESS, TABLE, exposed
from support.program import Run

ONLY_WITH_LEADER_ELECTION = {
    "leader_election_master_status",
    "leader_election_slowpath_total",
    "handloop_lease_handover_seconds",
}
NOT_YET = {
    "rest_client_request_retries_total",
    "rest_client_rate_limiter_duration_seconds",
    "rest_client_dns_resolution_duration_seconds",
    "handloop_own_write_waits_total",
    "handloop_own_write_timeouts_total",
    "handloop_own_write_wait_seconds",
    "handloop_reconcile_causes_total",
}
"""Labels come with the first event; own writes and causes are those of controllers on the builder."""


def test_the_metrics_of_a_working_program(sandbox: SandboxCluster, run: Run) -> None:
    """Every series is there as the table says, and counts what has happened."""
    with run("--controllers=foo") as program:
        program.wait_ready()
        sandbox.create_foo("counted")
        wait_available(sandbox, "counted", 1)
        wait_event(sandbox, "counted", "Synced", count=2)
        status, page = program.page("metrics", "/metrics")
        assert status == 200
    found = exposed(page)
    for name, row in {**TABLE, **PROCESS}.items():
        if name in found:
            assert found[name] == row, name
        else:
            assert name in ONLY_WITH_LEADER_ELECTION | NOT_YET, page
    assert {name for name in found if not name.startswith("python_")} <= TABLE.keys() | PROCESS.keys()
    families = {family.name: family for family in text_string_to_metric_families(page)}
    values = {(s.name, *sorted(s.labels.items())): s.value for f in families.values() for s in f.samples}
    host = sandbox.server.removeprefix("http://")
    foo = ("name", "foo")
    assert values["workqueue_adds_total", ("controller", "foo"), foo] >= 2
    assert values["workqueue_depth", ("controller", "foo"), foo, ("priority", "")] == 0
    created = ("rest_client_requests_total", ("code", "201"), ("host", host), ("method", "POST"))
    # the reviews of its own rights, the Deployment and the event
    assert values[created] >= 3
    reconciles = ("controller_runtime_reconcile_total", ("controller", "foo"))
    assert values[*reconciles, ("result", "success")] >= 2
    assert values[*reconciles, ("result", "requeue")] == 0
    assert values["informer_cached_objects", ("name", "foos.samplecontroller.k8s.io")] == 1
    assert values["informer_cached_objects", ("name", "deployments.apps")] == 1
