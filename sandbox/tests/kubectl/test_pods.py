"""Pods: logs, faults, and the limits of a pod that does not really run."""

from __future__ import annotations

import pytest

from support.servers.kubectl import Kubectl

pytestmark = [pytest.mark.kubectl, pytest.mark.usefixtures("sandbox_only")]


def _status(kubectl: Kubectl, name: str = "p") -> str:
    rows = kubectl("get", "pod", name, "--no-headers").words
    return rows[0][2]


def test_logs(kubectl: Kubectl) -> None:
    """A running pod has a log; -c, --tail and -l choose; one that has not started has none."""
    kubectl("run", "p", "--image=nginx", "--labels=app=p")
    kubectl("wait", "--for=condition=Ready", "pod/p")
    log = kubectl("logs", "p").lines
    assert "nothing is executed" in log[0]
    assert len(kubectl("logs", "p", "-c", "p", "--tail=1").lines) == 1
    assert kubectl("logs", "-l", "app=p").out
    missing = kubectl("logs", "p", "-c", "other", fails=True)
    assert "container other is not valid for pod p" in missing.err


def test_exec_is_refused(kubectl: Kubectl) -> None:
    """`exec` and `port-forward` fail with a sentence on the reason."""
    kubectl("run", "p", "--image=nginx")
    kubectl("wait", "--for=condition=Ready", "pod/p")
    refused = kubectl("exec", "p", "--", "true", fails=True)
    assert "the sandbox runs no containers, so you cannot execute in one" in refused.err
    refused = kubectl("port-forward", "pod/p", "8080:80", fails=True)
    assert "the sandbox runs no containers, so you cannot forward to one" in refused.err


@pytest.mark.parametrize(
    ("tag", "status"),
    [
        ("crash", "CrashLoopBackOff"),
        ("pull-fail", "ImagePullBackOff"),
        ("oom", "OOMKilled"),
        ("unschedulable", "Pending"),
    ],
)
def test_faults_by_image_tag(kubectl: Kubectl, tag: str, status: str) -> None:
    """An image tag makes a pod fail in a way that `get` and `events` show."""
    with kubectl.following("get", "pods", "--watch", "--no-headers") as pods:
        kubectl("run", "p", f"--image=nginx:{tag}")
        pods.wait_for(lambda lines: any(line.split()[2:3] == [status] for line in lines))
    warnings = kubectl(
        "get", "events", "--field-selector", "type=Warning", "-o", "jsonpath={.items[*].reason}"
    ).out
    expected = {"unschedulable": "FailedScheduling", "pull-fail": "Failed"}.get(tag)
    if expected:
        assert expected in warnings.split()


def test_fault_by_annotation(kubectl: Kubectl) -> None:
    """Annotating a Deployment breaks its pods; removing the annotation heals them."""
    kubectl("create", "deployment", "web", "--image=nginx")
    kubectl("wait", "--for=condition=Available", "deployment/web")
    kubectl("annotate", "deployment", "web", "sandbox.controller.dev/fault=crash")
    kubectl.until(lambda: "CrashLoopBackOff" in kubectl("get", "pods").out)
    kubectl("wait", "--for=condition=Available=False", "deployment/web")
    kubectl("annotate", "deployment", "web", "sandbox.controller.dev/fault-")
    kubectl("wait", "--for=condition=Available", "deployment/web")


def test_pod_that_ends(kubectl: Kubectl) -> None:
    """A pod that is not restarted completes."""
    kubectl("run", "p", "--image=busybox", "--restart=Never")
    kubectl("wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/p")
    assert _status(kubectl) == "Completed"


def test_events_command(kubectl: Kubectl) -> None:
    """`kubectl events` lists what happened to one object, oldest first."""
    kubectl("run", "p", "--image=nginx")
    kubectl("wait", "--for=condition=Ready", "pod/p")
    header, *rows = kubectl("events", "--for=pod/p").words
    assert header == ["LAST", "SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]
    assert {row[2] for row in rows} >= {"Scheduled", "Pulling", "Pulled", "Created", "Started"}
    assert kubectl("events", "--for=pod/p", "--types=Warning").err.startswith("No events found")


def test_cordon(cluster: Kubectl) -> None:
    """A node can be cordoned and uncordoned, and `get nodes` shows it."""
    cluster("cordon", "sandbox-1")
    assert cluster("get", "node", "sandbox-1").words[1][1] == "Ready,SchedulingDisabled"
    cluster("uncordon", "sandbox-1")
    assert cluster("get", "node", "sandbox-1").words[1][1] == "Ready"
