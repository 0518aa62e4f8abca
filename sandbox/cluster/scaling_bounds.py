"""
The limits of one scaling: stabilisation, policies, least and most replicas.

Follows: kubernetes pkg/controller/podautoscaler/horizontal.go (normalizeDesiredReplicas and what it calls).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from handloop.sandbox.cluster.cluster_controller import Pace

_STABILIZATION_SECONDS = 300.0
_LONGEST_SECONDS = 3600.0  # of a stabilisation window or a policy's period, as validation allows

_RECENT_HIGHER = (
    "recent recommendations were higher than current one, applying the highest recent recommendation"
)
_RECENT_LOWER = (
    "recent recommendations were lower than current one, applying the lowest recent recommendation"
)


class Reason(NamedTuple):
    """The reason of a condition; holds is its status."""

    holds: bool
    reason: str
    message: str


_READY = Reason(True, "ReadyForNewScale", "recommended size matches current size")
_WITHIN = Reason(False, "DesiredWithinRange", "the desired count is within the acceptable range")
_TOO_FAST = Reason(
    True, "ScaleUpLimit", "the desired replica count is increasing faster than the maximum scale rate"
)
_TOO_FAST_DOWN = Reason(
    True, "ScaleDownLimit", "the desired replica count is decreasing faster than the maximum scale rate"
)
_TOO_MANY = Reason(
    True, "TooManyReplicas", "the desired replica count is more than the maximum replica count"
)
_TOO_FEW = Reason(True, "TooFewReplicas", "the desired replica count is less than the minimum replica count")


class Bounded(NamedTuple):
    """The next replicas, and the reasons for AbleToScale and ScalingLimited."""

    replicas: int
    able: Reason
    limited: Reason


class _Noted(NamedTuple):
    number: int
    at: float


@dataclass(slots=True)
class ScalingHistory:
    """The recommendations and resizings of an autoscaler, with unix times; none older than an hour."""

    recommended: list[_Noted] = field(default_factory=list)
    added: list[_Noted] = field(default_factory=list)
    removed: list[_Noted] = field(default_factory=list)

    def recommend(self, replicas: int, now: float, pace: Pace) -> None:
        """Remember a recommendation as the metrics gave it."""
        self.recommended = _recent(self.recommended, now, pace)
        self.recommended.append(_Noted(replicas, now))

    def scaled(self, before: int, after: int, now: float, pace: Pace) -> None:
        """Remember that the target was resized."""
        self.added, self.removed = (_recent(noted, now, pace) for noted in (self.added, self.removed))
        (self.added if after > before else self.removed).append(_Noted(abs(after - before), now))

    def start_of_period(self, current: int, seconds: float, now: float) -> int:
        """The replicas of so many seconds ago, as far as this autoscaler changed them."""
        added, removed = (
            sum(noted.number for noted in each if noted.at > now - seconds)
            for each in (self.added, self.removed)
        )
        return current - added + removed


def _recent(noted: Iterable[_Noted], now: float, pace: Pace) -> list[_Noted]:
    return [each for each in noted if each.at >= now - pace.seconds(_LONGEST_SECONDS)]


class Scaling(NamedTuple):
    """One decision: the HPA's spec, the replicas there are and those the metrics ask for."""

    spec: Mapping[str, Any]
    current: int
    wanted: int
    now: float
    pace: Pace

    @property
    def least(self) -> int:
        """The lower bound of the spec."""
        least = self.spec.get("minReplicas")
        return 1 if least is None else int(least)

    @property
    def most(self) -> int:
        """The upper bound of the spec."""
        return int(self.spec["maxReplicas"])


def bounded(scaling: Scaling, history: ScalingHistory) -> Bounded:
    """The next replicas. The recommendation is remembered."""
    behavior = scaling.spec.get("behavior")
    if behavior is None:
        stable, able = _stabilized_down(scaling, history)
        replicas, limited = _limited(scaling, stable)
    else:
        stable, able = _stabilized(scaling, history, behavior)
        replicas, limited = _limited_by_policies(scaling, stable, history, behavior)
    history.recommend(scaling.wanted, scaling.now, scaling.pace)
    return Bounded(replicas, able, limited)


