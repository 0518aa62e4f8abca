from __future__ import annotations

from typing import Any

import pytest

from handloop_sandbox.cluster.cluster_controller import Pace
from handloop_sandbox.cluster.jobs import JobController
from handloop_sandbox.cluster.workloads import JOBS
from support.servers.living_server import BATCH, CORE, LivingServer, template
from support.servers.simulated_cluster import SimulatedCluster

_JOBS = f"{BATCH}/jobs"
_WORD = "sandbox.handloop.dev/job"
_MERGE = "application/merge-patch+json"


def _server(*, does: str = "", policy: str = "Never", hold: bool = False, **spec: Any) -> LivingServer:
    server = LivingServer(speed=10.0, hold_jobs=hold)
    words = {_WORD: does} if does else {}
    server.make(_JOBS, "j", {"template": template("busybox:1", policy=policy, **words), **spec})
    return server


def _ends(server: LivingServer) -> list[tuple[str, str]]:
    conditions = server.status(f"{_JOBS}/j").get("conditions", [])
    return [(each["type"], each["reason"]) for each in conditions]


def test_failures_are_made_up_for_after_a_growing_pause() -> None:
    """10 s, then 20 s, at a tenth of it here; one more than the limit ends the Job."""
    server = _server(does="fail", backoffLimit=2)
    counts = []
    for seconds in (1, 1, 1, 4):
        server.wait(seconds)
        counts.append(len(server.items(f"{CORE}/pods")))
    assert counts == [1, 2, 2, 3]
    assert _ends(server) == [
        ("FailureTarget", "BackoffLimitExceeded"),
        ("Failed", "BackoffLimitExceeded"),
    ]
    assert server.status(f"{_JOBS}/j")["failed"] == 3


def test_restarts_in_place_count() -> None:
    """Of pods with restartPolicy OnFailure."""
    server = _server(does="fail", policy="OnFailure", backoffLimit=2)
    server.wait(30)
    assert _ends(server)[-1] == ("Failed", "BackoffLimitExceeded")


@pytest.mark.parametrize("place", ["job", "template"])
def test_the_word_can_be_taken_back(place: str) -> None:
    """A held Job ends when its annotation says so; the pods' own word is nearer."""
    server = _server(does="hold" if place == "template" else "")
    path = f"{_JOBS}/j"
    if place == "job":
        server.request(
            "PATCH",
            path,
            {"metadata": {"annotations": {_WORD: "hold"}}},
            content_type="application/merge-patch+json",
        )
    server.wait(5)
    assert _ends(server) == []
    (pod,) = server.items(f"{CORE}/pods")
    target = path if place == "job" else f"{CORE}/pods/{pod}"
    body = {"metadata": {"annotations": {_WORD: "succeed"}}}
    server.request("PATCH", target, body, content_type=_MERGE)
    server.wait(5)
    assert _ends(server)[-1] == ("Complete", "CompletionsReached")


def test_jobs_can_be_held_everywhere() -> None:
    """Where the sandbox holds them, the annotation ends them."""
    server = _server(hold=True)
    server.wait(10)
    assert _ends(server) == []
    server = _server(hold=True, does="succeed")
    server.wait(10)
    assert _ends(server)[-1] == ("Complete", "CompletionsReached")


def test_a_lost_pod_is_replaced_and_counts_as_failed() -> None:
    """It was deleted by somebody while it ran."""
    server = _server(does="hold")
    server.wait(1)
    (pod,) = server.items(f"{CORE}/pods")
    server.request("DELETE", f"{CORE}/pods/{pod}")
    server.wait(3)
    (other,) = server.items(f"{CORE}/pods")
    assert other != pod
    assert server.status(f"{_JOBS}/j")["failed"] == 1


def test_parallelism_follows_its_spec() -> None:
    """Fewer pods at once when it is lowered; without completions the first success ends the creation."""
    server = _server(does="hold", completions=5, parallelism=3)
    server.wait(1)
    server.change(f"{_JOBS}/j", parallelism=1)
    server.wait(2)
    assert server.status(f"{_JOBS}/j")["active"] == 1
    server = _server(parallelism=2, completions=None)
    server.wait(5)
    assert server.status(f"{_JOBS}/j")["succeeded"] == 2


def test_a_job_of_another_controller_is_left_alone() -> None:
    """By managedBy."""
    server = _server(managedBy="example.com/mine")
    server.wait(2)
    assert server.items(f"{CORE}/pods") == {}


def test_orphans_lose_their_finalizer() -> None:
    """The pods of a Job that was deleted without them."""
    server = _server(does="hold")
    server.wait(1)
    server.request("DELETE", f"{_JOBS}/j?propagationPolicy=Orphan")
    server.wait(2)
    (pod,) = server.items(f"{CORE}/pods").values()
    assert "finalizers" not in pod["metadata"]


def test_a_user_can_end_a_job_without_reasons_and_times() -> None:
    """Its pod goes; as nobody knows when the Job ended, it does not expire."""
    server = _server(does="hold", ttlSecondsAfterFinished=1)
    server.wait(1)
    target = {"type": "FailureTarget", "status": "True"}
    body: dict[str, Any] = {"status": {"conditions": [target]}}
    assert server.request("PATCH", f"{_JOBS}/j/status", body, content_type=_MERGE).status == 200
    server.wait(1)
    assert server.items(f"{CORE}/pods") == {}
    server = _server(suspend=True, ttlSecondsAfterFinished=1)
    body["status"] = {
        "startTime": "2023-01-01T00:00:00Z",
        "conditions": [target, {**target, "type": "Failed"}],
    }
    assert server.request("PATCH", f"{_JOBS}/j/status", body, content_type=_MERGE).status == 200
    server.wait(5)
    assert list(server.items(_JOBS)) == ["j"]


def test_a_job_that_is_deleted_while_it_runs_is_forgotten() -> None:
    """The controller remembers when each Job started, and its failures."""
    controller = JobController(Pace(100.0))
    cluster = SimulatedCluster([controller])
    spec = {"parallelism": 1, "completions": 1, "template": template("busybox:1", policy="Never")}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": "default"}}
    cluster.create(JOBS, {**job, "spec": spec})
    cluster.run_for(1)
    assert controller._started
    assert controller._in_a_row
    cluster.delete(JOBS, "default", "j")
    cluster.run_for(1)
    assert cluster.get(JOBS, "default", "j") is None
    assert (controller._started, controller._in_a_row) == ({}, {})
