"""HorizontalPodAutoscalers through autoscaling/v1 and v2: one object, two forms."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from support.servers.api_server import APIServer, Object

_PREFIX = "autoscaling.alpha.kubernetes.io/"
_SERVICE = {"kind": "Service", "name": "s", "apiVersion": "v1"}
_SELECTOR = {"matchLabels": {"a": "b"}}
_UP = {
    "stabilizationWindowSeconds": 0,
    "selectPolicy": "Max",
    "policies": [
        {"type": "Pods", "value": 4, "periodSeconds": 15},
        {"type": "Percent", "value": 100, "periodSeconds": 15},
    ],
}
_DOWN = {
    "stabilizationWindowSeconds": 60,
    "selectPolicy": "Max",
    "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}],
}
_BEHAVIOR_IN_GO = {
    "ScaleUp": {
        "StabilizationWindowSeconds": 0,
        "SelectPolicy": "Max",
        "Policies": [
            {"Type": "Pods", "Value": 4, "PeriodSeconds": 15},
            {"Type": "Percent", "Value": 100, "PeriodSeconds": 15},
        ],
        "Tolerance": None,
    },
    "ScaleDown": {
        "StabilizationWindowSeconds": 60,
        "SelectPolicy": "Max",
        "Policies": [{"Type": "Percent", "Value": 100, "PeriodSeconds": 15}],
        "Tolerance": None,
    },
}


def _metric(kind: str, **source: Any) -> Object:
    return {"type": kind, kind[0].lower() + kind[1:]: source}


_PAIRS: list[tuple[Object, Object]] = [
    (
        _metric("Resource", name="memory", target={"type": "AverageValue", "averageValue": "100Mi"}),
        _metric("Resource", name="memory", targetAverageValue="100Mi"),
    ),
    (
        _metric(
            "Pods",
            metric={"name": "rps", "selector": _SELECTOR},
            target={"type": "AverageValue", "averageValue": "10"},
        ),
        _metric("Pods", metricName="rps", targetAverageValue="10", selector=_SELECTOR),
    ),
    (
        _metric(
            "Object",
            describedObject=_SERVICE,
            metric={"name": "hits"},
            target={"type": "Value", "value": "3"},
        ),
        _metric("Object", target=_SERVICE, metricName="hits", targetValue="3"),
    ),
    (
        _metric(
            "Object",
            describedObject=_SERVICE,
            metric={"name": "shares"},
            target={"type": "AverageValue", "averageValue": "3"},
        ),
        _metric("Object", target=_SERVICE, metricName="shares", targetValue="0", averageValue="3"),
    ),
    (
        _metric("External", metric={"name": "q"}, target={"type": "Value", "value": "7"}),
        _metric("External", metricName="q", targetValue="7"),
    ),
    (
        _metric("External", metric={"name": "r"}, target={"type": "AverageValue", "averageValue": "7"}),
        _metric("External", metricName="r", targetAverageValue="7"),
    ),
    (
        _metric(
            "ContainerResource",
            name="cpu",
            container="c",
            target={"type": "Utilization", "averageUtilization": 50},
        ),
        _metric("ContainerResource", name="cpu", targetAverageUtilization=50, container="c"),
    ),
]
_OTHERS = [new for new, _ in _PAIRS]
_OTHERS_IN_V1 = [old for _, old in _PAIRS]
_CURRENT: list[tuple[Object, Object]] = [
    (
        _metric("Resource", name="memory", current={"averageUtilization": 9, "averageValue": "9Mi"}),
        _metric("Resource", name="memory", currentAverageUtilization=9, currentAverageValue="9Mi"),
    ),
    (
        _metric("Resource", name="cpu", current={"averageUtilization": 44, "averageValue": "44m"}),
        _metric("Resource", name="cpu", currentAverageUtilization=44, currentAverageValue="44m"),
    ),
    (
        _metric("Object", metric={"name": "h"}, current={"value": "4"}, describedObject=_SERVICE),
        _metric("Object", target=_SERVICE, metricName="h", currentValue="4"),
    ),
    (
        _metric("Pods", metric={"name": "p"}, current={"averageValue": "4"}),
        _metric("Pods", metricName="p", currentAverageValue="4"),
    ),
    (
        _metric(
            "External",
            metric={"name": "q", "selector": _SELECTOR},
            current={"value": "7", "averageValue": "1"},
        ),
        _metric(
            "External", metricName="q", metricSelector=_SELECTOR, currentValue="7", currentAverageValue="1"
        ),
    ),
]


def _cpu(utilization: int) -> Object:
    return _metric("Resource", name="cpu", target={"type": "Utilization", "averageUtilization": utilization})


@dataclass(frozen=True)
class _Autoscalers:
    """The autoscalers of a namespace in both forms. Their target does not exist."""

    server: APIServer
    namespace: str

    def path(self, version: str) -> str:
        return f"/apis/autoscaling/{version}/namespaces/{self.namespace}/horizontalpodautoscalers"

    def create(self, version: str, annotations: Object | None = None, **spec: Any) -> Any:
        reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
        body = {
            "metadata": {"name": "a", "annotations": annotations or {}},
            "spec": {"scaleTargetRef": reference, "maxReplicas": 5, **spec},
        }
        return self.server.create(self.path(version), body)

    def get(self, version: str) -> Object:
        body: Object = self.server.get(f"{self.path(version)}/a").body
        return body

    def notes(self) -> dict[str, Any]:
        """The values that v1 has in annotations, without the conditions, which the controller writes late."""
        notes = self.get("v1")["metadata"].get("annotations") or {}
        named = {name.removeprefix(_PREFIX): text for name, text in notes.items()}
        return {name: json.loads(text) for name, text in named.items() if name != "conditions"}


@pytest.fixture
def autoscalers(server: APIServer, namespace: str) -> _Autoscalers:
    """None yet."""
    return _Autoscalers(server, namespace)


@pytest.mark.parametrize(("given", "expected"), [({"targetCPUUtilizationPercentage": 50}, 50), ({}, 80)])
def test_what_v1_asks_for_is_a_metric_of_v2(autoscalers: _Autoscalers, given: Object, expected: int) -> None:
    """The utilization of v1, or 80, is a metric; v1 owns the fields as v1 calls them."""
    created = autoscalers.create("v1", **given)
    assert created.status == 201, created.body
    assert created.body["spec"]["targetCPUUtilizationPercentage"] == expected
    assert "metrics" not in created.body["spec"]
    assert created.body["status"] == {"currentReplicas": 0, "desiredReplicas": 0}
    (entry,) = created.body["metadata"]["managedFields"]
    assert entry["apiVersion"] == "autoscaling/v1"
    assert "f:targetCPUUtilizationPercentage" in entry["fieldsV1"]["f:spec"]
    spec = autoscalers.get("v2")["spec"]
    assert spec["metrics"] == [_cpu(expected)]
    assert "targetCPUUtilizationPercentage" not in spec


@pytest.mark.parametrize("value", [0, -3])
def test_a_wrong_utilization_is_reported_in_the_words_of_v2(autoscalers: _Autoscalers, value: int) -> None:
    """Validation looks at the form that both share."""
    refused = autoscalers.create("v1", targetCPUUtilizationPercentage=value)
    assert refused.status == 422
    assert refused.message.endswith(
        f"spec.metrics[0].resource.target.averageUtilization: Invalid value: {value}: must be greater than 0"
    )


def test_fields_that_v1_lacks_are_in_annotations(autoscalers: _Autoscalers) -> None:
    """The first utilization of the cpu is a field; other metrics and the behavior are JSON."""
    metrics = [_OTHERS[0], _cpu(70), _cpu(75), *_OTHERS[1:]]
    created = autoscalers.create(
        "v2", metrics=metrics, behavior={"scaleDown": {"stabilizationWindowSeconds": 60}}
    )
    assert created.status == 201, created.body
    assert autoscalers.get("v1")["spec"]["targetCPUUtilizationPercentage"] == 70
    assert autoscalers.notes() == {"metrics": _OTHERS_IN_V1, "behavior": _BEHAVIOR_IN_GO}
    assert not autoscalers.get("v2")["metadata"].get("annotations")


def test_annotations_of_v1_are_fields_of_v2(autoscalers: _Autoscalers) -> None:
    """Metrics of the annotation come before that of the field; a direction left out has its default."""
    notes = {
        f"{_PREFIX}metrics": json.dumps(_OTHERS_IN_V1),
        f"{_PREFIX}behavior": json.dumps({"ScaleDown": _BEHAVIOR_IN_GO["ScaleDown"]}),
        "x": "y",
    }
    created = autoscalers.create("v1", notes, targetCPUUtilizationPercentage=50)
    assert created.status == 201, created.body
    assert json.loads(created.body["metadata"]["annotations"][f"{_PREFIX}behavior"]) == _BEHAVIOR_IN_GO
    found = autoscalers.get("v2")
    assert found["metadata"]["annotations"] == {"x": "y"}
    assert found["spec"]["metrics"] == [*_OTHERS, _cpu(50)]
    assert found["spec"]["behavior"] == {"scaleUp": _UP, "scaleDown": _DOWN}


def test_an_annotation_that_is_no_json_is_ignored(autoscalers: _Autoscalers) -> None:
    """It is dropped without a word, and the default is taken."""
    created = autoscalers.create("v1", {f"{_PREFIX}metrics": "{["})
    assert created.status == 201, created.body
    assert "annotations" not in created.body["metadata"]
    assert autoscalers.get("v2")["spec"]["metrics"] == [_cpu(80)]


def test_the_status_is_read_in_both_forms(autoscalers: _Autoscalers) -> None:
    """Current metrics are an annotation of v1, that of the cpu a field, too."""
    assert autoscalers.create("v1").status == 201
    status = {"currentReplicas": 2, "currentMetrics": [new for new, _ in _CURRENT]}
    path = f"{autoscalers.path('v2')}/a/status"
    assert autoscalers.server.patch(path, {"status": status}).status == 200
    found = autoscalers.get("v1")["status"]
    assert (found["currentReplicas"], found["currentCPUUtilizationPercentage"]) == (2, 44)
    assert autoscalers.notes()["current-metrics"] == [old for _, old in _CURRENT]


def test_a_change_through_v1_keeps_the_fields_it_lacks(autoscalers: _Autoscalers) -> None:
    """A patch keeps metrics and status; a replacement without annotations loses the metrics only."""
    created = autoscalers.create("v2", metrics=[*_OTHERS, _cpu(70)])
    assert created.status == 201, created.body
    status = {"currentReplicas": 2, "currentMetrics": [new for new, _ in _CURRENT]}
    assert autoscalers.server.patch(f"{autoscalers.path('v2')}/a/status", {"status": status}).status == 200
    path = f"{autoscalers.path('v1')}/a"
    patched = autoscalers.server.patch(path, {"spec": {"maxReplicas": 6}})
    assert patched.status == 200, patched.body
    found = autoscalers.get("v2")
    assert (found["spec"]["maxReplicas"], found["spec"]["metrics"]) == (6, [*_OTHERS, _cpu(70)])
    assert found["status"]["currentMetrics"] == [new for new, _ in _CURRENT]
    body = {**patched.body, "metadata": {"name": "a"}}
    replaced = autoscalers.server.update(path, body)
    assert replaced.status == 200, replaced.body
    found = autoscalers.get("v2")
    assert found["spec"]["metrics"] == [_cpu(70)]
    assert found["status"]["currentMetrics"] == [new for new, _ in _CURRENT]
