from __future__ import annotations

from typing import Any

from handloop_sandbox.cluster.job_status import TRACKING, restarts_exceed, tally_of, with_condition


def _pod(uid: str, phase: str, *, tracked: bool = True, deleting: bool = False) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": uid, "uid": uid, "finalizers": [TRACKING] if tracked else []}
    if deleting:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return {"metadata": metadata, "status": {"phase": phase}}


def test_what_pods_count_as() -> None:
    """Each finished pod once, while it has its finalizer; one that is being deleted has failed."""
    pods = [
        _pod("a", "Running"),
        _pod("b", "Succeeded"),
        _pod("c", "Succeeded", tracked=False),
        _pod("d", "Failed"),
        _pod("e", "Running", deleting=True),
    ]
    job = {"spec": {}, "status": {"succeeded": 1, "failed": 2}}
    tally = tally_of(job, pods)
    names = [
        [pod["metadata"]["name"] for pod in group] for group in (tally.active, tally.succeeded, tally.failed)
    ]
    assert names == [["a"], ["b"], ["d", "e"]]
    assert (tally.total_succeeded, tally.total_failed, tally.terminating) == (2, 4, 1)
    patient = {**job, "spec": {"podReplacementPolicy": "Failed"}}
    assert tally_of(patient, pods).total_failed == 3


def test_restarts() -> None:
    """They count for OnFailure alone; with a limit of 0 one is too many."""
    pods = [{"status": {"containerStatuses": [{"restartCount": 1}, {"restartCount": 1}]}}]

    def exceeds(policy: str, limit: int) -> bool:
        return restarts_exceed({"spec": {"template": {"spec": {"restartPolicy": policy}}}}, pods, limit)

    assert [exceeds("OnFailure", limit) for limit in (0, 2, 3)] == [True, True, False]
    assert not exceeds("Never", 0)


def test_a_condition_that_holds_stays_as_it_is() -> None:
    """Only another status replaces it, in its place."""
    first = with_condition([], "Suspended", "True", ("JobSuspended", "Job suspended"), 0.0)
    assert with_condition(first, "Suspended", "True", ("x", "y"), 9.0) == first
    (entry,) = with_condition(first, "Suspended", "False", ("JobResumed", "Job resumed"), 9.0)
    assert (entry["status"], entry["lastTransitionTime"]) == ("False", "1970-01-01T00:00:09Z")
