"""A Job's life: what its status says in which order, its pods, and its end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from support.servers.api_server import Answer, APIServer, Object

_REACHED = ("CompletionsReached", "Reached expected number of succeeded pods")
_SUCCESS = [("SuccessCriteriaMet", "True", *_REACHED), ("Complete", "True", *_REACHED)]
_FAILING = {
    "sandbox.handloop.dev/job": "fail",
    "fake-kubelet/exit-code": "1",
    "fake-kubelet/run-seconds": "0",
}
_HOLDING = {"sandbox.handloop.dev/job": "hold", "fake-kubelet/run-seconds": "600"}
"""The words of a sandbox, and of the stand-in for a node."""
_TWO_PARTS = "violates the requirement that an index interval can have at most two parts separated by '-'"
_INDEX = "batch.kubernetes.io/job-completion-index"
_REST = {"terminating": 0, "uncountedTerminatedPods": {}, "ready": 0}

Said = tuple[str, str, str, str]


@dataclass(frozen=True)
class Jobs:
    """The Jobs of a namespace of the test's own."""

    server: APIServer
    namespace: str

    @property
    def collection(self) -> str:
        """The path of the Jobs."""
        return f"/apis/batch/v1/namespaces/{self.namespace}/jobs"

    def create(self, *, does: dict[str, str] | None = None, labels: Any = None, **spec: Any) -> Object:
        """Make the Job `j`; does = annotations of its pods."""
        containers = [{"name": "main", "image": "busybox:1"}]
        template = {
            "metadata": {"annotations": does or {}},
            "spec": {"restartPolicy": "Never", "containers": containers},
        }
        body = {"metadata": {"name": "j", "labels": labels}, "spec": {**spec, "template": template}}
        answer = self.server.create(self.collection, body)
        assert answer.status == 201, answer
        made: Object = answer.body
        return made

    def until(self, *conditions: Said) -> Object:
        """Wait until these conditions are all that it has; returns the status."""

        def done(answer: Answer) -> bool:
            return _conditions(answer.body) == list(conditions)

        found: Object = self.server.eventually(f"{self.collection}/j", done).body["status"]
        return found

    def pods(self) -> list[Object]:
        """Its pods."""
        found: list[Object] = self.server.get(f"/api/v1/namespaces/{self.namespace}/pods").body["items"]
        return found

    def told(self, *reasons: str) -> list[tuple[str, str]]:
        """Wait for Events with these reasons about the Job; returns type and message in this order."""
        path = f"/api/v1/namespaces/{self.namespace}/events"

        def about(answer: Answer) -> dict[str, tuple[str, str]]:
            return {
                event["reason"]: (event["type"], event["message"])
                for event in answer.body["items"]
                if event["involvedObject"]["kind"] == "Job"
            }

        found = about(self.server.eventually(path, lambda answer: set(reasons) <= set(about(answer))))
        return [found[reason] for reason in reasons]


def _conditions(job: Object) -> list[Said]:
    found = job.get("status", {}).get("conditions", [])
    return [(c["type"], c["status"], c["reason"], c["message"]) for c in found]


def _timeless(status: Object) -> Object:
    return {
        name: each
        for name, each in status.items()
        if name not in ("startTime", "completionTime", "conditions")
    }


def _has_succeeded(events: list[Object]) -> bool:
    return bool(events) and _conditions(events[-1]["object"]) == _SUCCESS


@pytest.fixture
def jobs(server: APIServer, namespace: str) -> Jobs:
    """No Job yet."""
    return Jobs(server, namespace)


def test_success(jobs: Jobs) -> None:
    """Each pod is written down, set free, and counted; the criteria are met before the Job is complete."""
    with jobs.server.watch(f"{jobs.collection}?watch=true") as watch:
        jobs.create()
        events = watch.until(_has_succeeded)
    # one that has a ready pod comes from servers whose pods become ready first
    statuses = [status for event in events if not (status := event["object"]["status"]).get("ready")]
    (pod,) = jobs.pods()
    uid = pod["metadata"]["uid"]
    assert [_timeless(status) for status in statuses] == [
        {},
        {"active": 1, **_REST},
        {**_REST, "uncountedTerminatedPods": {"succeeded": [uid]}},
        {"succeeded": 1, **_REST},
    ]
    assert _conditions({"status": statuses[2]}) == _SUCCESS[:1]
    assert "startTime" in statuses[1]
    assert "completionTime" in statuses[3]
    assert "finalizers" not in pod["metadata"]
    assert pod["metadata"]["generateName"] == "j-"
    assert jobs.told("SuccessfulCreate", "Completed") == [
        ("Normal", f"Created pod: {pod['metadata']['name']}"),
        ("Normal", "Job completed"),
    ]


