"""
manifests/prometheus: every query asks for series that exist, by their labels, and no alert for others'.

Prometheus' own rule engine evaluates the alerts where its promtool is at hand: $PROMTOOL, or in the PATH. It
is built from its Go module: `go get`, then `go build` of github.com/prometheus/prometheus/cmd/promtool.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import promql_parser
import pytest
import yaml
from promql_parser import Matcher, MatchOp, VectorSelector

from handloop.controller.cli.shipped_manifests import shipped_manifest
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


def groups(name: str = "handloop") -> list[dict[str, Any]]:
    """The groups of an operator's alerts."""
    found: list[dict[str, Any]] = yaml.safe_load(shipped_manifest("prometheus/prometheus_rule.yaml", name))[
        "spec"
    ]["groups"]
    return found


def rules(name: str = "handloop") -> list[dict[str, Any]]:
    """The alerts."""
    return [rule for group in groups(name) for rule in group["rules"]]


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
        # most programs convert nothing
        "controller_runtime_webhook_requests_total",
        "controller_runtime_webhook_latency_seconds",
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


def selectors(expression: str) -> list[VectorSelector]:
    """All that an expression asks of Prometheus."""
    found: list[VectorSelector] = []

    def visit(node: object) -> bool:
        if isinstance(node, VectorSelector):
            found.append(node)
        return True

    promql_parser.walk(promql_parser.parse(expression), visit)
    return found


def takes(matcher: Matcher, labels: Mapping[str, str]) -> bool:
    """Whether series with these labels may pass."""
    value = labels.get(matcher.name, "")
    by_pattern = matcher.op in (MatchOp.Re, MatchOp.NotRe)
    fits = bool(re.fullmatch(matcher.value, value)) if by_pattern else value == matcher.value
    return fits is (matcher.op in (MatchOp.Equal, MatchOp.Re))


OURS: Final = {"namespace": "handloop-system", "job": "handloop-metrics"}
FOREIGN: Final[tuple[dict[str, str], ...]] = (
    {"namespace": "flux-system", "job": "flux"},
    {"namespace": "kube-system", "job": "kubelet"},
    # another installation, and another program in our namespace
    {"namespace": "staging", "job": "handloop-metrics"},
    {"namespace": "handloop-system", "job": "other"},
    {},
)


def test_no_alert_reads_the_series_of_another_program() -> None:
    """Each of the 21 asks for series of our job in our namespace alone, whatever its operators are."""
    assert len(rules()) == 21
    check_rows(rules(), reads_our_series_alone)


def reads_our_series_alone(rule: dict[str, Any]) -> None:
    found = selectors(rule["expr"])
    assert {each.name for each in found} == metrics_of(rule["expr"]).keys()
    for selector in found:
        own = [each for each in selector.matchers.matchers if each.name in OURS]
        assert all(takes(each, OURS) for each in own), str(selector)
        for labels in FOREIGN:
            assert not all(takes(each, labels) for each in own), (str(selector), labels)


def test_every_query_is_one_that_prometheus_parses() -> None:
    """Those of the dashboard, too, with values in place of its variables."""
    for query in OF_VALUES:
        promql_parser.parse(query.expression)
    with pytest.raises(ValueError, match="unclosed left parenthesis"):
        promql_parser.parse("sum by (a) rate(x[5m]")


