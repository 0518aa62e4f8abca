"""
How a Job ends: the statuses that its controller writes, without the pods that lead to them.

Follows: kubernetes 1.36 pkg/controller/job (first the condition that decides, in a later write the end).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

Object = dict[str, Any]


class End(NamedTuple):
    """The conditions of an end, in their order, and their shared text."""

    conditions: tuple[str, str]
    reason: str
    message: str


FINISHED: Final = End(
    ("SuccessCriteriaMet", "Complete"), "CompletionsReached", "Reached expected number of succeeded pods"
)
FAILED: Final = End(
    ("FailureTarget", "Failed"), "BackoffLimitExceeded", "Job has reached the specified backoff limit"
)


def statuses(job: Object, end: End, now: str) -> Iterator[Object]:
    """The further statuses of a Job, each to be merged into the one before; now is a time of the API."""
    spec, before = job["spec"], job.get("status", {})
    wanted = spec.get("completions", spec["parallelism"])
    rest = {"ready": 0, "terminating": 0, "uncountedTerminatedPods": {}}
    if "startTime" not in before:
        yield {"startTime": now, "active": min(spec["parallelism"], wanted), **rest}
    finished = {"succeeded": wanted, "completionTime": now}
    counts = finished if end is FINISHED else {"failed": spec["backoffLimit"] + 1}
    says = {"status": "True", "reason": end.reason, "message": end.message}
    conditions = before.get("conditions", [])
    for kind, more in zip(end.conditions, ({"active": None, **rest}, counts), strict=True):
        conditions = [*conditions, {"type": kind, "lastProbeTime": now, "lastTransitionTime": now, **says}]
        yield {"conditions": conditions, **more}
