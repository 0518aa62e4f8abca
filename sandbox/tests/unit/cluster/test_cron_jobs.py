from __future__ import annotations

from typing import Any

import pytest

from support.servers.living_server import LivingServer

_CRON_JOBS = "/apis/batch/v1/namespaces/default/cronjobs"
_JOBS = "/apis/batch/v1/namespaces/default/jobs"
_MINUTE = 28_333_334  # the one after the start, counted from 1970


def _template(**annotations: str) -> dict[str, Any]:
    containers = [{"name": "main", "image": "busybox"}]
    spec = {"template": {"spec": {"restartPolicy": "Never", "containers": containers}}}
    return {"metadata": {"labels": {"mine": "yes"}, "annotations": annotations}, "spec": spec}


class _Cron:
    """A sandbox whose clock the test moves, with the CronJob `c`."""

    def __init__(self, *, does: str = "succeed", **spec: Any) -> None:
        self.server = LivingServer()
        self.wait = self.server.wait
        template = _template(**{"sandbox.handloop.dev/job": does})
        whole = {"schedule": "* * * * *", "jobTemplate": template, **spec}
        body = {"metadata": {"name": "c"}, "spec": whole}
        assert self.server.request("POST", _CRON_JOBS, body).status == 201

    @property
    def jobs(self) -> list[int]:
        """The names of the Jobs, as minutes after the start."""
        names = [job["metadata"]["name"] for job in self.server.request("GET", _JOBS).body["items"]]
        assert all(name.startswith("c-") for name in names)
        return [int(name[2:]) - _MINUTE for name in names]

    @property
    def status(self) -> dict[str, Any]:
        """The status of the CronJob."""
        return dict(self.server.request("GET", f"{_CRON_JOBS}/c").body.get("status", {}))

    def told(self, reason: str) -> list[str]:
        """What Events about the CronJob say."""
        return self.server.told("CronJob", reason)


def test_a_job_each_minute() -> None:
    """Named by the minute, with the template's labels, and followed to its end."""
    cron = _Cron()
    cron.wait(41)
    assert cron.jobs == [0]
    (job,) = cron.server.request("GET", _JOBS).body["items"]
    assert job["metadata"]["labels"] == {"mine": "yes"}
    assert job["metadata"]["annotations"]["batch.kubernetes.io/cronjob-scheduled-timestamp"] == (
        "2023-11-14T22:14:00Z"
    )
    cron.wait(10)
    assert cron.status["lastScheduleTime"] == "2023-11-14T22:14:00Z"
    assert cron.status["lastSuccessfulTime"] == "2023-11-14T22:14:00Z"
    assert "active" not in cron.status
    assert cron.told("SuccessfulCreate") == [f"Created job c-{_MINUTE}"]
    assert cron.told("SawCompletedJob") == [f"Saw completed job: c-{_MINUTE}, condition: Complete"]
    cron.wait(60 * 5)
    assert cron.jobs == [3, 4, 5]
    assert f"Deleted job c-{_MINUTE}" in cron.told("SuccessfulDelete")


def test_forbid() -> None:
    """The next Job waits for the end of the one that runs, then makes up for the last time."""
    cron = _Cron(does="hold", concurrencyPolicy="Forbid")
    cron.wait(170)
    assert cron.jobs == [0]
    assert [entry["name"] for entry in cron.status["active"]] == [f"c-{_MINUTE}"]
    assert cron.told("JobAlreadyActive") == [
        "Not starting job because prior execution is running and concurrency policy is Forbid"
    ]
    cron.server.request("DELETE", f"{_JOBS}/c-{_MINUTE}?propagationPolicy=Background")
    cron.wait(1)
    assert cron.jobs == [2]
    assert cron.told("MissingJob") == [f"Active job went missing: c-{_MINUTE}"]


def test_replace() -> None:
    """The Job that runs makes way."""
    cron = _Cron(does="hold", concurrencyPolicy="Replace")
    cron.wait(110)
    assert cron.jobs == [1]
    assert cron.told("SuccessfulDelete") == [f"Deleted job c-{_MINUTE}"]


@pytest.mark.parametrize(
    ("spec", "jobs"),
    [({"suspend": True}, []), ({"schedule": "30 22 * * *"}, [16]), ({"failedJobsHistoryLimit": 0}, [])],
)
def test_suspension_and_history(spec: dict[str, Any], jobs: list[int]) -> None:
    """Nothing while it is suspended, once a day at its time, and no failed Job where none may stay."""
    cron = _Cron(does="hold" if "schedule" in spec else "fail", **spec)
    if "failedJobsHistoryLimit" in spec:
        path = f"{_CRON_JOBS}/c"
        body = {"spec": {"jobTemplate": {"spec": {"backoffLimit": 0}}, "schedule": "14 22 * * *"}}
        cron.server.request("PATCH", path, body, content_type="application/merge-patch+json")
    cron.wait(60 * 30)
    assert cron.jobs == jobs


def test_a_missed_time() -> None:
    """After a gap the last time counts, unless it is longer ago than startingDeadlineSeconds."""
    given: tuple[tuple[dict[str, Any], list[int]], ...] = (({}, [59]), ({"startingDeadlineSeconds": 5}, []))
    for spec, jobs in given:
        cron = _Cron(**spec)
        cron.server.clock.now += 3600 - 10
        cron.server.engine.tick()
        cron.wait(0.5)
        assert cron.jobs == jobs


def test_a_job_of_somebody_else() -> None:
    """A Job made from the CronJob by hand is told, and does not count as active."""
    cron = _Cron(suspend=True)
    found = cron.server.request("GET", f"{_CRON_JOBS}/c").body["metadata"]
    owner = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "name": "c",
        "uid": found["uid"],
        "controller": True,
    }
    body = {"metadata": {"name": "hand", "ownerReferences": [owner]}, "spec": _template()["spec"]}
    assert cron.server.request("POST", _JOBS, body).status == 201
    cron.wait(0.1)
    assert cron.told("UnexpectedJob") == ["Saw a job that the controller did not create or forgot: hand"]
    assert "active" not in cron.status


@pytest.mark.parametrize("text", ["soon", "0000-01-01", "2023-11-14T22:14:00Z"])
def test_a_job_with_a_time_that_a_user_wrote(text: str) -> None:
    """Without a readable time, the Job is one that the controller did not create."""
    cron = _Cron(schedule="0 0 1 1 *")
    cron_job = cron.server.request("GET", f"{_CRON_JOBS}/c").body
    owner = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "c", "uid": cron_job["metadata"]["uid"]}
    metadata = {
        "name": "c-1",
        "annotations": {"batch.kubernetes.io/cronjob-scheduled-timestamp": text},
        "ownerReferences": [{**owner, "controller": True}],
    }
    body = {"metadata": metadata, "spec": _template()["spec"]}
    assert cron.server.request("POST", _JOBS, body).status == 201
    cron.wait(5)
    assert bool(cron.told("UnexpectedJob")) == (not text.startswith("2023"))
