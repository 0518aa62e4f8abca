from __future__ import annotations

from typing import Any

import pytest

from handloop.sandbox.cluster.cluster_controller import Pace
from handloop.sandbox.cluster.scaling_bounds import Bounded, Scaling, ScalingHistory, bounded

_NOW = 10_000.0
_PODS_4 = {"type": "Pods", "value": 4, "periodSeconds": 15}
_DOUBLE = {"type": "Percent", "value": 100, "periodSeconds": 15}


def _scaling(current: int, wanted: int, *, now: float = _NOW, speed: float = 1.0, **spec: Any) -> Scaling:
    return Scaling({"minReplicas": 2, "maxReplicas": 20, **spec}, current, wanted, now, Pace(speed))


def _behavior(
    up: dict[str, Any] | None = None, down: dict[str, Any] | None = None
) -> dict[str, dict[str, Any]]:
    """Both directions with the API's defaults."""
    return {
        "scaleUp": {"stabilizationWindowSeconds": 0, "selectPolicy": "Max", "policies": [_PODS_4, _DOUBLE]}
        | (up or {}),
        "scaleDown": {"selectPolicy": "Max", "policies": [_DOUBLE]} | (down or {}),
    }


def _reasons(found: Bounded) -> tuple[int, str, str, bool]:
    return found.replicas, found.able.reason, found.limited.reason, found.limited.holds


@pytest.mark.parametrize(
    ("current", "wanted", "expected"),
    [
        (3, 3, (3, "ReadyForNewScale", "DesiredWithinRange", False)),
        (3, 6, (6, "ReadyForNewScale", "DesiredWithinRange", False)),
        (3, 7, (6, "ReadyForNewScale", "ScaleUpLimit", True)),
        (1, 9, (4, "ReadyForNewScale", "ScaleUpLimit", True)),
        (15, 25, (20, "ReadyForNewScale", "TooManyReplicas", True)),
        (5, 0, (2, "ReadyForNewScale", "TooFewReplicas", True)),
    ],
)
def test_limits_without_behavior(current: int, wanted: int, expected: tuple[int, str, str, bool]) -> None:
    """At most double or 4, then the bounds of the spec. Follows TestConvertDesiredReplicasWithRules."""
    assert _reasons(bounded(_scaling(current, wanted), ScalingHistory())) == expected


def test_messages_are_the_real_ones() -> None:
    """The texts of the conditions, as kubectl describe shows them."""
    found = bounded(_scaling(1, 9), ScalingHistory())
    assert found.able.message == "recommended size matches current size"
    text = "the desired replica count is increasing faster than the maximum scale rate"
    assert found.limited.message == text


def test_scaling_down_waits_for_300_seconds() -> None:
    """The highest recommendation of the last 5 minutes counts; afterwards the newest one."""
    history = ScalingHistory()
    history.recommend(8, _NOW - 300, Pace())
    waiting = bounded(_scaling(8, 3), history)
    assert _reasons(waiting) == (8, "ScaleDownStabilized", "DesiredWithinRange", False)
    assert waiting.able.message == (
        "recent recommendations were higher than current one, applying the highest recent recommendation"
    )
    assert bounded(_scaling(8, 3, now=_NOW + 1), history).replicas == 3


def test_the_speed_shortens_the_window() -> None:
    """At speed 10 the 300 seconds are 30."""
    history = ScalingHistory()
    history.recommend(8, _NOW - 31, Pace(10))
    assert bounded(_scaling(8, 3, speed=10), history).replicas == 3


def test_recommendations_are_remembered_unstabilised() -> None:
    """What was recommended counts later, not what was made of it."""
    history = ScalingHistory()
    bounded(_scaling(3, 18), history)
    assert [noted.number for noted in history.recommended] == [18]
    history.recommend(1, _NOW + 3601, Pace())
    assert [noted.number for noted in history.recommended] == [1]