def _stabilized_down(scaling: Scaling, history: ScalingHistory) -> tuple[int, Reason]:
    """The highest recommendation of the last 300 s."""
    cutoff = scaling.now - scaling.pace.seconds(_STABILIZATION_SECONDS)
    recent = [noted.number for noted in history.recommended if noted.at >= cutoff]
    stable = max([scaling.wanted, *recent])
    if stable == scaling.wanted:
        return stable, _READY
    return stable, Reason(True, "ScaleDownStabilized", _RECENT_HIGHER)


def _limited(scaling: Scaling, stable: int) -> tuple[int, Reason]:
    """At most double, or 4; and between least and most."""
    at_once = max(2 * scaling.current, 4)
    most, reason = (at_once, _TOO_FAST) if scaling.most > at_once else (scaling.most, _TOO_MANY)
    if stable < scaling.least:
        return scaling.least, _TOO_FEW
    return (most, reason) if stable > most else (stable, _WITHIN)


def _stabilized(scaling: Scaling, history: ScalingHistory, behavior: Mapping[str, Any]) -> tuple[int, Reason]:
    """The present size, moved only as far as the recommendations of both windows allow."""
    lowest = min([scaling.wanted, *_within(scaling, history, behavior.get("scaleUp"), 0.0)])
    windows = _within(scaling, history, behavior.get("scaleDown"), _STABILIZATION_SECONDS)
    highest = max([scaling.wanted, *windows])
    stable = min(max(scaling.current, lowest), highest)
    if stable == scaling.wanted:
        return stable, _READY
    if scaling.wanted >= scaling.current:
        return stable, Reason(True, "ScaleUpStabilized", _RECENT_LOWER)
    return stable, Reason(True, "ScaleDownStabilized", _RECENT_HIGHER)


def _within(
    scaling: Scaling, history: ScalingHistory, rules: Mapping[str, Any] | None, default: float
) -> list[int]:
    asked = (rules or {}).get("stabilizationWindowSeconds")
    cutoff = scaling.now - scaling.pace.seconds(default if asked is None else float(asked))
    return [noted.number for noted in history.recommended if noted.at > cutoff]


def _limited_by_policies(
    scaling: Scaling, stable: int, history: ScalingHistory, behavior: Mapping[str, Any]
) -> tuple[int, Reason]:
    current = scaling.current
    if stable > current:
        at_once = max(current, _upper(scaling, history, behavior["scaleUp"]))
        most, reason = (at_once, _TOO_FAST) if scaling.most > at_once else (scaling.most, _TOO_MANY)
        if stable > most:
            return most, reason
    elif stable < current:
        at_once = min(current, _lower(scaling, history, behavior["scaleDown"]))
        least, reason = (at_once, _TOO_FAST_DOWN) if scaling.least < at_once else (scaling.least, _TOO_FEW)
        if stable < least:
            return least, reason
    return stable, _WITHIN


def _upper(scaling: Scaling, history: ScalingHistory, rules: Mapping[str, Any]) -> int:
    """The most replicas the policies for scaling up allow."""
    if rules["selectPolicy"] == "Disabled":
        return scaling.current
    allowed = []
    for policy, start in _periods(scaling, history, rules):
        pods = policy["type"] == "Pods"
        allowed.append(
            start + policy["value"] if pods else math.ceil(start * (1 + float(policy["value"]) / 100))
        )
    return min(allowed) if rules["selectPolicy"] == "Min" else max(allowed)


def _lower(scaling: Scaling, history: ScalingHistory, rules: Mapping[str, Any]) -> int:
    """The fewest replicas the policies for scaling down allow."""
    if rules["selectPolicy"] == "Disabled":
        return scaling.current
    allowed = []
    for policy, start in _periods(scaling, history, rules):
        pods = policy["type"] == "Pods"
        allowed.append(start - policy["value"] if pods else int(start * (1 - float(policy["value"]) / 100)))
    return max(allowed) if rules["selectPolicy"] == "Min" else min(allowed)


def _periods(
    scaling: Scaling, history: ScalingHistory, rules: Mapping[str, Any]
) -> Iterable[tuple[Mapping[str, Any], int]]:
    for policy in rules["policies"]:
        seconds = scaling.pace.seconds(float(policy["periodSeconds"]))
        yield policy, history.start_of_period(scaling.current, seconds, scaling.now)
