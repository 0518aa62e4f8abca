from __future__ import annotations

from typing import Any

from handloop.apis.time import format_time
from handloop.sandbox.cluster.pod_logs import lines

_NOW = 1_700_000_000.0


def _pod(state: dict[str, Any], **status: Any) -> dict[str, Any]:
    entry = {"name": "main", "image": "nginx:1", "restartCount": 0, "ready": False, "lastState": {}}
    return {"metadata": {"name": "p"}, "status": {"containerStatuses": [{**entry, "state": state, **status}]}}


def test_container_that_never_ran_has_printed_nothing() -> None:
    """Waiting containers, unknown ones and those of a new pod have no log."""
    assert lines(_pod({"waiting": {"reason": "ImagePullBackOff"}}), "main", now=_NOW) == []
    assert lines(_pod({"running": {"startedAt": format_time(_NOW)}}), "other", now=_NOW) == []
    assert lines({"metadata": {"name": "p"}}, "main", now=_NOW) == []


def test_running_container_tells_image_and_age() -> None:
    """The log says that nothing is executed, and how long the container runs."""
    pod = _pod({"running": {"startedAt": format_time(_NOW - 30)}}, ready=True)
    log = lines(pod, "main", now=_NOW)
    assert "nothing is executed" in log[0]
    assert "nginx:1" in log[0]
    assert log[-2:] == ["sandbox: ready", "sandbox: running for 30s"]


def test_crashed_container_tells_why() -> None:
    """The reason and exit code of the last run are the last lines, also during back-off."""
    ended = {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}
    pod = _pod({"waiting": {"reason": "CrashLoopBackOff"}}, lastState=ended, restartCount=2)
    assert lines(pod, "main", now=_NOW)[-2:] == [
        "sandbox: error: OOMKilled",
        "sandbox: exited with code 137",
    ]
