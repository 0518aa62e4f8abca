from __future__ import annotations

from typing import Any

import pytest

from handloop_sandbox.cluster.autoscalers import ABLE, ACTIVE, AUTOSCALERS, AutoscalerStatus
from handloop_sandbox.cluster.workloads import DEPLOYMENTS, condition
from handloop_sandbox.grammar.times import format_time
from handloop_sandbox.storage.stored import Object
from support.servers.simulated_cluster import SimulatedCluster, new_deployment

_CPU = {
    "type": "Resource",
    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}},
}


def _cluster(*, replicas: int = 1) -> SimulatedCluster:
    """A Deployment "web" and its namespace."""
    cluster = SimulatedCluster()
    cluster.create(DEPLOYMENTS, new_deployment(replicas=replicas))
    return cluster


def _autoscale(
    cluster: SimulatedCluster,
    name: str = "web",
    *,
    target: str = "web",
    kind: str = "Deployment",
    **spec: Any,
) -> None:
    reference = {"apiVersion": "apps/v1", "kind": kind, "name": target}
    wanted = {"minReplicas": 1, "maxReplicas": 10, "scaleTargetRef": reference, "metrics": [_CPU]}
    cluster.create(
        AUTOSCALERS,
        {
            "apiVersion": "autoscaling/v2",
            "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": name, "namespace": "default"},
            "spec": wanted | spec,
        },
    )


def _autoscaler(cluster: SimulatedCluster, name: str = "web") -> Object:
    return cluster.must_get(AUTOSCALERS, "default", name)


def _said(cluster: SimulatedCluster, kind: str, name: str = "web") -> tuple[str, str]:
    found = condition(_autoscaler(cluster, name), kind)
    return (found["status"], found["reason"]) if found else ("", "")


def _replicas(cluster: SimulatedCluster) -> int:
    return int(cluster.deployment()["spec"]["replicas"])


def test_an_autoscaler_is_looked_at_every_15_seconds() -> None:
    """First after 15 s, as the real controller's queue delays it; a size within the bounds stays."""
    cluster = _cluster()
    _autoscale(cluster)
    cluster.run_for(14)
    assert "status" not in _autoscaler(cluster)
    cluster.run_for(1)
    assert _said(cluster, "ScalingActive") == ("False", "FailedGetResourceMetric")
    cluster.change(DEPLOYMENTS, "default", "web", spec={**cluster.deployment()["spec"], "replicas": 11})
    cluster.run_for(14)
    assert _replicas(cluster) == 11
    cluster.run_for(1)
    assert _replicas(cluster) == 10


@pytest.mark.parametrize(("replicas", "size", "why"), [(12, 10, "above Spec.Max"), (1, 2, "below Spec.Min")])
def test_bounds_hold_without_metrics(replicas: int, size: int, why: str) -> None:
    """A target outside of its bounds is resized."""
    cluster = _cluster(replicas=replicas)
    _autoscale(cluster, minReplicas=2)
    cluster.run_for(15)
    assert _replicas(cluster) == size
    reason = f"Current number of replicas {why}Replicas"
    assert cluster.messages("SuccessfulRescale") == [f"New size: {size}; reason: {reason}"]
    assert _autoscaler(cluster)["status"]["currentReplicas"] == replicas
    assert "currentMetrics" not in _autoscaler(cluster)["status"]
    assert _autoscaler(cluster)["status"]["desiredReplicas"] == size
    found = condition(_autoscaler(cluster), "AbleToScale")
    assert found is not None
    assert found["message"] == f"the HPA controller was able to update the target scale to {size}"


def test_zero_replicas_switch_it_off() -> None:
    """A target that a user scaled to zero is left alone."""
    cluster = _cluster(replicas=0)
    _autoscale(cluster)
    cluster.run_for(60)
    assert _replicas(cluster) == 0
    assert _said(cluster, "ScalingActive") == ("False", "ScalingDisabled")


