"""What a pod comes from: itself, then what controls it, upwards."""

from __future__ import annotations

from collections.abc import Iterator

from handloop.sandbox.cluster.workloads import PODS, REPLICA_SETS
from handloop.sandbox.storage.owner_references import controller_of
from handloop.sandbox.storage.state import State
from handloop.sandbox.storage.stored import Object

MAX_GENERATIONS = 10  # owner references can form a circle


def lineage(state: State, pod: Object) -> Iterator[Object]:
    """
    The pod and what controls it, nearest first.

    A Deployment's ReplicaSets are passed over: they keep annotations that the Deployment no longer has.
    """
    obj, place = pod, PODS
    for _ in range(MAX_GENERATIONS):
        owner = controller_of(obj)
        if place != REPLICA_SETS or owner is None:
            yield obj
        found = state.by_uid(owner["uid"]) if owner else None
        if found is None:
            return
        place, obj = found