ILL: Final = """
controller_runtime_active_workers{WHO} 4x60
controller_runtime_max_concurrent_reconciles{WHO} 4x60
leader_election_master_status{WHO,pod="a",name="lease"} 0x60
handloop_shard_slots_unheld{WHO} 1x60
controller_runtime_reconcile_total{WHO,controller="c",result="error"} 0+30x60
controller_runtime_reconcile_errors_total{WHO,controller="c"} 0+30x60
controller_runtime_reconcile_panics_total{WHO,controller="c"} 0+1x60
controller_runtime_terminal_reconcile_errors_total{WHO,controller="c"} 0+1x60
controller_runtime_reconcile_timeouts_total{WHO,controller="c"} 0+1x60
controller_runtime_reconcile_time_seconds_bucket{WHO,controller="c",le="30"} 0+1x60
controller_runtime_reconcile_time_seconds_bucket{WHO,controller="c",le="60"} 0+9x60
controller_runtime_reconcile_time_seconds_bucket{WHO,controller="c",le="+Inf"} 0+9x60
workqueue_depth{WHO,name="c"} 500x60
workqueue_longest_running_processor_seconds{WHO,name="c"} 900x60
informer_lag_seconds{WHO,name="c"} 900x60
informer_quarantined_objects{WHO,name="c"} 1x60
informer_relists_total{WHO,name="c"} 0+1x60
informer_handler_panics_total{WHO,name="c"} 0+1x60
handloop_own_write_timeouts_total{WHO,controller="c"} 0+1x60
handloop_hot_loops_total{WHO,controller="c"} 0+1x60
handloop_definition_misfits{WHO,kind="k"} 1x60
rest_client_requests_total{WHO,code="500",method="GET",host="h"} 0+60x60
certwatcher_read_certificate_errors_total{WHO} 0+1x60
"""
"""Series of a program for which all alerts fire but two: it is not down, and has no second leader."""
WELL: Final = """
controller_runtime_active_workers{WHO} 1x60
controller_runtime_max_concurrent_reconciles{WHO} 4x60
leader_election_master_status{WHO,pod="a",name="lease"} 1x60
"""


def fired(promtool: str, folder: Path, *names: str, **series: str) -> set[str]:
    """The alerts of some operators that fire after 50 minutes. Args: series are texts by operator."""
    path = folder / "rules.yaml"
    path.write_text(yaml.safe_dump({"groups": [each for name in names for each in groups(name)]}), "utf-8")
    lines = [
        line.replace("WHO", f'namespace="{name}-system",job="{name}-metrics"').rsplit(" ", 1)
        for name, text in series.items()
        for line in text.split("\n")
        if line
    ]
    known = [rule["alert"] for name in names for rule in rules(name)]
    test = {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in lines],
        "alert_rule_test": [{"eval_time": "50m", "alertname": alert, "exp_alerts": []} for alert in known],
    }
    whole = folder / "test.yaml"
    whole.write_text(yaml.safe_dump({"rule_files": [path.name], "tests": [test]}), encoding="utf-8")
    ended = subprocess.run(
        [promtool, "test", "rules", whole], cwd=folder, capture_output=True, text=True, check=False
    )
    found = set(re.findall(r"alertname: (\w+), time", ended.stdout + ended.stderr))
    assert ended.returncode == (1 if found else 0), ended.stdout + ended.stderr
    return found


@pytest.fixture
def promtool() -> str:
    """Prometheus' own."""
    found = os.environ.get("PROMTOOL") or shutil.which("promtool")
    if not found:
        pytest.skip("no promtool: set PROMTOOL, or put it into the PATH")
    return found


def test_an_operator_that_is_ill_fires_its_own_alerts_alone(promtool: str, tmp_path: Path) -> None:
    """By Prometheus' engine, with the rules of two operators in one Prometheus, and others beside them."""
    names = ("handloop", "greeter")
    others = {"flux": ILL, "handloop-staging": ILL}
    assert fired(promtool, tmp_path, *names, handloop=WELL, greeter=WELL, **others) == set()
    quiet = {"HandloopDown", "HandloopTwoLeaders"}
    everything = {rule["alert"] for rule in rules()} - quiet
    assert fired(promtool, tmp_path, *names, handloop=ILL, greeter=WELL, **others) == everything


def test_an_operator_that_is_gone_is_down_beside_others(promtool: str, tmp_path: Path) -> None:
    """Other programs with controller-runtime's series do not stand in for it."""
    names = ("handloop", "greeter")
    assert fired(promtool, tmp_path, *names, greeter=WELL, flux=ILL) == {"HandloopDown"}


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
