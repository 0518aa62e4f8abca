"""The completion indexes of Indexed Jobs, on pods and as text in a Job's status. Every function is pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any, Final

from handloop_sandbox.storage.stored import Object

INDEX: Final = "batch.kubernetes.io/job-completion-index"

_VARIABLE: Final = "JOB_COMPLETION_INDEX"
_RANGE: Final = 3


def index_of(pod: Object) -> int | None:
    """Return the completion index of a pod, or None if it has no index."""
    text = (pod["metadata"].get("annotations") or {}).get(INDEX, "")
    return int(text) if text.isdecimal() else None


def parsed(text: str) -> list[int]:
    """Parse the text of a status: `0-2,5` becomes 0, 1, 2, 5."""
    found: list[int] = []
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def shown(indexes: Sequence[int]) -> str:
    """Return sorted indexes as text, with three or more consecutive ones as a range: `0-2,5`."""
    parts: list[str] = []
    for _, pairs in groupby(enumerate(indexes), lambda pair: pair[1] - pair[0]):
        run = [index for _, index in pairs]
        parts += [f"{run[0]}-{run[-1]}"] if len(run) >= _RANGE else map(str, run)
    return ",".join(parts)


def indexed_pod(pod: Object, index: int) -> Object:
    """Return a copy of the pod with the index in its annotation, label, host name and environment."""
    metadata, spec = pod["metadata"], pod["spec"]
    added = {INDEX: str(index)}
    metadata = {
        **metadata,
        "labels": {**(metadata.get("labels") or {}), **added},
        "annotations": {**(metadata.get("annotations") or {}), **added},
    }
    lists = {name: _told(spec[name]) for name in ("initContainers", "containers") if spec.get(name)}
    hostname = metadata["generateName"].removesuffix("-")
    return {**pod, "metadata": metadata, "spec": {**spec, **lists, "hostname": hostname}}


def _told(containers: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    source = {"fieldRef": {"apiVersion": "v1", "fieldPath": f"metadata.labels['{INDEX}']"}}
    variable = {"name": _VARIABLE, "valueFrom": source}
    return [
        container
        if any(entry["name"] == _VARIABLE for entry in container.get("env") or ())
        else {**container, "env": [*(container.get("env") or []), variable]}
        for container in containers
    ]
