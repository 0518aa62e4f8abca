from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest

from handloop.apis.meta import format_time
from handloop.sandbox.cluster.cluster_controller import Pace
from handloop.sandbox.cluster.replica_proposal import (
    Proposal,
    Sampling,
    Tolerance,
    UncountableError,
    by_average,
    by_utilization,
)
from handloop.sandbox.storage.stored import Object

_NOW = 1_700_000_000.0
_LONG_AGO = _NOW - 3600


def _pod(name: str, *, request: str = "1", phase: str = "Running", **given: Any) -> Object:
    """A pod that has been ready for an hour, unless told otherwise."""
    ready: dict[str, Any] = {"status": "True", "at": _LONG_AGO, "started": _LONG_AGO} | given
    condition = {"type": "Ready", "status": ready["status"], "lastTransitionTime": format_time(ready["at"])}
    resources = {"requests": {"cpu": request, "memory": request}} if request else {}
    return {
        "metadata": {"name": name, **given.get("metadata", {})},
        "spec": {"containers": [{"name": "main", "resources": resources}]},
        "status": {"phase": phase, "startTime": format_time(ready["started"]), "conditions": [condition]},
    }


def _sampling(
    pods: Sequence[Object],
    usage: dict[str, int],
    *,
    resource: str = "cpu",
    pace: float = 1.0,
    container: str = "",
) -> Sampling:
    return Sampling(pods, usage, resource, _NOW, Pace(pace), container)


def _propose(
    usages: Sequence[int], *, target: int, extra: Sequence[Object] = (), request: str = "1", current: int = 0
) -> Proposal:
    """What pods that are ready, and others besides, ask for."""
    pods = [_pod(f"p{index}", request=request) for index in range(len(usages))]
    usage = {f"p{index}": milli for index, milli in enumerate(usages)}
    usage |= {pod["metadata"]["name"]: 1000 for pod in extra if pod["metadata"].get("measured")}
    return by_utilization(
        _sampling([*pods, *extra], usage),
        current=current or len(pods) + len(extra),
        target=target,
        tolerance=Tolerance(),
    )


class _Case(NamedTuple):
    usages: Sequence[int]
    target: int
    replicas: int
    utilization: int


@pytest.mark.parametrize(
    "case",
    [
        _Case([300, 500, 700], 30, 5, 50),
        _Case([100, 300, 500, 250, 250], 50, 3, 28),
        _Case([1010, 1030, 1020], 100, 3, 102),
        _Case([100], 100, 1, 10),
        _Case([0, 0, 0], 50, 0, 0),
        _Case([890, 890], 100, 2, 89),
        _Case([910, 910, 910, 910], 100, 4, 91),
        _Case([1100, 1100], 100, 2, 110),
        _Case([1110, 1110], 100, 3, 111),
    ],
)
def test_the_ratio_of_utilization_and_target_says_how_many(case: _Case) -> None:
    """Ready pods times the ratio, rounded up; within 10 % as before. Follows TestReplicaCalcScaleUp."""
    found = _propose(case.usages, target=case.target)
    assert (found.replicas, found.utilization) == (case.replicas, case.utilization)


def test_usage_is_reported_as_an_average() -> None:
    """Beside the percentage stands the average in thousandths, cut off as Go does."""
    assert _propose([100, 101], target=50, request="200m") == Proposal(2, 100, 50)


def test_unready_pods_speak_against_scaling_up() -> None:
    """Follows TestReplicaCalcScaleUpUnreadyLessScale: unready ones count as idle on the way up."""
    unready = _pod("late", status="False", at=_NOW - 5, started=_NOW - 30, metadata={"measured": True})
    assert _propose([500, 700], target=30, extra=[unready], current=3).replicas == 4
    assert _propose([500, 700], target=30, current=2).replicas == 4
    pending = _pod("pending", phase="Pending")
    assert _propose([400, 500], target=30, extra=[pending], current=3).replicas == 3


def test_unready_pods_are_left_out_on_the_way_down() -> None:
    """Follows TestReplicaCalcScaleDownIgnoresUnreadyPods: only ready ones are counted and multiplied."""
    unready = [_pod(f"u{i}", status="False", at=_NOW - 5, started=_NOW - 30) for i in range(2)]
    for pod in unready:
        pod["metadata"]["measured"] = True
    assert _propose([100, 300, 500], target=50, extra=unready, current=5).replicas == 2


def test_pods_without_a_sample_speak_against_any_change() -> None:
    """Follows TestReplicaCalcMissingMetrics*: on the way up they idle, on the way down they use it all."""
    missing = [_pod("silent")]
    assert _propose([1000], target=50, extra=missing, current=2).replicas == 2
    assert _propose([900], target=30, extra=missing, current=2).replicas == 3
    assert _propose([100], target=50, extra=missing, current=2).replicas == 2
    assert _propose([100, 100, 100], target=100, extra=missing, current=4).replicas == 2


def test_a_change_never_turns_round() -> None:
    """If the doubtful pods would turn growing into shrinking, everything stays."""
    missing = [_pod("a"), _pod("b")]
    assert _propose([550], target=50, extra=missing, current=3).replicas == 3


