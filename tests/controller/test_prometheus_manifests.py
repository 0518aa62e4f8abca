"""manifests/prometheus: every query asks for series that exist, by labels that they have."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
import yaml

from support.checks.metric_table import PROCESS, TABLE, Row
from support.checks.rows import check_rows

FOLDER: Final = Path(__file__).parents[2] / "manifests" / "prometheus"
BY_THE_SCRAPE: Final = frozenset({"namespace", "job", "pod", "instance", "service"})
"""Labels that a ServiceMonitor gives to everything."""
ROWS: Final[dict[str, Row]] = TABLE | PROCESS
_NO_METRIC: Final = frozenset(["by", "without", "on", "ignoring", "and", "or", "unless", "time"])

KUBEBUILDER: Final = {
    "controller_runtime_active_workers": set[str](),
    "controller_runtime_reconcile_total": set[str](),
    "controller_runtime_reconcile_errors_total": set[str](),
    "workqueue_adds_total": {"name"},
    "workqueue_depth": {"name"},
    "workqueue_retries_total": {"name"},
    "workqueue_unfinished_work_seconds": {"name"},
    "workqueue_queue_duration_seconds_bucket": {"name", "le"},
    "workqueue_work_duration_seconds_bucket": {"name", "le"},
    "process_cpu_seconds_total": set[str](),
    "process_resident_memory_bytes": set[str](),
}
"""What kubebuilder's two generated dashboards ask for, beside the labels of the scrape."""


class Query(NamedTuple):
    """A query, where it stands, and the labels that words beside it use."""

    where: str
    expression: str
    words: str = ""


def dashboard() -> dict[str, Any]:
    """The dashboard as JSON."""
    found: dict[str, Any] = json.loads((FOLDER / "dashboard.json").read_text(encoding="utf-8"))
    return found


def rules() -> list[dict[str, Any]]:
    """The alerts."""
    document = yaml.safe_load((FOLDER / "prometheus_rule.yaml").read_text(encoding="utf-8"))
    return [rule for group in document["spec"]["groups"] for rule in group["rules"]]


def queries() -> Iterator[Query]:
    """Every query there is."""
    for panel in dashboard()["panels"]:
        for target in panel.get("targets", []):
            yield Query(panel["title"], target["expr"], target["legendFormat"])
    for variable in dashboard()["templating"]["list"]:
        if variable["type"] == "query":
            yield Query(variable["name"], variable["definition"])
    for rule in rules():
        yield Query(rule["alert"], rule["expr"], json.dumps(rule["annotations"]))


QUERIES: Final = tuple(queries())
AGGREGATED: Final = tuple(query for query in QUERIES if re.search(r"\bby\s*\(", query.expression))
OF_VALUES: Final = tuple(query for query in QUERIES if not query.expression.startswith("label_values"))