def test_parallelism_and_completions(jobs: Jobs) -> None:
    """Never more pods at a time than parallelism, and in the end as many successes as completions."""
    with jobs.server.watch(f"{jobs.collection}?watch=true") as watch:
        jobs.create(completions=3, parallelism=2)
        events = watch.until(_has_succeeded)
    assert max(event["object"]["status"].get("active", 0) for event in events) == 2
    assert _timeless(events[-1]["object"]["status"]) == {"succeeded": 3, **_REST}
    assert len(jobs.pods()) == 3


def test_pods_that_the_controller_deletes_do_not_count_as_failed(jobs: Jobs) -> None:
    """Fewer at once is no failure, even if none is allowed."""
    jobs.create(does=_HOLDING, completions=5, parallelism=3, backoffLimit=0)
    jobs.server.eventually(f"{jobs.collection}/j", lambda answer: answer.body["status"].get("active") == 3)
    jobs.server.patch(f"{jobs.collection}/j", {"spec": {"parallelism": 1}})

    def is_smaller(answer: Answer) -> bool:
        status = answer.body["status"]
        return (status.get("active"), status["terminating"]) == (1, 0)

    status = jobs.server.eventually(f"{jobs.collection}/j", is_smaller).body["status"]
    assert "failed" not in status
    assert "conditions" not in status


def test_an_indexed_job_that_shrinks_forgets_the_indexes_beyond(jobs: Jobs) -> None:
    """Neither their pods nor their successes count; those that are left are still to be done."""
    size = {"completions": 5, "parallelism": 5}
    jobs.create(does=_HOLDING, completionMode="Indexed", backoffLimit=0, **size)
    path = f"{jobs.collection}/j"
    jobs.server.eventually(path, lambda answer: answer.body["status"].get("active") == 5)
    (last,) = (pod for pod in jobs.pods() if pod["metadata"]["labels"][_INDEX] == "4")
    pod = f"/api/v1/namespaces/{jobs.namespace}/pods/{last['metadata']['name']}"
    jobs.server.eventually(pod, lambda answer: answer.body["status"]["phase"] == "Running")
    jobs.server.patch(f"{pod}/status", {"status": {"phase": "Succeeded"}})
    jobs.server.eventually(path, lambda answer: answer.body["status"].get("completedIndexes") == "4")
    jobs.server.patch(path, {"spec": {"completions": 2, "parallelism": 2}})
    settled = jobs.server.eventually(path, lambda answer: answer.body["status"].get("active") == 2)
    assert not {"completedIndexes", "succeeded", "failed", "conditions"} & settled.body["status"].keys()
    pods = f"/api/v1/namespaces/{jobs.namespace}/pods"  # the last has succeeded, and stays
    jobs.server.eventually(pods, lambda answer: indexes_of(answer) == {"0", "1", "4"})


def indexes_of(pods: Answer) -> set[str]:
    return {pod["metadata"]["labels"][_INDEX] for pod in pods.body["items"]}


def test_failure(jobs: Jobs) -> None:
    """One failure beyond the limit is the target, then the end."""
    jobs.create(does=_FAILING, backoffLimit=0)
    why = ("BackoffLimitExceeded", "Job has reached the specified backoff limit")
    status = jobs.until(("FailureTarget", "True", *why), ("Failed", "True", *why))
    assert _timeless(status) == {"failed": 1, **_REST}
    assert "completionTime" not in status
    assert jobs.told("BackoffLimitExceeded") == [("Warning", why[1])]


def test_a_deadline(jobs: Jobs) -> None:
    """A Job that takes too long loses its pods, which count as failed."""
    jobs.create(does=_HOLDING, activeDeadlineSeconds=2)
    why = ("DeadlineExceeded", "Job was active longer than specified deadline")
    status = jobs.until(("FailureTarget", "True", *why), ("Failed", "True", *why))
    assert _timeless(status) == {"failed": 1, **_REST}
    assert jobs.pods() == []
    assert jobs.told("DeadlineExceeded") == [("Warning", why[1])]


def test_indexes(jobs: Jobs) -> None:
    """Each index has its pod, which knows it by name, label, annotation and environment."""
    jobs.create(completions=4, parallelism=4, completionMode="Indexed")
    status = jobs.until(*_SUCCESS)
    assert _timeless(status) == {"succeeded": 4, "completedIndexes": "0-3", **_REST}
    index = "batch.kubernetes.io/job-completion-index"
    pods = sorted(jobs.pods(), key=lambda pod: pod["spec"]["hostname"])
    assert [pod["spec"]["hostname"] for pod in pods] == ["j-0", "j-1", "j-2", "j-3"]
    metadata, (container,) = pods[2]["metadata"], pods[2]["spec"]["containers"]
    assert (metadata["generateName"], metadata["labels"][index], metadata["annotations"]) == (
        "j-2-",
        "2",
        {index: "2"},
    )
    field = {"apiVersion": "v1", "fieldPath": f"metadata.labels['{index}']"}
    assert container["env"] == [{"name": "JOB_COMPLETION_INDEX", "valueFrom": {"fieldRef": field}}]


