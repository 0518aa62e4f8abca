"""
Ends a Job by writing the statuses that its controller would write if its pods ended.

Tests end a Job this way if its pods keep running, because of an annotation or because the sandbox runs no
controllers.

Follows: kubernetes 1.36 pkg/controller/job (one write decides the outcome, and a later one adds the final
condition).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from handloop_sandbox.controls.client import Client, Object
from handloop_sandbox.wire.patch_types import MERGE
from handloop_sandbox.wire.status import StatusError, failure


class End(NamedTuple):
    """The conditions of an outcome, in order, and the reason and message that they share."""

    conditions: tuple[str, str]
    reason: str
    message: str


FINISHED: Final = End(
    ("SuccessCriteriaMet", "Complete"), "CompletionsReached", "Reached expected number of succeeded pods"
)
FAILED: Final = End(
    ("FailureTarget", "Failed"), "BackoffLimitExceeded", "Job has reached the specified backoff limit"
)


def end_job(client: Client, namespace: str, name: str, end: End, now: str) -> Object:
    """
    End a Job. now is a timestamp in the API's format.

    Returns: the Job as stored. Raises: StatusError, with code 409 if the Job has already ended.
    """
    path = client.place("batch/v1", "Job", namespace, name).path
    job = client.get(path)
    conditions = job.get("status", {}).get("conditions", ())
    if any(each["type"] in ("Complete", "Failed") and each["status"] == "True" for each in conditions):
        raise StatusError(failure(409, "Conflict", f"Job {namespace}/{name} has ended already"))
    for status in statuses(job, end, now):
        job = client.patch(f"{path}/status", {"status": status}, MERGE)
    return job


def statuses(job: Object, end: End, now: str) -> Iterator[Object]:
    """Yield a Job's next statuses, each as a merge patch to the previous status. now is an API timestamp."""
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
