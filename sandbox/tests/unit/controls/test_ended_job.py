"""Jobs that a test ends: the statuses are those that kube-controller-manager 1.36.3 wrote, recorded."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from handloop.apis.evolve import evolve
from handloop.kinds.batch_v1 import Job
from handloop.testing.running_sandbox import RefusedError, RunningSandbox, running_sandbox
from handloop_sandbox.clock import SettableClock

_NOW = "2023-11-14T22:13:20Z"
_REST: dict[str, Any] = {"ready": 0, "startTime": _NOW, "terminating": 0, "uncountedTerminatedPods": {}}


def _condition(kind: str, reason: str, message: str) -> dict[str, str]:
    times = {"lastProbeTime": _NOW, "lastTransitionTime": _NOW}
    return {"type": kind, "status": "True", "reason": reason, "message": message, **times}


_REACHED = ("CompletionsReached", "Reached expected number of succeeded pods")
_LIMIT = ("BackoffLimitExceeded", "Job has reached the specified backoff limit")
_CRITERIA, _COMPLETE = (_condition(kind, *_REACHED) for kind in ("SuccessCriteriaMet", "Complete"))
_TARGET, _FAILED = (_condition(kind, *_LIMIT) for kind in ("FailureTarget", "Failed"))


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[RunningSandbox]:
    """One whose time stands still."""
    with running_sandbox(tmp_path, clock=SettableClock(1_700_000_000.0, frozen=True)) as running:
        yield running


def _made(sandbox: RunningSandbox, **spec: int) -> Job:
    container = {"name": "c", "image": "busybox"}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    sandbox.apply(
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "backup"},
            "spec": {**spec, "template": template},
        }
    )
    return sandbox.get(Job, "backup")


def _written(sandbox: RunningSandbox, since: Job, count: int) -> list[Any]:
    """The statuses that were written after a version, as a watch gets them."""
    query = f"watch=1&resourceVersion={since.metadata.resource_version}"
    path = f"/{sandbox.token}/apis/batch/v1/namespaces/default/jobs"
    with urllib.request.urlopen(f"{sandbox.url}{path}?{query}", timeout=20) as lines:
        return [json.loads(lines.readline())["object"]["status"] for _ in range(count)]


def test_a_job_finishes_as_a_real_one(sandbox: RunningSandbox) -> None:
    """It starts, its criteria are met, it is complete: three writes."""
    job = _made(sandbox, completions=2, parallelism=3)
    sandbox.finish(job)
    done = {"succeeded": 2, "completionTime": _NOW}
    assert _written(sandbox, job, 3) == [
        {"active": 2, **_REST},
        {"conditions": [_CRITERIA], **_REST},
        {"conditions": [_CRITERIA, _COMPLETE], **done, **_REST},
    ]


def test_a_job_fails_as_a_real_one(sandbox: RunningSandbox) -> None:
    """One pod more than the limit has failed; there is no time of completion."""
    job = _made(sandbox, backoffLimit=0)
    sandbox.fail(job)
    assert _written(sandbox, job, 3) == [
        {"active": 1, **_REST},
        {"conditions": [_TARGET], **_REST},
        {"conditions": [_TARGET, _FAILED], "failed": 1, **_REST},
    ]


def test_a_job_ends_once(sandbox: RunningSandbox) -> None:
    """Ending it again is an error, and so is ending one that is not there."""
    job = _made(sandbox)
    sandbox.finish(job)
    for end in (sandbox.finish, sandbox.fail):
        with pytest.raises(RefusedError, match="Job default/backup has ended already"):
            end(job)
    with pytest.raises(RefusedError, match=r"nothing.* not found"):
        sandbox.fail(evolve(job, "metadata.name", "nothing"))


def test_what_others_wrote_stays(sandbox: RunningSandbox) -> None:
    """A Job that has started starts no second time, and keeps its conditions."""
    job = _made(sandbox)
    earlier = "2023-11-14T20:00:00Z"
    suspended = {"type": "Suspended", "status": "False"}
    status = {"startTime": earlier, "active": 1, "conditions": [suspended]}
    sandbox.client.resource(Job).patch(
        "backup", {"status": status}, namespace="default", subresource="status"
    )
    sandbox.finish(job)
    ended = sandbox.get(Job, "backup").status
    assert (ended.start_time, ended.active, ended.succeeded) == (earlier, None, 1)
    assert [each.type for each in ended.conditions] == ["Suspended", "SuccessCriteriaMet", "Complete"]