def test_suspension(jobs: Jobs) -> None:
    """Suspended, it has no pods and no start; resumed, it starts anew."""
    jobs.create(does=_HOLDING)
    jobs.server.eventually(f"{jobs.collection}/j", lambda answer: answer.body["status"].get("active") == 1)
    path = f"{jobs.collection}/j"
    assert jobs.server.patch(path, {"spec": {"suspend": True}}).status == 200
    jobs.server.eventually(f"/api/v1/namespaces/{jobs.namespace}/pods", lambda answer: not answer.names)
    jobs.server.eventually(path, lambda answer: answer.body["status"]["terminating"] == 0)
    status = jobs.until(("Suspended", "True", "JobSuspended", "Job suspended"))
    assert _timeless(status) == _REST
    assert "startTime" not in status
    assert jobs.server.patch(path, {"spec": {"suspend": False}}).status == 200
    status = jobs.until(("Suspended", "False", "JobResumed", "Job resumed"))
    assert _timeless(status) == {"active": 1, **_REST}
    assert jobs.told("Suspended", "Resumed") == [("Normal", "Job suspended"), ("Normal", "Job resumed")]


def test_a_job_that_is_over_goes_after_its_time(jobs: Jobs) -> None:
    """Job and pods, ttlSecondsAfterFinished after the end."""
    jobs.create(ttlSecondsAfterFinished=1)
    jobs.server.eventually(f"{jobs.collection}/j", lambda answer: answer.status == 404)
    assert jobs.pods() == []


def test_deletion(jobs: Jobs) -> None:
    """The pods of a deleted Job lose their finalizer, and go."""
    jobs.create(does=_HOLDING)
    pods = f"/api/v1/namespaces/{jobs.namespace}/pods"
    found = jobs.server.eventually(pods, lambda answer: len(answer.names) == 1).body["items"][0]
    assert found["metadata"]["finalizers"] == ["batch.kubernetes.io/job-tracking"]
    assert jobs.server.delete(f"{jobs.collection}/j", {"propagationPolicy": "Background"}).status == 200
    jobs.server.eventually(pods, lambda answer: not answer.names)


@pytest.mark.parametrize(("labels", "names"), [(None, 4), ({"mine": "yes"}, 1)])
def test_labels(jobs: Jobs, labels: Any, names: int) -> None:
    """The Job has the labels of its pods only if it has none of its own."""
    job = jobs.create(labels=labels, suspend=True)
    assert len(job["spec"]["template"]["metadata"]["labels"]) == 4
    assert len(job["metadata"]["labels"]) == names


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("0,2-3", ""),
        ("x", 'cannot convert string to integer for index: "x"'),
        ("0-", 'cannot convert string to integer for index: ""'),
        ("0,", 'cannot convert string to integer for index: ""'),
        ("-1", 'cannot convert string to integer for index: ""'),
        ("5", 'too large index: "5"'),
        ("0-7", 'too large index: "7"'),
        ("3,1", "non-increasing order, previous: 3, current: 1"),
        ("1-1", "non-increasing order, previous: 1, current: 1"),
        ("0-2,2-1", "non-increasing order, previous: 2, current: 1"),
        ("1-2-3", f'the fragment "1-2-3" {_TWO_PARTS}'),
    ],
)
def test_completed_indexes_that_nobody_can_read_are_refused(jobs: Jobs, text: str, wrong: str) -> None:
    """The Job controller parses what the status says."""
    jobs.create(completionMode="Indexed", completions=5, managedBy="example.org/test")
    path = f"{jobs.collection}/j/status?dryRun=All"
    answer = jobs.server.patch(path, {"status": {"completedIndexes": text}})
    assert answer.status == (422 if wrong else 200)
    if wrong:
        told = f'status.completedIndexes: Invalid value: "{text}": error parsing completedIndexes: {wrong}'
        assert answer.body["message"] == f'Job.batch "j" is invalid: {told}'


def test_only_indexed_jobs_have_completed_indexes(jobs: Jobs) -> None:
    """The status of any other is refused."""
    jobs.create(completions=5, managedBy="example.org/test")
    answer = jobs.server.patch(f"{jobs.collection}/j/status", {"status": {"completedIndexes": "0"}})
    assert answer.status == 422
    assert answer.body["message"].endswith("when non-indexed completion mode")
