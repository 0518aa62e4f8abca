from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from support.cluster import SandboxCluster
from support.foo_story import wait_available, wait_event
from support.program import Run

QUEUE = {"name", "controller"}
BY_VERB = {"verb", "host"}
EXPECTED: dict[str, tuple[str, set[str]]] = {
    "workqueue_depth": ("gauge", QUEUE | {"priority"}),
    "workqueue_adds": ("counter", QUEUE),
    "workqueue_queue_duration_seconds": ("histogram", QUEUE),
    "workqueue_work_duration_seconds": ("histogram", QUEUE),
    "workqueue_unfinished_work_seconds": ("gauge", QUEUE),
    "workqueue_longest_running_processor_seconds": ("gauge", QUEUE),
    "workqueue_retries": ("counter", QUEUE),
    "rest_client_requests": ("counter", {"code", "method", "host"}),
    "rest_client_request_duration_seconds": ("histogram", BY_VERB),
    "rest_client_request_size_bytes": ("histogram", BY_VERB),
    "rest_client_response_size_bytes": ("histogram", BY_VERB),
    "informer_cached_objects": ("gauge", {"name"}),
    "informer_queued_items": ("gauge", {"name"}),
    "informer_store_resource_version": ("gauge", {"name"}),
    "informer_last_event_timestamp_seconds": ("gauge", {"name"}),
    "informer_quarantined_objects": ("gauge", {"name"}),
    "informer_processing_latency_seconds": ("histogram", {"name"}),
    "process_cpu_seconds": ("counter", set()),
    "process_resident_memory_bytes": ("gauge", set()),
    "process_virtual_memory_bytes": ("gauge", set()),
    "process_open_fds": ("gauge", set()),
    "process_max_fds": ("gauge", set()),
    "process_start_time_seconds": ("gauge", set()),
}


def test_the_metrics_of_a_working_program(sandbox: SandboxCluster, run: Run) -> None:
    """Every family is there with its type and labels, and counts what has happened."""
    with run() as program:
        program.wait_ready()
        sandbox.create_foo("counted")
        wait_available(sandbox, "counted", 1)
        wait_event(sandbox, "counted", "Synced", count=2)
        status, page = program.page("metrics", "/metrics")
        assert status == 200
    families = {family.name: family for family in text_string_to_metric_families(page)}
    for name, (kind, labels) in EXPECTED.items():
        assert name in families, page
        assert families[name].type == kind
        assert families[name].samples, name
        assert {frozenset(s.labels) - {"le"} for s in families[name].samples} == {frozenset(labels)}, name
    values = {(s.name, *sorted(s.labels.items())): s.value for f in families.values() for s in f.samples}
    host = sandbox.server.removeprefix("http://")
    foo = ("name", "foo")
    assert values["workqueue_adds_total", ("controller", "foo"), foo] >= 2
    assert values["workqueue_depth", ("controller", "foo"), foo, ("priority", "")] == 0
    created = ("rest_client_requests_total", ("code", "201"), ("host", host), ("method", "POST"))
    # the reviews of its own rights, the Deployment and the event
    assert values[created] >= 3
    assert values["informer_cached_objects", ("name", "foos.samplecontroller.k8s.io")] == 1
    assert values["informer_cached_objects", ("name", "deployments.apps")] == 1
