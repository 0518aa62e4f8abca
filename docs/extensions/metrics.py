"""`.. metrics::` lists every metric, from its instrument; `.. alerts::` lists every alert, from its rule."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml
from docutils import nodes
from docutils.statemachine import StringList
from prometheus_client import CollectorRegistry
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from docs.extensions.face import plain
from handloop.controller.runtime.election.election_metrics import LeaderElectionMetrics
from handloop.controller.runtime.metrics.controller_metrics import (
    OwnWriteMetrics,
    ReconcileMetrics,
    WorkqueueMetricsProvider,
)
from handloop.controller.runtime.metrics.definition_metrics import DefinitionMetrics
from handloop.controller.runtime.metrics.informer_metrics import CacheState, InformerMetricsProvider
from handloop.controller.runtime.metrics.rest_client_metrics import ClientMetrics
from handloop.controller.runtime.metrics.slot_objects import SlotObjects
from handloop.controller.runtime.metrics.webhook_metrics import WebhookMetrics
from handloop.controller.runtime.serving.certificate_watcher import CertificateMetrics
from handloop.controller.runtime.sharding.shard_metrics import ShardMetrics
from handloop.informers.sharding.held_slots import HeldSlots
from handloop.seams.clock import REAL_CLOCK

RULES: Final = Path(__file__).parents[2] / "manifests" / "prometheus" / "prometheus_rule.yaml"


class Metric(NamedTuple):
    """A series as Prometheus shows it, but without a histogram's label le."""

    name: str
    type: str
    labels: tuple[str, ...]
    text: str


def metrics() -> list[Metric]:
    """Return every metric of a program, sorted by name, except for the process's own metrics."""
    registry = CollectorRegistry(auto_describe=True)
    for instruments in (
        *(ReconcileMetrics, OwnWriteMetrics, WorkqueueMetricsProvider, InformerMetricsProvider),
        *(ClientMetrics, LeaderElectionMetrics, ShardMetrics, CertificateMetrics, WebhookMetrics),
        DefinitionMetrics,
    ):
        instruments(registry)
    registry.register(CacheState(lambda: (), REAL_CLOCK))
    registry.register(SlotObjects(HeldSlots(1), list))
    return sorted(
        metric
        for collector in registry._collector_to_names  # noqa: SLF001
        for metric in _of(collector)
    )


def _of(collector: Any) -> Iterator[Metric]:
    """Yield the metrics of an instrument, which has the label names, or of a collector of several."""
    for family in collector.describe():
        name = f"{family.name}_total" if family.type == "counter" else family.name
        labels = getattr(collector, "_labelnames", ()) or getattr(family, "_labelnames", ())
        yield Metric(name, family.type, tuple(labels), family.documentation)


def alerts() -> list[dict[str, Any]]:
    """Return the alerts of manifests/prometheus."""
    document = yaml.safe_load(RULES.read_text(encoding="utf-8"))
    return [rule for group in document["spec"]["groups"] for rule in group["rules"]]


class Metrics(SphinxDirective):
    """A table of the metrics."""

    def run(self) -> list[nodes.Node]:
        """Return a row for each metric, with the alerts that use it."""
        rows = [
            (
                f"``{metric.name}``",
                metric.type,
                ", ".join(f"``{label}``" for label in metric.labels),
                plain(f"{metric.text}."),
                ", ".join(
                    f"``{rule['alert']}``"
                    for rule in alerts()
                    if re.search(rf"\b{metric.name}(_bucket)?\b", rule["expr"])
                ),
            )
            for metric in metrics()
        ]
        return self.parse_text_to_nodes(_table(("metric", "type", "labels", "what it tells", "alert"), rows))


class Alerts(SphinxDirective):
    """A table of the alerts."""

    def run(self) -> list[nodes.Node]:
        """Return a row for each alert: when it fires, and how to respond."""
        rows = [
            (
                f"``{rule['alert']}``",
                rule["labels"]["severity"],
                f"``{rule['expr']}`` for {rule['for']}",
                plain(re.sub(r"\{\{.*?labels\.(\w+) }}", r"<\1>", rule["annotations"]["description"])),
            )
            for rule in alerts()
        ]
        return self.parse_text_to_nodes(_table(("alert", "severity", "fires at", "what to do"), rows))


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> StringList:
    lines = [".. list-table::", "   :header-rows: 1", ""]
    for row in (heads, *rows):
        lines += [f"   {'* -' if at == 0 else '  -'} {cell}" for at, cell in enumerate(row)]
    return StringList(lines, "metrics")


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directives."""
    app.add_directive("metrics", Metrics)
    app.add_directive("alerts", Alerts)
    return {"parallel_read_safe": True}
