"""
The arithmetic of a rollout: the next sizes of the new and old ReplicaSets. Every function is pure.

Follows: kubernetes pkg/controller/deployment/rolling.go and util/deployment_util.go. Differs: available
replicas that a ReplicaSet has already been told to remove are not counted, so an outdated status never
reduces availability.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import ceil, floor
from typing import Any, NamedTuple

from handloop_sandbox.cluster.workloads import spec_replicas, status_count
from handloop_sandbox.storage.stored import Object

MAX_REPLICAS = "deployment.kubernetes.io/max-replicas"
_WHOLE = re.compile(r"[+-]?[0-9]{1,10}")


class Resize(NamedTuple):
    """A ReplicaSet and its next size."""

    replica_set: Object
    replicas: int


class Bounds(NamedTuple):
    """How many replicas a Deployment wants, and how many more or fewer are allowed."""

    replicas: int
    max_surge: int
    max_unavailable: int

    @property
    def most(self) -> int:
        """The maximum number of pods, old and new together."""
        return self.replicas + self.max_surge

    @property
    def least_available(self) -> int:
        """The fewest available pods allowed."""
        return self.replicas - self.max_unavailable


def scaled(value: int | str | None, total: int, *, round_up: bool) -> int:
    """Return the value of an IntOrString. A percentage of total is rounded up or down. None becomes 0."""
    if value is None or isinstance(value, int):
        return value or 0
    share = int(value.removesuffix("%")) * total / 100
    return ceil(share) if round_up else floor(share)


def bounds_of(deployment: Object) -> Bounds:
    """Return the bounds of a Deployment. Without rolling updates, surge and unavailability are 0."""
    replicas = spec_replicas(deployment)
    strategy: dict[str, Any] = deployment["spec"].get("strategy") or {}
    if strategy.get("type", "RollingUpdate") != "RollingUpdate":
        return Bounds(replicas, 0, 0)
    rolling = strategy.get("rollingUpdate") or {}
    surge = scaled(rolling.get("maxSurge", "25%"), replicas, round_up=True)
    unavailable = scaled(rolling.get("maxUnavailable", "25%"), replicas, round_up=False)
    if surge == 0 and unavailable == 0:
        unavailable = 1  # if both were 0, the rollout would be stuck
    return Bounds(replicas, surge, min(unavailable, replicas))


def annotated_size(replica_set: Object, name: str) -> int | None:
    """Return the size in an annotation of a ReplicaSet, or None if there is none or it is not a number."""
    text = (replica_set["metadata"].get("annotations") or {}).get(name, "")
    return int(text) if _WHOLE.fullmatch(text) else None


def total_replicas(replica_sets: Sequence[Object]) -> int:
    """Return the total number of replicas that these ReplicaSets want."""
    return sum(spec_replicas(replica_set) for replica_set in replica_sets)


def total_status(replica_sets: Sequence[Object], field: str) -> int:
    """Return the sum of a status counter."""
    return sum(status_count(replica_set, field) for replica_set in replica_sets)


def size_of_new(bounds: Bounds, *, new: int, total: int) -> int:
    """Return the next size of the new ReplicaSet. total is the sum of all current sizes."""
    if new > bounds.replicas:
        return bounds.replicas
    room = bounds.most - total
    return new if room <= 0 else new + min(room, bounds.replicas - new)


def shrink_old(bounds: Bounds, new: Object, old: Sequence[Object]) -> list[Resize]:
    """
    Return the steps that remove old replicas, oldest ReplicaSet first.

    Unavailable replicas are removed first, because that does not reduce availability. Then available ones are
    removed, as far as the bounds allow.
    """
    if total_replicas(old) == 0:
        return []
    unavailable_new = spec_replicas(new) - status_count(new, "availableReplicas")
    total = total_replicas([*old, new])
    allowed = total - bounds.least_available - unavailable_new
    if allowed <= 0:
        return []
    ordered = by_age(old)
    sizes = {replica_set["metadata"]["name"]: spec_replicas(replica_set) for replica_set in ordered}
    available = sum(min(status_count(rs, "availableReplicas"), spec_replicas(rs)) for rs in [*old, new])
    steps = _take(ordered, sizes, allowed, keep="availableReplicas")
    return steps + _take(ordered, sizes, available - bounds.least_available)


def _take(ordered: Sequence[Object], sizes: dict[str, int], most: int, *, keep: str = "") -> list[Resize]:
    """
    Remove up to `most` replicas, one ReplicaSet after another.

    keep names a counter in the status. Each ReplicaSet keeps at least that many replicas.
    """
    steps: list[Resize] = []
    for replica_set in ordered:
        name = replica_set["metadata"]["name"]
        floor_ = status_count(replica_set, keep) if keep else 0
        taken = min(most, sizes[name] - floor_)
        if taken > 0:
            sizes[name] -= taken
            most -= taken
            steps.append(Resize(replica_set, sizes[name]))
    return steps


def by_age(replica_sets: Sequence[Object]) -> list[Object]:
    """Return the ReplicaSets, oldest first. Those with equal times are sorted by name."""
    return sorted(replica_sets, key=lambda rs: (rs["metadata"]["creationTimestamp"], rs["metadata"]["name"]))


def active(replica_sets: Sequence[Object]) -> list[Object]:
    """Return the ReplicaSets that want replicas."""
    return [replica_set for replica_set in replica_sets if spec_replicas(replica_set) > 0]


def proportional(bounds: Bounds, replica_sets: Sequence[Object], *, status_replicas: int) -> list[Resize]:
    """
    Distribute a change of spec.replicas during a rollout among the active ReplicaSets, in proportion to their
    sizes.

    The largest ReplicaSet receives the rounding difference. Among equal ones, the newer one grows and the
    older one shrinks.
    """
    allowed = bounds.most if bounds.replicas > 0 else 0
    to_add = allowed - total_replicas(replica_sets)
    oldest_first = by_age(replica_sets)
    ordered = sorted(oldest_first[::-1] if to_add > 0 else oldest_first, key=spec_replicas, reverse=True)
    added = 0
    sizes: list[int] = []
    for replica_set in ordered:
        share = _share(bounds, replica_set, status_replicas) if to_add != added else 0
        left = to_add - added
        share = min(share, left) if to_add > 0 else max(share, left)
        sizes.append(spec_replicas(replica_set) + share)
        added += share
    if sizes:
        sizes[0] = max(0, sizes[0] + to_add - added)
    return [Resize(replica_set, size) for replica_set, size in zip(ordered, sizes, strict=True)]


def _share(bounds: Bounds, replica_set: Object, status_replicas: int) -> int:
    size = spec_replicas(replica_set)
    if bounds.replicas == 0:
        return -size
    before = annotated_size(replica_set, MAX_REPLICAS) or status_replicas
    return _round(size * bounds.most / before) - size if before else 0


def _round(value: float) -> int:
    return floor(value + 0.5)  # rounds half up, not to even
