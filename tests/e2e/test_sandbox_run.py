from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from support.rigs.foo_story import tell_story
from support.rigs.program import ROOT, SECONDS, Program, running, wait_ready_page
from support.servers.cluster import Cluster
from support.servers.kubectl import Kubectl, kubectl_binary

SAMPLE = ROOT / "manifests" / "samples" / "foo.yaml"
FAST = "--sandbox-speed=20"


@pytest.fixture
def kubectl(tmp_path: Path) -> Kubectl:
    """The stock kubectl with the kubeconfig that the program writes."""
    return Kubectl(kubectl_binary(), tmp_path / ".sandbox" / "kubeconfig", tmp_path / "home")


def opened(program: Program, folder: Path) -> Cluster:
    """The program's own sandbox, through the kubeconfig that it wrote."""
    program.wait_line("sandbox ready")
    return Cluster(folder / ".sandbox" / "kubeconfig", "default", seconds=SECONDS)


def test_it_brings_its_own_cluster(tmp_path: Path) -> None:
    """`--sandbox` needs nothing: it listens on loopback only, prints what to type, and does the whole job."""
    with running("--sandbox", FAST, folder=tmp_path) as program:
        cluster = opened(program, tmp_path)
        wait_ready_page(program)
        for purpose in ("metrics", "health"):
            assert program.wait_line(rf'{purpose}="([^"]+)"')[1].startswith("127.0.0.1:")
        assert program.page("health", "/healthz") == (200, "ok")
        program.wait_line("export KUBECONFIG=.sandbox/kubeconfig")
        tell_story(cluster)
        program.signal(signal.SIGINT)
        assert program.wait() == 0
        cluster.transport.close()


def test_it_leaves_the_users_configuration_alone(tmp_path: Path) -> None:
    """It writes one kubeconfig, readable by its owner only, where it runs; ~/.kube is not even read."""
    theirs = tmp_path / ".kube" / "config"
    theirs.parent.mkdir()
    theirs.write_text("not: a: kubeconfig\n", encoding="utf-8")
    before = (theirs.read_bytes(), theirs.stat().st_mtime_ns)
    with running("--sandbox", FAST, folder=tmp_path) as program:
        program.wait_ready()
        written = tmp_path / ".sandbox" / "kubeconfig"
        assert written.stat().st_mode & 0o777 == 0o600
        assert program.stop() == 0
    assert (theirs.read_bytes(), theirs.stat().st_mtime_ns) == before
    assert sorted(path.name for path in theirs.parent.iterdir()) == ["config"]
    assert {path.name for path in tmp_path.iterdir()} == {".kube", ".sandbox"}


@pytest.mark.kubectl
def test_the_first_steps_with_kubectl(tmp_path: Path, kubectl: Kubectl) -> None:
    """The commands that the README gives a newcomer work as it claims."""
    with running("--sandbox", FAST, folder=tmp_path) as program:
        program.wait_ready()
        assert "example-foo created" in kubectl("apply", "-f", str(SAMPLE)).out
        wait = ("wait", "foo/example-foo", "--timeout=60s")
        kubectl(*wait, "--for=jsonpath={.status.availableReplicas}=1")
        described = kubectl("describe", "foo", "example-foo").out
        assert "Synced" in described
        assert "Foo synced successfully" in described

        uid = kubectl("get", "deployment", "example-foo", "-o=jsonpath={.metadata.uid}").out
        kubectl("delete", "deployment", "example-foo")
        kubectl("wait", "--for=create", "deployment/example-foo", "--timeout=60s")
        assert kubectl("get", "deployment", "example-foo", "-o=jsonpath={.metadata.uid}").out != uid
        kubectl("scale", "foo/example-foo", "--replicas=3")
        kubectl(*wait, "--for=jsonpath={.status.availableReplicas}=3")
        pods = json.loads(kubectl("get", "pods", "-o=json").out)["items"]
        assert len(pods) == 3

        kubectl("delete", "foo", "example-foo")
        kubectl("wait", "--for=delete", "deployment/example-foo", "--timeout=60s")
        kubectl("wait", "--for=delete", "pods", "--all", "--timeout=60s")
        assert program.stop() == 0