def test_failed_and_deleted_pods_do_not_count() -> None:
    """They are neither multiplied nor averaged. Follows TestReplicaCalcScaleDownIgnoresDeletionPods."""
    failed = _pod("failed", phase="Failed", metadata={"measured": True})
    going = _pod("going", metadata={"measured": True, "deletionTimestamp": format_time(_NOW)})
    assert _propose([100, 300, 500], target=50, extra=[failed, going], current=5).replicas == 2


@pytest.mark.parametrize(
    ("pod", "pace", "counts"),
    [
        ({"at": _NOW - 20, "started": _NOW - 60}, 1.0, True),
        ({"at": _NOW - 10, "started": _NOW - 60}, 1.0, False),
        ({"at": _NOW - 10, "started": _NOW - 60}, 2.0, True),
        ({"status": "False", "at": _NOW - 20, "started": _NOW - 60}, 1.0, False),
        ({"status": "False", "at": _NOW - 20, "started": _NOW - 400}, 1.0, True),
        ({"status": "False", "at": _NOW - 390, "started": _NOW - 400}, 1.0, False),
        ({"at": _NOW - 5, "started": _NOW - 400}, 1.0, True),
    ],
)
def test_samples_from_the_start_of_a_pod_do_not_count(pod: dict[str, Any], pace: float, counts: bool) -> None:
    """In its first 5 minutes a pod has to be ready for a whole window; afterwards to have been ready once."""
    sampling = _sampling([_pod("a", **pod)], {"a": 1000}, pace=pace)
    if counts:
        assert by_utilization(sampling, current=1, target=100, tolerance=Tolerance()).replicas == 1
        return
    with pytest.raises(UncountableError, match="did not receive metrics for targeted pods"):
        by_utilization(sampling, current=1, target=100, tolerance=Tolerance())


def test_memory_counts_from_the_first_sample() -> None:
    """Only CPU is untypical at the start of a pod."""
    pod = _pod("a", at=_NOW, started=_NOW)
    sampling = _sampling([pod], {"a": 2000}, resource="memory")
    assert by_utilization(sampling, current=1, target=50, tolerance=Tolerance()).replicas == 4


def test_an_average_is_compared_as_it_is() -> None:
    """A target per pod needs no requests. Follows TestReplicaCalcScaleUpCM."""
    pods = [_pod(f"p{index}", request="") for index in range(3)]
    sampling = _sampling(pods, {"p0": 20000, "p1": 10000, "p2": 30000})
    assert by_average(sampling, current=3, target=15000, tolerance=Tolerance()) == Proposal(4, 20000)
    assert by_average(sampling, current=3, target=19000, tolerance=Tolerance()) == Proposal(3, 20000)


def test_a_missing_sample_uses_the_target_on_the_way_down() -> None:
    """For a plain average a silent pod is taken to be on target."""
    pods = [_pod("a"), _pod("b"), _pod("c")]
    sampling = _sampling(pods, {"a": 100, "b": 100})
    assert by_average(sampling, current=3, target=1000, tolerance=Tolerance()).replicas == 2


def test_tolerance_has_two_sides() -> None:
    """Each side of 1 has a tolerance of its own, the bounds included."""
    tolerance = Tolerance(down=0.5, up=0.0)
    assert [tolerance.covers(ratio) for ratio in (0.49, 0.5, 1.0, 1.01)] == [False, True, True, False]


_SIDECAR = {"name": "s", "restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}}


def test_requests_are_those_of_the_running_containers() -> None:
    """Containers and sidecars add up; a pod's own request or one container's stands for itself."""
    pod = _pod("a")
    pod["spec"]["initContainers"] = [_SIDECAR, {"name": "once"}]

    def utilization(**fields: Any) -> int | None:
        sampling = _sampling([pod], {"a": 1000}, **fields)
        return by_utilization(sampling, current=1, target=50, tolerance=Tolerance()).utilization

    assert utilization() == 50
    assert utilization(container="main") == 100
    pod["spec"]["resources"] = {"requests": {"cpu": "4"}}
    assert utilization() == 25
    assert utilization(container="main") == 100


@pytest.mark.parametrize(
    ("change", "container", "problem"),
    [
        ({"containers": [{"name": "main"}]}, "", "missing request for cpu in container main of Pod a"),
        ({}, "z", "container z not found in Pod a"),
        ({"resources": {"requests": {"memory": "1"}}}, "", "missing pod-level request for cpu in Pod a"),
        (
            {"containers": [{"name": "main", "resources": {"requests": {"cpu": "0"}}}]},
            "",
            "no metrics returned matched known pods",
        ),
    ],
)
def test_without_requests_there_is_no_utilization(
    change: dict[str, Any], container: str, problem: str
) -> None:
    """What cannot be divided is named in the real controller's words."""
    pod = _pod("a")
    pod["spec"] |= change
    with pytest.raises(UncountableError) as caught:
        by_utilization(
            _sampling([pod], {"a": 1}, container=container), current=1, target=50, tolerance=Tolerance()
        )
    assert str(caught.value) == problem


def test_without_pods_there_is_nothing_to_count() -> None:
    """No pod, no number."""
    with pytest.raises(UncountableError, match="no pods returned by selector"):
        by_average(_sampling([], {"a": 1}), current=1, target=50, tolerance=Tolerance())