def metrics_of(expression: str) -> dict[str, set[str]]:
    """The series of an expression, each with the labels that its selectors name."""
    bare = re.sub(r'"[^"]*"', '""', expression)
    found: dict[str, set[str]] = {}
    without_groups = re.sub(r"\b(by|without|on|ignoring)\s*\([^)]*\)", " ", bare)
    without_groups = re.sub(r"label_values\((.*), *\w+\)", r"\1", without_groups)
    plain = re.sub(r"\[\w+\]", " ", without_groups)
    for match in re.finditer(r"([a-z_][a-z0-9_]*)\s*(\{[^}]*\}|\()?", plain):
        name, after = match[1], match[2] or ""
        if after == "(" or name in _NO_METRIC:
            continue
        found.setdefault(name, set()).update(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", after))
    return found


def labels_of(name: str) -> frozenset[str]:
    """The labels that a series has, those of the scrape among them; KeyError for one that does not exist."""
    base = re.sub(r"_(bucket|sum|count)$", "", name)
    if name not in ROWS and base in ROWS and ROWS[base].type == "histogram":
        return ROWS[base].labels | BY_THE_SCRAPE | ({"le"} if name.endswith("_bucket") else set())
    return ROWS[name].labels | BY_THE_SCRAPE


def test_a_query_asks_for_what_there_is() -> None:
    """Each series exists, and has the labels that it is selected, grouped and spoken of by."""
    check_rows(QUERIES, asks_for_what_there_is)


def asks_for_what_there_is(query: Query) -> None:
    found = metrics_of(query.expression)
    assert found, query.expression
    known = frozenset[str]()
    for name, selected in found.items():
        assert selected <= labels_of(name), name
        known |= labels_of(name)
    for group in re.findall(r"\b(?:by|on)\s*\(([^)]*)\)", query.expression):
        assert set(re.findall(r"\w+", group)) <= known, query.expression
    assert set(re.findall(r"\$labels\.(\w+)", query.words)) <= known
    assert set(re.findall(r"\{\{(\w+)\}\}", query.words)) <= known


def test_the_labels_in_an_alerts_text_are_still_there() -> None:
    """A label that an aggregation drops cannot be spoken of."""
    check_rows(AGGREGATED, says_what_is_there)


def says_what_is_there(query: Query) -> None:
    groups = re.findall(r"\bby\s*\(([^)]*)\)", query.expression)
    kept = set.intersection(*(set(re.findall(r"\w+", group)) for group in groups))
    said = set(re.findall(r"\$labels\.(\w+)", query.words)) | set(re.findall(r"\{\{(\w+)\}\}", query.words))
    assert said <= kept


def test_counters_are_asked_for_their_change() -> None:
    """Their values mean nothing: they begin at 0 with every restart."""
    check_rows(OF_VALUES, asks_for_changes)


def asks_for_changes(query: Query) -> None:
    for name in metrics_of(query.expression):
        if name.endswith(("_total", "_bucket", "_sum", "_count")):
            assert re.search(rf"(rate|increase)\({name}(\{{[^}}]*\}})?\[", query.expression), name


def test_kubebuilders_dashboards_find_their_series() -> None:
    """They work unchanged: each series they use exists, with the labels they group by."""
    missing = {name: labels - labels_of(name) for name, labels in KUBEBUILDER.items()}
    assert {name: labels for name, labels in missing.items() if labels} == {}


def test_our_dashboard_shows_what_kubebuilders_show() -> None:
    """And beside them nearly all that we have: a series that is never looked at need not be measured."""
    shown = {name for query in QUERIES for name in metrics_of(query.expression)}
    assert set(KUBEBUILDER) <= shown
    looked_at = {re.sub(r"_(bucket|sum|count)$", "", name) for name in shown} | shown
    unseen = {name for name in TABLE if name not in looked_at}
    assert unseen == {
        "rest_client_dns_resolution_duration_seconds",
        "rest_client_request_size_bytes",
        "rest_client_response_size_bytes",
        "certwatcher_read_certificate_total",
        "informer_store_resource_version",
        "informer_silent_watches_total",
    }


def test_the_variables_are_those_of_the_scrape() -> None:
    """namespace, then job, then pod: what a ServiceMonitor adds."""
    names = [variable["name"] for variable in dashboard()["templating"]["list"]]
    assert names == ["DS_PROMETHEUS", "namespace", "job", "pod"]


def test_panels_have_ids_of_their_own_and_do_not_overlap() -> None:
    """Grafana would show one over the other."""
    panels = dashboard()["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        assert place["x"] + place["w"] <= 24
        taken |= cells


def test_every_alert_has_a_fix() -> None:
    """A name, a severity, a summary and a description."""
    for rule in rules():
        assert rule["labels"]["severity"] in ("warning", "critical")
        assert rule["annotations"]["summary"]
        assert rule["annotations"]["description"]
        assert re.fullmatch(r"\d+[smh]", rule["for"])
    names = [rule["alert"] for rule in rules()]
    assert len(set(names)) == len(names)


def test_the_monitor_finds_the_service() -> None:
    """Its selector is the Service's labels, its port the Service's."""
    monitor = yaml.safe_load((FOLDER / "service_monitor.yaml").read_text(encoding="utf-8"))
    path = FOLDER.parent / "default" / "metrics_service.yaml"
    service = yaml.safe_load(path.read_text(encoding="utf-8"))
    wanted = monitor["spec"]["selector"]["matchLabels"].items()
    assert wanted <= service["metadata"]["labels"].items()
    assert {e["port"] for e in monitor["spec"]["endpoints"]} <= {p["name"] for p in service["spec"]["ports"]}


def test_a_series_that_does_not_exist_is_noticed() -> None:
    """The check itself can fail: a name, a selector and a bucket of a metric that is no histogram."""
    with pytest.raises(KeyError):
        labels_of("workqueue_depths")
    with pytest.raises(KeyError):
        labels_of("workqueue_depth_bucket")
    assert metrics_of('sum(rate(a_total{x="1", y=~"2"}[5m])) by (z) > 3') == {"a_total": {"x", "y"}}
