from __future__ import annotations

import pytest

from support.builders.manifests import DEPLOYMENT
from support.servers.kubectl import Kubectl

pytestmark = pytest.mark.kubectl


@pytest.fixture
def web(kubectl: Kubectl) -> Kubectl:
    """A Deployment that is available."""
    kubectl("apply", "-f", "-", stdin=DEPLOYMENT)
    kubectl("rollout", "status", "deployment/web")
    return kubectl


def _images(kubectl: Kubectl) -> set[str]:
    return set(kubectl.value(".items[*].spec.containers[0].image", "pods").split())


def test_status_waits_for_the_rollout(web: Kubectl) -> None:
    """`rollout status` follows a rollout to its end and reports it."""
    web("set", "image", "deployment/web", "nginx=nginx:never-ready")
    with web.following("rollout", "status", "deployment/web") as status:
        status.wait_for(lambda lines: bool(lines) and lines[0].startswith("Waiting for deployment"))
        web("set", "image", "deployment/web", "nginx=nginx:2")
        done = 'deployment "web" successfully rolled out'
        assert status.wait_for(lambda lines: done in lines)[-1] == done
    web.until(lambda: _images(web) == {"nginx:2"})
    assert web("rollout", "status", "deployment/web", "--watch=false").lines == [done]


def test_history_and_undo(web: Kubectl) -> None:
    """Revisions are listed with their causes; undo goes back to the one before, or to a chosen one."""
    for image in ("nginx:2", "nginx:3"):
        web("set", "image", "deployment/web", f"nginx={image}")
        web("annotate", "deployment/web", f"kubernetes.io/change-cause=to {image}", "--overwrite")
        web("rollout", "status", "deployment/web")
    history = web("rollout", "history", "deployment/web").lines
    assert history[:2] == ["deployment.apps/web ", "REVISION  CHANGE-CAUSE"]
    assert [line.split()[0] for line in history[2:] if line] == ["1", "2", "3"]
    assert history[4].endswith("to nginx:3")
    one = web("rollout", "history", "deployment/web", "--revision=1").out
    assert "Image:\tnginx:1.25" in one
    assert web("rollout", "undo", "deployment/web").out == "deployment.apps/web rolled back\n"
    web("rollout", "status", "deployment/web")
    web.until(lambda: _images(web) == {"nginx:2"})
    web("rollout", "undo", "deployment/web", "--to-revision=1")
    web("rollout", "status", "deployment/web")
    web.until(lambda: _images(web) == {"nginx:1.25"})
    revisions = [line.split()[0] for line in web("rollout", "history", "deployment/web").lines[2:] if line]
    assert revisions == ["3", "4", "5"]
    missing = web("rollout", "undo", "deployment/web", "--to-revision=42", fails=True)
    assert "unable to find specified revision 42 in history" in missing.err


def test_restart(web: Kubectl) -> None:
    """`rollout restart` replaces every pod."""
    before = set(web("get", "pods", "-o", "name").lines)
    assert web("rollout", "restart", "deployment/web").out == "deployment.apps/web restarted\n"
    web("rollout", "status", "deployment/web")
    web.until(lambda: not before & set(web("get", "pods", "-o", "name").lines))


def test_pause_and_resume(web: Kubectl) -> None:
    """A paused Deployment takes changes without rolling out, and rolls out once when it is resumed."""
    web("set", "image", "deployment/web", "nginx=nginx:1.26")
    web("rollout", "status", "deployment/web")
    web.until(lambda: _images(web) == {"nginx:1.26"})
    assert web("rollout", "pause", "deployment/web").out == "deployment.apps/web paused\n"
    web("set", "image", "deployment/web", "nginx=nginx:2")
    web("scale", "deployment/web", "--replicas=3")
    web("wait", "--for=jsonpath={.status.replicas}=3", "deployment/web")
    reason = ".status.conditions[?(@.type=='Progressing')].reason"
    web("wait", f"--for=jsonpath={{{reason}}}=DeploymentPaused", "deployment/web")
    assert _images(web) == {"nginx:1.26"}
    refused = web("rollout", "undo", "deployment/web", fails=True)
    assert "you cannot rollback a paused deployment" in refused.err
    assert web("rollout", "resume", "deployment/web").out == "deployment.apps/web resumed\n"
    web("rollout", "status", "deployment/web")
    web.until(lambda: _images(web) == {"nginx:2"})


def test_exceeded_deadline(kubectl: Kubectl, sandbox_only: None) -> None:
    """A rollout that never gets ready makes `rollout status` fail with the deadline."""
    slow = DEPLOYMENT.replace("  replicas: 2", "  replicas: 2\n  progressDeadlineSeconds: 10")
    kubectl("apply", "-f", "-", stdin=slow.replace("nginx:1.25", "nginx:never-ready"))
    failed = kubectl("rollout", "status", "deployment/web", fails=True)
    assert 'deployment "web" exceeded its progress deadline' in failed.err
    assert [row[1:3] for row in kubectl("get", "pods", "--no-headers").words] == [["0/1", "Running"]] * 2
