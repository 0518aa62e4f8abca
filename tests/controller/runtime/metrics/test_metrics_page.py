"""The series of /metrics against the table that dashboards and alerts are bound to."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Gauge
from prometheus_client.parser import text_string_to_metric_families

from handloop.apis.apps_v1 import Deployment
from handloop.controller.runtime.election.election_metrics import LeaderElectionMetrics
from handloop.controller.runtime.metrics.controller_metrics import (
    OwnWriteMetrics,
    ReconcileMetrics,
    WorkqueueMetricsProvider,
)
from handloop.controller.runtime.metrics.definition_metrics import DefinitionMetrics
from handloop.controller.runtime.metrics.informer_metrics import CacheState, InformerMetricsProvider
from handloop.controller.runtime.metrics.metrics_page import metrics_page, new_registry
from handloop.controller.runtime.metrics.rest_client_metrics import ClientMetrics
from handloop.controller.runtime.metrics.slot_objects import SlotObjects
from handloop.controller.runtime.metrics.webhook_metrics import WebhookMetrics
from handloop.controller.runtime.serving.certificate_watcher import CertificateMetrics
from handloop.controller.runtime.sharding.shard_metrics import ShardMetrics
from handloop.informers.sharding.held_slots import HeldSlots
from handloop.informers.shared_informer import SharedIndexInformer
from handloop.seams.tracing import TRACING, Work
from handloop.testing.fake_clock import FakeClock
from support.checks.captured_logs import captured_logs
from support.checks.metric_table import PROCESS, TABLE, Row, exposed, text_of
from support.doubles.fake_lister_watcher import FakeListerWatcher
from support.doubles.unspeakable import UNSPEAKABLE
from support.rigs.traced import own, traced

OF_THE_PROCESS = ("process_", "python_")


def idle_informer() -> SharedIndexInformer[Deployment]:
    """An informer that was never started."""
    return SharedIndexInformer(FakeListerWatcher(), Deployment)


@pytest.fixture
def registry() -> Iterator[CollectorRegistry]:
    """A registry with every instrument: those whose labels are known from the start show 0."""
    made = new_registry()
    WorkqueueMetricsProvider(made).for_queue("foo")
    InformerMetricsProvider(made).for_informer("foos")
    ReconcileMetrics(made).for_controller("foo", 1)
    LeaderElectionMetrics(made).leader_off("lease")
    ShardMetrics(made)
    (held := HeldSlots(1)).add(0)
    made.register(SlotObjects(held, list))
    CertificateMetrics(made)
    DefinitionMetrics(made).found("foos.samplecontroller.k8s.io/v1alpha1", 0)
    made.register(CacheState(lambda: [idle_informer()], FakeClock()))
    client = ClientMetrics(made)
    client.request_total(code="200", method="GET", host="h:1")
    client.request_duration(verb="GET", host="h:1", seconds=1)
    client.request_size(verb="GET", host="h:1", size=100)
    client.response_size(verb="GET", host="h:1", size=100)
    client.request_retry(code="429", verb="GET", host="h:1")
    client.rate_limiter_duration(verb="GET", host="h:1", seconds=1)
    client.dns_resolution_duration(host="h", seconds=1)
    WebhookMetrics(made).answered("/convert", 200, 0.1)
    own = OwnWriteMetrics(made).for_controller("foo")
    own.caused_by("requeue")
    own.dropped("Foo updated")
    return made  # type: ignore[return-value] # a fixture without an end


def ours(registry: CollectorRegistry) -> dict[str, Row]:
    """The series without those that the process brings along."""
    return {
        name: row for name, row in exposed(text_of(registry)).items() if not name.startswith(OF_THE_PROCESS)
    }


def test_the_series_are_those_of_the_table(registry: CollectorRegistry) -> None:
    """Name, type, labels and le values as the Go client spells them: dashboards and alerts bind to them."""
    exposed_series = ours(registry)
    assert {name: row for name, row in exposed_series.items() if row != TABLE.get(name)} == {}
    assert set(exposed_series) == set(TABLE)


def test_no_instrument_is_without_a_series(registry: CollectorRegistry) -> None:
    """It would be one that was made, and given to no informer, queue or controller."""
    families = text_string_to_metric_families(text_of(registry))
    assert [family.name for family in families if not family.samples] == []


def test_there_are_no_created_series(registry: CollectorRegistry) -> None:
    """The Go client has none; they would double the number of series."""
    assert "_created" not in text_of(registry)


def test_the_process_has_its_own_series() -> None:
    """What the generated dashboards read of the process, and what Python has instead of go_*."""
    text = text_of(new_registry())
    found = exposed(text)
    assert {name: found[name] for name in PROCESS} == PROCESS
    for name in ("python_info", "python_gc_collections_total"):
        assert re.search(rf"^{name}[ {{]", text, re.MULTILINE), name


def test_registries_do_not_share_anything() -> None:
    """Two programs in one process, as in tests, do not collide."""
    first, second = new_registry(), new_registry()
    WorkqueueMetricsProvider(first).for_queue("foo").adds.inc()
    WorkqueueMetricsProvider(second)
    assert "workqueue_adds_total{" not in text_of(second)


@pytest.mark.parametrize(
    "error", [ZeroDivisionError("odd"), SystemExit(3), *UNSPEAKABLE], ids=lambda e: type(e).__name__
)
def test_an_authors_metric_that_fails_takes_no_other_with_it(error: BaseException) -> None:
    """Only its own series are missing, and the log says which."""

    def count() -> float:
        raise error

    registry = new_registry()
    Gauge("greeter_broken", "Raises.", registry=registry).set_function(count)
    Gauge("greeter_sound", "Does not.", registry=registry).set(3)
    gone = Gauge("greeter_gone", "Is taken away.", registry=registry)
    registry.unregister(gone)
    with captured_logs() as logs:
        status, _, body = metrics_page(registry)({})
    assert status == 200
    assert b"greeter_sound 3.0" in body
    assert b"process_open_fds" in body
    assert b"greeter_broken" not in body
    assert b"greeter_gone" not in body
    (line,) = logs
    assert (line["event"], "greeter_broken" in line["collector"]) == (
        "Metrics failed: the page lacks them",
        True,
    )


OPEN_METRICS = "application/openmetrics-text;version=1.0.0;q=0.5, text/plain;version=0.0.4;q=0.2"


def test_exemplars_are_for_who_asks_for_open_metrics_while_we_trace() -> None:
    """Others get the page as it ever was, and so does everybody while nothing is traced."""
    registry = new_registry()
    client = ClientMetrics(registry)
    page, asked = metrics_page(registry), {"Accept": [OPEN_METRICS]}
    with traced() as spans:
        with TRACING.tracer.reconcile(Work("reconcile a", {})):
            client.request_duration(verb="GET", host="h:1", seconds=1)
        (made,) = spans.named("reconcile")
        _, kind, body = page(asked)
        assert kind.startswith("application/openmetrics-text; version=1.0.0")
        assert f'# {{span_id="{own(made).span_id}",trace_id="{own(made).trace_id}"}} 1.0' in body.decode()
        assert body.endswith(b"# EOF\n")
        plain = page({"Accept": ["*/*"]})
        assert plain[1] == page({})[1] == CONTENT_TYPE_LATEST
    assert page(asked)[1] == CONTENT_TYPE_LATEST
    assert b'le="1"' in plain[2]
    assert b"trace_id" not in plain[2]