def test_a_window_for_scaling_up_takes_the_lowest() -> None:
    """Growing waits as long as any recent recommendation was lower. Follows the ScaleUpStabilized cases."""
    history = ScalingHistory()
    history.recommend(4, _NOW - 30, Pace())
    behavior = _behavior(up={"stabilizationWindowSeconds": 60})
    found = bounded(_scaling(3, 9, behavior=behavior), history)
    assert _reasons(found) == (4, "ScaleUpStabilized", "DesiredWithinRange", False)
    assert found.able.message == (
        "recent recommendations were lower than current one, applying the lowest recent recommendation"
    )
    later = bounded(_scaling(4, 9, now=_NOW + 31, behavior=_behavior()), history)
    assert later.replicas == 8


def test_a_window_for_scaling_down_is_300_seconds_unless_given() -> None:
    """With behavior but no window the default holds; 0 means at once."""
    for window, replicas in ((None, 8), (300, 8), (0, 3)):
        history = ScalingHistory()
        history.recommend(8, _NOW - 200, Pace())
        down = {} if window is None else {"stabilizationWindowSeconds": window}
        assert bounded(_scaling(8, 3, behavior=_behavior(down=down)), history).replicas == replicas


@pytest.mark.parametrize(
    ("rules", "replicas", "reason"),
    [
        ({}, 10, "ScaleUpLimit"),
        ({"selectPolicy": "Min"}, 9, "ScaleUpLimit"),
        ({"selectPolicy": "Disabled"}, 5, "ScaleUpLimit"),
        ({"policies": [{"type": "Percent", "value": 1, "periodSeconds": 60}]}, 6, "ScaleUpLimit"),
        ({"policies": [{"type": "Percent", "value": 900, "periodSeconds": 60}]}, 20, "TooManyReplicas"),
    ],
)
def test_policies_for_scaling_up(rules: dict[str, Any], replicas: int, reason: str) -> None:
    """The most, the least or none of what the policies allow, rounded up."""
    found = bounded(_scaling(5, 30, behavior=_behavior(up=rules)), ScalingHistory())
    assert (found.replicas, found.limited.reason) == (replicas, reason)


@pytest.mark.parametrize(
    ("rules", "replicas", "reason"),
    [
        ({}, 2, "TooFewReplicas"),
        ({"selectPolicy": "Disabled"}, 15, "ScaleDownLimit"),
        ({"policies": [_PODS_4]}, 11, "ScaleDownLimit"),
        ({"policies": [{"type": "Percent", "value": 10, "periodSeconds": 60}]}, 13, "ScaleDownLimit"),
        ({"policies": [_PODS_4, _DOUBLE], "selectPolicy": "Min"}, 11, "ScaleDownLimit"),
        ({"policies": [_PODS_4, _DOUBLE], "selectPolicy": "Max"}, 2, "TooFewReplicas"),
    ],
)
def test_policies_for_scaling_down(rules: dict[str, Any], replicas: int, reason: str) -> None:
    """The same downwards, rounded down."""
    behavior = _behavior(down={"stabilizationWindowSeconds": 0, **rules})
    found = bounded(_scaling(15, 1, behavior=behavior), ScalingHistory())
    assert (found.replicas, found.limited.reason) == (replicas, reason)


def test_a_policy_counts_what_its_period_has_seen() -> None:
    """4 pods per minute are 4 pods per minute, however often one looks."""
    behavior = _behavior(up={"policies": [{"type": "Pods", "value": 4, "periodSeconds": 60}]})
    history = ScalingHistory()
    history.scaled(5, 8, _NOW - 30, Pace())
    assert bounded(_scaling(8, 20, behavior=behavior), history).replicas == 9
    assert bounded(_scaling(8, 20, now=_NOW + 31, behavior=behavior), history).replicas == 12
    history.scaled(12, 9, _NOW + 40, Pace())
    assert history.start_of_period(9, 60, _NOW + 50) == 12


def test_min_replicas_is_1_unless_given() -> None:
    """An absent lower bound is one replica."""
    assert bounded(_scaling(3, 0, minReplicas=None), ScalingHistory()).replicas == 1
