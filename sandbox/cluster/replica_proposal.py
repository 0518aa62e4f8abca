"""
The replicas that a usage asks for.

The usage of ready pods, divided by the target, gives a ratio. Within the tolerance nothing changes. Otherwise
pods without a sample and, on the way up, pods that are not ready are counted as if they spoke against the
change.
Follows: kubernetes pkg/controller/podautoscaler/replica_calculator.go.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from handloop.apis.meta import parse_time
from handloop.apis.quantity import parse_quantity
from handloop.sandbox.cluster.cluster_controller import Pace
from handloop.sandbox.cluster.workloads import condition, is_deleting
from handloop.sandbox.storage.stored import Object

DEFAULT_TOLERANCE = 0.1

_INITIALIZATION_SECONDS = 300.0
_READINESS_DELAY_SECONDS = 30.0
_WINDOW_SECONDS = 15.0

_Ratio = Callable[[Mapping[str, int]], float]


class UncountableError(Exception):
    """The samples and pods give no number; the message is what a kube-controller-manager says."""


class Tolerance(NamedTuple):
    """How far below and above 1 a ratio may be without a change."""

    down: float = DEFAULT_TOLERANCE
    up: float = DEFAULT_TOLERANCE

    def covers(self, ratio: float) -> bool:
        """Whether a ratio is near enough to 1."""
        return 1.0 - self.down <= ratio <= 1.0 + self.up


class Proposal(NamedTuple):
    """The replicas asked for; the average usage in thousandths; utilization in percent of the request."""

    replicas: int
    average: int
    utilization: int | None = None


@dataclass(frozen=True, slots=True)
class Sampling:
    """The pods behind a metric, their usage in thousandths by name, and when and where it was taken."""

    pods: Sequence[Object]
    usage: Mapping[str, int]
    resource: str
    now: float
    pace: Pace
    container: str = ""


class _Groups(NamedTuple):
    ready: int
    unready: frozenset[str]
    missing: frozenset[str]
    ignored: frozenset[str]


def by_utilization(sampling: Sampling, *, current: int, target: int, tolerance: Tolerance) -> Proposal:
    """What a target in percent of the pods' requests asks for. Raises: UncountableError."""
    groups, known = _known(sampling)
    requests = {pod["metadata"]["name"]: _request(pod, sampling) for pod in sampling.pods}
    utilization = _utilization(known, requests)
    replicas = _proposed(
        groups,
        known,
        current=current,
        tolerance=tolerance,
        ratio_of=lambda usage: _utilization(usage, requests) / target,
        assumed=lambda name: requests[name] * max(100, target) // 100,
    )
    return Proposal(replicas, sum(known.values()) // len(known), utilization)


def by_average(sampling: Sampling, *, current: int, target: int, tolerance: Tolerance) -> Proposal:
    """What a target in thousandths per pod asks for. Raises: UncountableError."""
    groups, known = _known(sampling)
    replicas = _proposed(
        groups,
        known,
        current=current,
        tolerance=tolerance,
        ratio_of=lambda usage: sum(usage.values()) // len(usage) / target,
        assumed=lambda _: target,
    )
    return Proposal(replicas, sum(known.values()) // len(known))


def _known(sampling: Sampling) -> tuple[_Groups, dict[str, int]]:
    """The pods in groups, and the samples that count."""
    if not sampling.pods:
        raise UncountableError("no pods returned by selector while calculating replica count")
    groups = _grouped(sampling)
    left_out = groups.unready | groups.ignored
    known = {name: value for name, value in sampling.usage.items() if name not in left_out}
    if not known:
        text = "did not receive metrics for targeted pods (pods might be unready)"
        raise UncountableError(text)
    return groups, known


def _proposed(
    groups: _Groups,
    known: Mapping[str, int],
    *,
    current: int,
    tolerance: Tolerance,
    ratio_of: _Ratio,
    assumed: Callable[[str], int],
) -> int:
    ratio = ratio_of(known)
    doubtful = groups.unready if ratio > 1.0 else frozenset[str]()
    if not doubtful and not groups.missing:
        return current if tolerance.covers(ratio) else math.ceil(ratio * groups.ready)
    usage = dict(known)
    if ratio < 1.0:
        usage |= {name: assumed(name) for name in groups.missing}
    elif ratio > 1.0:
        usage |= dict.fromkeys(groups.missing, 0)
    usage |= dict.fromkeys(doubtful, 0)
    again = ratio_of(usage)
    if tolerance.covers(again) or (ratio < 1.0 < again) or (again < 1.0 < ratio):
        return current
    replicas = math.ceil(again * len(usage))
    turned = replicas > current if again < 1.0 else replicas < current
    return current if turned else replicas


def _grouped(sampling: Sampling) -> _Groups:
    ready = 0
    unready, missing, ignored = set(), set(), set()
    for pod in sampling.pods:
        name, phase = pod["metadata"]["name"], (pod.get("status") or {}).get("phase")
        if is_deleting(pod) or phase == "Failed":
            ignored.add(name)
        elif phase == "Pending":
            unready.add(name)
        elif name not in sampling.usage:
            missing.add(name)
        elif sampling.resource == "cpu" and _is_unready(pod, sampling):
            unready.add(name)
        else:
            ready += 1
    return _Groups(ready, frozenset(unready), frozenset(missing), frozenset(ignored))


def _is_unready(pod: Object, sampling: Sampling) -> bool:
    """Whether a sample of CPU does not count, because it may be from the start of the pod."""
    found, started = condition(pod, "Ready"), pod["status"].get("startTime")
    if found is None or not started:
        return True
    seconds, began_at = sampling.pace.seconds, parse_time(started)
    turned_at, ready = parse_time(found["lastTransitionTime"]), found["status"] != "False"
    if began_at + seconds(_INITIALIZATION_SECONDS) > sampling.now:
        return not ready or sampling.now < turned_at + seconds(_WINDOW_SECONDS)
    return not ready and began_at + seconds(_READINESS_DELAY_SECONDS) > turned_at


def _utilization(usage: Mapping[str, int], requests: Mapping[str, int]) -> int:
    asked = sum(requests[name] for name in usage)
    if asked == 0:
        raise UncountableError("no metrics returned matched known pods")
    return sum(usage.values()) * 100 // asked


def _request(pod: Object, sampling: Sampling) -> int:
    """What a pod, or one container of it, requests, in thousandths. Raises: UncountableError."""
    spec, name = pod["spec"], pod["metadata"]["name"]
    resource, container = sampling.resource, sampling.container
    whole = (spec.get("resources") or {}).get("requests")
    if whole and not container:
        if resource not in whole:
            raise UncountableError(f"missing pod-level request for {resource} in Pod {name}")
        return _milli(whole[resource])
    sidecars = (c for c in spec.get("initContainers") or () if c.get("restartPolicy") == "Always")
    chosen = [c for c in (*spec["containers"], *sidecars) if container in ("", c["name"])]
    if not chosen:
        raise UncountableError(f"container {container} not found in Pod {name}")
    total = 0
    for each in chosen:
        requests = (each.get("resources") or {}).get("requests") or {}
        if resource not in requests:
            text = f"missing request for {resource} in container {each['name']} of Pod {name}"
            raise UncountableError(text)
        total += _milli(requests[resource])
    return total


def _milli(text: str) -> int:
    return math.ceil(parse_quantity(text) * 1000)
