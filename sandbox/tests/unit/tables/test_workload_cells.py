from __future__ import annotations

from typing import Any

import pytest

from handloop_sandbox.tables.workload_cells import (
    autoscaler_cells,
    job_cells,
)
from support.recorded.object_cases import check_row
from support.recorded.recordings import rows, told

_NOW = 1_700_000_060.0
_STARTED = "2023-11-14T22:13:20Z"


@pytest.mark.parametrize(
    "line",
    rows(
        "deployments",
        "horizontalpodautoscalers",
        "jobs",
        "poddisruptionbudgets",
        "replicasets",
        "statefulsets",
    ),
    ids=told,
)
def test_rows_are_as_recorded(line: dict[str, Any]) -> None:
    """The cells a real server shows of these objects."""
    check_row(line)


def _autoscaler(metrics: list[Any], current: list[Any] | None = None, **spec: Any) -> dict[str, Any]:
    target = {"kind": "Deployment", "name": "web"}
    return {
        "metadata": {"name": "a"},
        "spec": {"scaleTargetRef": target, "maxReplicas": 5, "metrics": metrics, **spec},
        "status": {"currentReplicas": 2, "currentMetrics": current},
    }


def _resource(**fields: Any) -> dict[str, Any]:
    return {"type": "Resource", "resource": {"name": "cpu", **fields}}


_PODS = {"type": "Pods", "pods": {"metric": {"name": "rps"}, "target": {"averageValue": "10"}}}
_VALUE = {"type": "Object", "object": {"target": {"value": "10"}}}
_AVERAGE = {"type": "External", "external": {"target": {"averageValue": "7"}}}


@pytest.mark.parametrize(
    ("metrics", "current", "shown"),
    [
        ([], None, "<none>"),
        ([_resource(target={"averageUtilization": 80})], None, "cpu: <unknown>/80%"),
        ([_resource(target={"averageUtilization": 80})], [{"type": ""}], "cpu: <unknown>/80%"),
        (
            [_resource(target={"averageUtilization": 80})],
            [_resource(current={"averageUtilization": 12, "averageValue": "12m"})],
            "cpu: 12%/80%",
        ),
        (
            [_resource(target={"averageValue": "1"})],
            [_resource(current={"averageValue": "250m"})],
            "cpu: 250m/1",
        ),
        ([_PODS, _VALUE], None, "<unknown>/10, <unknown>/10"),
        ([_PODS, _VALUE, _AVERAGE], None, "<unknown>/10, <unknown>/10 + 1 more..."),
        ([_AVERAGE], None, "<unknown>/7 (avg)"),
    ],
)
def test_targets_of_autoscalers(metrics: list[Any], current: list[Any] | None, shown: str) -> None:
    """The found and the wanted values, of two metrics at most."""
    cells = autoscaler_cells(_autoscaler(metrics, current), _NOW)
    assert cells[1:6] == ["Deployment/web", shown, "<unset>", 5, 2]


def test_an_autoscaler_of_version_1() -> None:
    """Its one target and status stand in fields of their own."""
    found = _autoscaler([], targetCPUUtilizationPercentage=60, minReplicas=1)
    assert autoscaler_cells(found, _NOW)[2:4] == ["cpu: <unknown>/60%", "1"]
    found["status"]["currentCPUUtilizationPercentage"] = 40
    assert autoscaler_cells(found, _NOW)[2] == "cpu: 40%/60%"


@pytest.mark.parametrize(
    ("spec", "status", "cells"),
    [
        ({"completions": 3}, {"succeeded": 1, "startTime": _STARTED}, ["Running", "1/3", "60s"]),
        ({"parallelism": 1}, {}, ["Running", "0/1", ""]),
        ({"parallelism": 4}, {"succeeded": 2}, ["Running", "2/1 of 4", ""]),
        (
            {"completions": 1},
            {
                "succeeded": 1,
                "startTime": _STARTED,
                "completionTime": "2023-11-14T22:13:25Z",
                "conditions": [{"type": "Complete", "status": "True"}],
            },
            ["Complete", "1/1", "5s"],
        ),
        ({"completions": 1}, {"conditions": [{"type": "Failed", "status": "True"}]}, ["Failed", "0/1", ""]),
        (
            {"completions": 1},
            {"conditions": [{"type": "Suspended", "status": "True"}]},
            ["Suspended", "0/1", ""],
        ),
    ],
)
def test_jobs(spec: dict[str, Any], status: dict[str, Any], cells: list[str]) -> None:
    """Status, completions and duration of a Job in its several ways to count."""
    assert job_cells({"metadata": {"name": "j"}, "spec": spec, "status": status}, _NOW)[1:4] == cells