def test_there_is_no_metric() -> None:
    """As in a cluster without a metrics server: two events per look, and the number of replicas stays."""
    cluster = _cluster()
    _autoscale(cluster)
    cluster.run_for(45)
    assert _said(cluster, "AbleToScale") == ("True", "SucceededGetScale")
    assert _said(cluster, "ScalingActive") == ("False", "FailedGetResourceMetric")
    assert _autoscaler(cluster)["status"]["currentMetrics"] == [{"type": ""}]
    for reason in ("FailedGetResourceMetric", "FailedComputeMetricsReplicas"):
        (event,) = cluster.events(reason)
        assert (event["count"], event["type"]) == (3, "Warning")
        assert event["source"] == {"component": "horizontal-pod-autoscaler"}


def test_a_target_that_is_not_there() -> None:
    """FailedGetScale, until it comes."""
    cluster = _cluster()
    _autoscale(cluster, target="later")
    cluster.run_for(15)
    assert _said(cluster, "AbleToScale") == ("False", "FailedGetScale")
    assert cluster.messages("FailedGetScale") == ['deployments.apps "later" not found']
    cluster.create(DEPLOYMENTS, new_deployment("later", replicas=2))
    cluster.run_for(15)
    assert _said(cluster, "AbleToScale") == ("True", "SucceededGetScale")


def test_an_autoscaler_that_goes_is_forgotten() -> None:
    """Deleted, it resizes nothing."""
    cluster = _cluster()
    _autoscale(cluster)
    cluster.run_for(15)
    cluster.delete(AUTOSCALERS, "default", "web")
    cluster.change(DEPLOYMENTS, "default", "web", spec={**cluster.deployment()["spec"], "replicas": 11})
    cluster.run_for(60)
    assert _replicas(cluster) == 11


_NOW = 1_700_000_000.0


def _changed(status: dict[str, Any] | None, *says: tuple[str, str, bool], now: float = _NOW) -> Any:
    found = AutoscalerStatus({"status": status} if status else {}, now)
    for kind, reason, holds in says:
        found.say(kind, reason, f"because {reason}", holds=holds)
    return found.changed()


def test_conditions_keep_their_order_and_the_time_of_their_last_turn() -> None:
    """A new reason alone moves no time; a new status does."""
    first = _changed(None, (ABLE, "A", True), (ACTIVE, "B", True))
    second = _changed(first, (ACTIVE, "C", False), (ABLE, "D", True), now=_NOW + 60)
    assert [(c["type"], c["status"], c["reason"], c["message"]) for c in second["conditions"]] == [
        (ABLE, "True", "D", "because D"),
        (ACTIVE, "False", "C", "because C"),
    ]
    assert [c["lastTransitionTime"] for c in second["conditions"]] == [
        format_time(_NOW),
        format_time(_NOW + 60),
    ]


def test_a_status_that_is_there_is_not_written() -> None:
    """Nothing new is None, with any empty fields on the server."""
    first = _changed(None, (ABLE, "A", True))
    assert first["desiredReplicas"] == 0
    assert _changed({**first, "currentMetrics": None, "currentReplicas": 0}, (ABLE, "A", True)) is None


def test_counts_replace_what_was_found_before() -> None:
    """desired=None leaves the number as it was; the time of scaling is only set by scaling."""
    before = {
        "desiredReplicas": 4,
        "currentReplicas": 2,
        "currentMetrics": [{"type": ""}],
        "lastScaleTime": "x",
    }
    status = AutoscalerStatus({"status": before}, _NOW)
    status.count(current=3, desired=None, metrics=None)
    changed = status.changed()
    assert changed is not None
    assert (changed["currentReplicas"], changed["desiredReplicas"], changed["lastScaleTime"]) == (3, 4, "x")
    assert "currentMetrics" not in changed
    status.count(current=3, desired=5, metrics=[{"type": "Resource"}], scaled=True)
    changed = status.changed()
    assert changed is not None
    assert (changed["desiredReplicas"], changed["lastScaleTime"]) == (5, format_time(_NOW))
    assert before["currentReplicas"] == 2
