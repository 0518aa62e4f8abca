"""
The load of simulated pods, as a metrics server would report it.

The annotations `sandbox.controller.dev/cpu-load` and `sandbox.controller.dev/memory-load` hold a quantity. On
a pod, it is the usage of this pod. On its controllers (Deployment, custom object: owner references are
followed), on the scaled object or on the HorizontalPodAutoscaler, it is the usage of all pods together,
shared evenly by the ready ones. The nearest annotation wins. A value that is no quantity counts as none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from handloop.apis.quantity import QuantityError, parse_quantity
from handloop.sandbox.cluster.workloads import is_deleting, is_pod_ready, lineage
from handloop.sandbox.storage.state import State
from handloop.sandbox.storage.stored import Object

LOAD_ANNOTATIONS = {
    "cpu": "sandbox.controller.dev/cpu-load",
    "memory": "sandbox.controller.dev/memory-load",
}


class _Load(NamedTuple):
    uid: str
    milli: int
    alone: bool


def measured(
    state: State, pods: Sequence[Object], scalers: Sequence[Object], resource: str, *, container: str = ""
) -> dict[str, int] | None:
    """
    The usage of every running pod in thousandths, by pod name; None when no load was set.

    Args: scalers are the scaled object and its autoscaler. container "" = of the whole pod.
    """
    annotation = LOAD_ANNOTATIONS.get(resource)
    if annotation is None:
        return None
    loads = {pod["metadata"]["name"]: _load(state, pod, scalers, annotation) for pod in pods}
    if not any(loads.values()) and not any(_asked(obj, annotation) is not None for obj in scalers):
        return None
    sharers = _sharers(pods, loads)
    usage = {}
    for pod in pods:
        name = pod["metadata"]["name"]
        load = loads[name]
        if load is not None and _runs(pod):
            usage[name] = _share(pod, load, sharers)
    if not container:
        return usage
    return {
        pod["metadata"]["name"]: usage[pod["metadata"]["name"]] // len(pod["spec"]["containers"])
        for pod in pods
        if pod["metadata"]["name"] in usage and any(c["name"] == container for c in pod["spec"]["containers"])
    }


def _load(state: State, pod: Object, scalers: Sequence[Object], annotation: str) -> _Load | None:
    for obj in _sources(state, pod, scalers):
        milli = _asked(obj, annotation)
        if milli is not None:
            return _Load(obj["metadata"]["uid"], milli, alone=obj is pod)
    return None


def _sources(state: State, pod: Object, scalers: Sequence[Object]) -> Iterator[Object]:
    yield from lineage(state, pod)
    yield from scalers


def _asked(obj: Object, annotation: str) -> int | None:
    text = (obj["metadata"].get("annotations") or {}).get(annotation, "")
    try:
        return int(parse_quantity(text) * 1000) if text else None
    except QuantityError:
        return None


def _sharers(pods: Sequence[Object], loads: Mapping[str, _Load | None]) -> dict[str, int]:
    """How many ready pods share each load."""
    count: dict[str, int] = {}
    for pod in pods:
        load = loads[pod["metadata"]["name"]]
        if load is not None and _serves(pod):
            count[load.uid] = count.get(load.uid, 0) + 1
    return count


def _share(pod: Object, load: _Load, sharers: Mapping[str, int]) -> int:
    if load.alone:
        return load.milli
    return load.milli // sharers[load.uid] if _serves(pod) else 0


def _serves(pod: Object) -> bool:
    return is_pod_ready(pod) and not is_deleting(pod)


def _runs(pod: Object) -> bool:
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    return bool(statuses) and all("running" in (entry.get("state") or {}) for entry in statuses)
