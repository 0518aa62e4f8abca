"""
Every series of /metrics, as dashboards and alerts are bound to it: name, type, labels and bucket bounds.

Of controller_runtime_webhook_* those that a conversion has are there; no other webhook exists.
go_* cannot be honest in Python; python_info and python_gc_* stand in their place.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from handloop.controller.runtime.metrics.metrics_page import metrics_page


def _bounds(text: str) -> tuple[str, ...]:
    return tuple(text.split())


B_EXP: Final = _bounds("1e-08 1e-07 1e-06 1e-05 0.0001 0.001 0.01 0.1 1 10 100 1000")
B_REST: Final = _bounds("0.005 0.025 0.1 0.25 0.5 1 2 4 8 15 30 60")
B_SIZE: Final = _bounds("64 256 512 1024 4096 16384 65536 262144 1.048576e+06 4.194304e+06 1.6777216e+07")
B_SMALL: Final = _bounds(
    "0.005 0.01 0.025 0.05 0.1 0.15 0.2 0.25 0.3 0.35 0.4 0.45 0.5 0.6 0.7 0.8 0.9 1 1.25 1.5 1.75 2 2.5 3 "
    "3.5 4 4.5 5 6 7 8 9 10 15 20 25 30 40 50 60"
)
B_WEBHOOK: Final = _bounds("0.005 0.01 0.025 0.05 0.1 0.25 0.5 1 2.5 5 10")
B_HAND_OVER: Final = _bounds("0.1 0.25 0.5 1 2 4 8 12 15 17 20 30 60")


class Row(NamedTuple):
    """What a series is: its type, its labels and, for a histogram, its buckets without +Inf, as text."""

    type: str
    labels: frozenset[str] = frozenset()
    buckets: tuple[str, ...] = ()


def _row(kind: str, labels: str = "", buckets: tuple[str, ...] = ()) -> Row:
    return Row(kind, frozenset(labels.split()), buckets)


_CONTROLLER_RUNTIME: Final = {
    "controller_runtime_reconcile_total": _row("counter", "controller result"),
    "controller_runtime_reconcile_errors_total": _row("counter", "controller"),
    "controller_runtime_terminal_reconcile_errors_total": _row("counter", "controller"),
    "controller_runtime_reconcile_panics_total": _row("counter", "controller"),
    "controller_runtime_reconcile_timeouts_total": _row("counter", "controller"),
    "controller_runtime_reconcile_time_seconds": _row("histogram", "controller", B_SMALL),
    "controller_runtime_max_concurrent_reconciles": _row("gauge", "controller"),
    "controller_runtime_active_workers": _row("gauge", "controller"),
    "workqueue_depth": _row("gauge", "name controller priority"),
    "workqueue_adds_total": _row("counter", "name controller"),
    "workqueue_queue_duration_seconds": _row("histogram", "name controller", B_EXP),
    "workqueue_work_duration_seconds": _row("histogram", "name controller", B_EXP),
    "workqueue_unfinished_work_seconds": _row("gauge", "name controller"),
    "workqueue_longest_running_processor_seconds": _row("gauge", "name controller"),
    "workqueue_retries_total": _row("counter", "name controller"),
    "rest_client_requests_total": _row("counter", "code method host"),
    "rest_client_request_duration_seconds": _row("histogram", "verb host", B_REST),
    "rest_client_rate_limiter_duration_seconds": _row("histogram", "verb host", B_REST),
    "rest_client_dns_resolution_duration_seconds": _row("histogram", "host", B_REST),
    "rest_client_request_size_bytes": _row("histogram", "verb host", B_SIZE),
    "rest_client_response_size_bytes": _row("histogram", "verb host", B_SIZE),
    "rest_client_request_retries_total": _row("counter", "code verb host"),
    "leader_election_master_status": _row("gauge", "name"),
    "leader_election_slowpath_total": _row("counter", "name"),
    "controller_runtime_webhook_requests_total": _row("counter", "webhook code"),
    "controller_runtime_webhook_latency_seconds": _row("histogram", "webhook", B_WEBHOOK),
    "certwatcher_read_certificate_total": _row("counter"),
    "certwatcher_read_certificate_errors_total": _row("counter"),
}

_OURS: Final = {
    "handloop_lease_handover_seconds": _row("histogram", "name", B_HAND_OVER),
    "handloop_shard_slots_held": _row("gauge"),
    "handloop_shard_slots_unheld": _row("gauge"),
    "handloop_shard_members": _row("gauge"),
    "handloop_shard_slot_changes_total": _row("counter", "change"),
    "handloop_shard_objects": _row("gauge", "slot"),
    "handloop_shard_slot_handover_seconds": _row("histogram", buckets=B_HAND_OVER),
    "handloop_own_write_waits_total": _row("counter", "controller"),
    "handloop_own_write_timeouts_total": _row("counter", "controller"),
    "handloop_own_write_wait_seconds": _row("histogram", "controller", B_SMALL),
    "handloop_hot_loops_total": _row("counter", "controller"),
    "handloop_definition_misfits": _row("gauge", "kind"),
    "handloop_reconcile_causes_total": _row("counter", "controller cause"),
    "handloop_dropped_events_total": _row("counter", "controller cause"),
    "handloop_paused_objects": _row("gauge", "controller"),
    "informer_cached_objects": _row("gauge", "name"),
    "informer_cached_bytes": _row("gauge", "name"),
    "informer_unindexed_objects": _row("gauge", "name"),
    "informer_queued_items": _row("gauge", "name"),
    "informer_store_resource_version": _row("gauge", "name"),
    "informer_last_event_timestamp_seconds": _row("gauge", "name"),
    "informer_quarantined_objects": _row("gauge", "name"),
    "informer_sharded_by_client": _row("gauge", "name"),
    "informer_processing_latency_seconds": _row("histogram", "name", B_EXP),
    "informer_relists_total": _row("counter", "name reason"),
    "informer_watch_restarts_total": _row("counter", "name"),
    "informer_silent_watches_total": _row("counter", "name"),
    "informer_handler_panics_total": _row("counter", "name"),
    "informer_lag_seconds": _row("gauge", "name"),
}

TABLE: Final = _CONTROLLER_RUNTIME | _OURS

PROCESS: Final = {
    "process_cpu_seconds_total": _row("counter"),
    "process_resident_memory_bytes": _row("gauge"),
    "process_virtual_memory_bytes": _row("gauge"),
    "process_open_fds": _row("gauge"),
    "process_max_fds": _row("gauge"),
    "process_start_time_seconds": _row("gauge"),
}


def exposed(text: str) -> dict[str, Row]:
    """The series of a page, as a scraper sees them; a histogram's without le."""
    found = {}
    for family in text_string_to_metric_families(text):
        if not family.samples:
            continue
        name = f"{family.name}_total" if family.type == "counter" else family.name
        labels = frozenset().union(*(sample.labels for sample in family.samples)) - {"le"}
        bounds = dict.fromkeys(s.labels["le"] for s in family.samples if s.labels.get("le", "+Inf") != "+Inf")
        found[name] = Row(family.type, labels, tuple(bounds))
    return found


def text_of(registry: CollectorRegistry) -> str:
    """What /metrics answers."""
    status, content_type, body = metrics_page(registry)({})
    assert (status, content_type.partition(";")[0]) == (200, "text/plain")
    return body.decode()
