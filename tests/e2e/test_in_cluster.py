"""
The program as a Deployment: manifests/default with TEST_IMAGE in the cluster behind TEST_KUBECONFIG.

Only where that is asked for: `make e2e-local` (pods as processes of this machine), `make e2e` (kind), or by
hand with both variables. What needs a way into the node is skipped where TEST_PODS names none.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
import yaml

from handloop.apis.grammar.times import parse_time
from handloop.seams.clock import REAL_CLOCK
from handloop.testing.eventually import eventually as until
from support.rigs.foo_story import tell_story
from support.rigs.program import ROOT
from support.rigs.running_pods import Pods, complaints, pods_of
from support.servers.cluster import NAMESPACE_PREFIX, NAMESPACES, Cluster, Object, Objects
from support.servers.kubectl import Kubectl

PERIOD_SECONDS: Final = 0.5
"""By so much a gap may be longer than the longest wait of a replica."""


class Heartbeat:
    """
    Creates a Foo in every period and notes when its Deployment was first seen.

    State: _asked and _served, by name, in seconds of the monotonic clock, under _lock. Threads: one creates,
    one looks; both end with the context.
    """

    def __init__(self, cluster: Cluster, name: str, *, period_seconds: float = PERIOD_SECONDS) -> None:
        self._cluster = cluster
        self._name = name
        self._period_seconds = period_seconds
        self._lock = threading.Lock()
        self._asked: dict[str, float] = {}
        self._served: dict[str, float] = {}
        self._stop = threading.Event()

    def waiting(self) -> set[str]:
        """The Foos that have no Deployment yet."""
        with self._lock:
            return self._asked.keys() - self._served.keys()

    def served(self) -> int:
        """How many Foos have their Deployment."""
        with self._lock:
            return len(self._served)

    def wait_served(self, count: int, *, seconds: float) -> None:
        """Until so many more than now have been served. Raises: AssertionError at the deadline."""
        wanted = self.served() + count
        until(lambda: self.served() >= wanted, f"{wanted} served", seconds=seconds)

    def longest_gap(self) -> float:
        """The longest that a Foo had to wait, in seconds; those without a Deployment wait still."""
        now = time.monotonic()
        with self._lock:
            return max(self._served.get(name, now) - at for name, at in self._asked.items())

    @contextmanager
    def beating(self) -> Iterator[None]:
        """Beat for as long as the context lasts, then take the Foos away."""
        threads = [
            threading.Thread(target=run, name=f"heartbeat-{run.__name__}") for run in (self._ask, self._look)
        ]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._stop.set()
            for thread in threads:
                thread.join()
            self._cluster.call("DELETE", self._cluster.foos)

    def _ask(self) -> None:
        number = 0
        while not self._stop.wait(self._period_seconds):
            number += 1
            name = f"{self._name}-{number}"
            with self._lock:
                self._asked[name] = time.monotonic()
            self._cluster.create_foo(name)

    def _look(self) -> None:
        while not self._stop.wait(0.1):
            found = self._cluster.list(self._cluster.deployments)
            now = time.monotonic()
            with self._lock:
                for name in self._asked.keys() & found.keys() - self._served.keys():
                    self._served[name] = now


IMAGE: Final = os.environ.get("TEST_IMAGE", "")
TOKEN_SECONDS: Final = float(os.environ.get("TEST_TOKEN_SECONDS", "3600"))
pytestmark = [
    pytest.mark.in_cluster,
    pytest.mark.skipif(not IMAGE, reason="TEST_IMAGE names no image to deploy"),
]

SYSTEM: Final = "handloop-system"
NAME: Final = "handloop"
SECONDS: Final = 120.0
LEASE_SECONDS: Final = 15.0
RETRY_SECONDS: Final = 2.0
HAND_OVER_SECONDS: Final = 2.0
"""What the other may take when the leader was asked to stop."""
LOAD_SECONDS: Final = 3.0
"""What a machine with other work may add to a promise."""
METRICS_PORT: Final = 8443
HEALTH_PORT: Final = 8081

EXPLAINED: Final = {
    r"storage is \(re\)initializing": "a CRD is new, and the API server's cache of its objects still empty",
    r"Foo referenced by item in work queue no longer exists": "sample-controller's words for a deleted Foo",
    r"update status .* not found \(404": "a Foo was deleted while its status was on the way",
    r"has no resource \S+|could not find the requested resource": "a CRD is new, and not served yet",
}
"""The allowed lines of a log, with the reason."""


class Deployed(NamedTuple):
    """
    The program in the cluster; user is where objects are made, system is where it runs.

    token is that of an account that may read metrics, and stranger that of one that may not.
    """

    kubectl: Kubectl
    pods: Pods
    user: Cluster
    system: Cluster
    token: str
    stranger: str

    def metrics(self, pod: str) -> str:
        """The metrics of a pod, read as Prometheus does."""
        status, text = self.pods.secured(pod, METRICS_PORT, "/metrics", self.token)
        assert status == 200, text
        return text

    def list_pods(self) -> list[Object]:
        """The pods that are not being deleted."""
        found = self.system.list(f"{NAMESPACES}/{SYSTEM}/pods").values()
        return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]

    def leader(self) -> str:
        """The pod that reports itself as the leader."""
        return until(self._find_leader, "led", seconds=SECONDS)

    def _find_leader(self) -> str:
        names = [pod["metadata"]["name"] for pod in self.list_pods() if _is_ready(pod)]
        leads = f'leader_election_master_status{{name="{NAME}"}} 1.0'
        leaders = [name for name in names if leads in self.metrics(name)]
        assert len(leaders) <= 1
        return leaders[0] if leaders else ""

    def wait_whole(self) -> None:
        """Until every replica is there, new, and ready."""
        self.system.wait(self.system.deployments, _is_whole, "rolled out")
        # the Deployment's status may be from before a pod went
        wanted = self.system.get(self.system.deployments, NAME)["spec"]["replicas"]
        until(lambda: [*map(_is_ready, self.list_pods())] == [True] * wanted, "whole", seconds=SECONDS)


def _is_ready(pod: Object) -> bool:
    conditions = pod.get("status", {}).get("conditions", [])
    return any((one["type"], one["status"]) == ("Ready", "True") for one in conditions)


def _is_whole(deployments: Objects) -> bool:
    found = deployments[NAME]
    status, wanted = found.get("status", {}), found["spec"]["replicas"]
    counts = [status.get(key, 0) for key in ("replicas", "updatedReplicas", "readyReplicas")]
    return status.get("observedGeneration") == found["metadata"]["generation"] and counts == [wanted] * 3


@pytest.fixture(scope="module")
def overlay(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """manifests/default with another image, and nothing else changed."""
    folder = tmp_path_factory.mktemp("overlay")
    patch = [{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": IMAGE}]
    kustomization = {
        "resources": [os.path.relpath(ROOT / "manifests/default", folder.resolve())],
        "patches": [{"target": {"kind": "Deployment", "name": NAME}, "patch": yaml.safe_dump(patch)}],
    }
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(kustomization), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def deployed(overlay: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    """Applied and whole; removed at the end."""
    kubeconfig = Path(os.environ["TEST_KUBECONFIG"])
    binary = os.environ.get("KUBECTL") or shutil.which("kubectl") or "kubectl"
    kubectl = Kubectl(binary, kubeconfig, tmp_path_factory.mktemp("home"), SYSTEM)
    kubectl("apply", "-k", str(overlay))
    user = Cluster(kubeconfig, f"{NAMESPACE_PREFIX}{secrets.token_hex(4)}", seconds=SECONDS)
    user.create(NAMESPACES, {"metadata": {"name": user.namespace}})
    tokens = [_token(kubectl, name) for name in ("scraper", "stranger")]
    scraper, reader = f"--serviceaccount={SYSTEM}:scraper", "--clusterrole=handloop-metrics-reader"
    kubectl("create", "clusterrolebinding", user.namespace, reader, scraper)
    system = Cluster(kubeconfig, SYSTEM, seconds=SECONDS)
    there = Deployed(kubectl, pods_of(kubectl), user, system, *tokens)
    try:
        there.wait_whole()
        yield there
    finally:
        user.close()
        there.system.transport.close()
        kubectl("delete", "clusterrolebinding", user.namespace)
        kubectl("delete", "-k", str(overlay), "--wait=false")


def _token(kubectl: Kubectl, name: str) -> str:
    """Of a new account beside the program's, for longer than the tests take."""
    kubectl("create", "serviceaccount", name)
    return kubectl("create", "token", name, "--duration=2h").out.strip()


@pytest.fixture
def report(capsys: pytest.CaptureFixture[str]) -> Callable[[str], None]:
    """Writes a figure to the terminal of the tests."""

    def write(text: str) -> None:
        with capsys.disabled():
            sys.stdout.write(f"\n  {text} ")
            sys.stdout.flush()

    return write


def disturb(there: Deployed, name: str, disturbance: Callable[[], object]) -> float:
    """
    Do something to the program while Foos come in.

    Returns: the longest that one of them waited, in seconds.
    """
    beat = Heartbeat(there.user, name)
    with beat.beating():
        beat.wait_served(2, seconds=SECONDS)
        disturbance()
        there.wait_whole()
        beat.wait_served(3, seconds=SECONDS)
        until(lambda: not beat.waiting(), "all served", seconds=SECONDS)
        return beat.longest_gap()


def test_only_the_image_is_changed(deployed: Deployed, overlay: Path) -> None:
    """The tested configuration is manifests/default, line by line, but for one."""
    usual = deployed.kubectl("kustomize", str(ROOT / "manifests/default")).lines
    ours = deployed.kubectl("kustomize", str(overlay)).lines
    differing = [
        (before.strip(), after.strip()) for before, after in zip(usual, ours, strict=True) if before != after
    ]
    assert differing == [("image: handloop:latest", f"image: {IMAGE}")]


def test_every_probe_passes_and_nothing_was_restarted(deployed: Deployed) -> None:
    """Each replica is ready, on its first container."""
    wanted = deployed.system.get(deployed.system.deployments, NAME)["spec"]["replicas"]
    pods = deployed.list_pods()
    assert len(pods) == wanted
    for pod in pods:
        (container,) = pod["status"]["containerStatuses"]
        assert (container["ready"], container["started"], container["restartCount"]) == (True, True, 0)
        verbose = deployed.pods.page(pod["metadata"]["name"], HEALTH_PORT, "/readyz?verbose")
        assert "[-]" not in verbose


def test_it_runs_without_privileges_on_a_root_it_cannot_write(deployed: Deployed) -> None:
    """By the kernel: user 65532, no capabilities, no way to gain any, `/` mounted read-only."""
    for pod in deployed.list_pods():
        facts = deployed.pods.process(pod["metadata"]["name"])
        assert facts["Uid"].split() == ["65532"] * 4
        assert facts["Gid"].split() == ["65532"] * 4
        assert {facts[key] for key in ("CapEff", "CapPrm", "CapBnd", "CapInh")} == {"0" * 16}
        assert facts["NoNewPrivs"] == "1"
        assert "ro" in facts["root"].split(",")


def test_metrics_are_for_their_readers_over_tls(deployed: Deployed) -> None:
    """401 without a token, 403 with one that has no leave, the page with leave; no answer to plain HTTP."""
    for pod in deployed.list_pods():
        name = pod["metadata"]["name"]
        told = [
            deployed.pods.secured(name, METRICS_PORT, "/metrics", token)[0]
            for token in ("", "garbage", deployed.stranger, deployed.token)
        ]
        assert told == [401, 401, 403, 200]
        with pytest.raises((subprocess.CalledProcessError, AssertionError)):
            deployed.pods.page(name, METRICS_PORT, "/metrics")


def test_it_has_only_its_service_account(deployed: Deployed) -> None:
    """It found the cluster by itself, and all that it needs is allowed."""
    (account,) = {pod["spec"]["serviceAccountName"] for pod in deployed.list_pods()}
    for pod, lines in deployed.pods.logs().items():
        starts = [line for line in lines if '"Starting handloop"' in line]
        assert starts, f"{pod} has not said how it starts"
        for start in starts:
            assert '"source": "in-cluster"' in start
            assert f'"identity": "system:serviceaccount:{SYSTEM}:{account}"' in start
            granted = re.search(r"✓ RBAC (\d+)/(\d+)", start)
            assert granted is not None
            assert granted[1] == granted[2]


def test_a_foo_is_served(deployed: Deployed) -> None:
    """From its creation to the end of all that it had."""
    tell_story(deployed.user)


def test_a_myapp_is_served(deployed: Deployed) -> None:
    """The sample comes up with its Deployment and its Service, and its status is Ready."""
    cluster = deployed.user
    (sample,) = yaml.safe_load_all((ROOT / "manifests/samples/myapp.yaml").read_text(encoding="utf-8"))
    name = sample["metadata"]["name"]
    apps = f"/apis/example.com/v1/namespaces/{cluster.namespace}/myapps"
    cluster.create(apps, sample)

    def is_ready(found: Objects) -> bool:
        conditions = found[name].get("status", {}).get("conditions", [])
        return {one["type"]: one["status"] for one in conditions} == {
            "Ready": "True",
            "Progressing": "False",
            "Degraded": "False",
        }

    app = cluster.wait(apps, is_ready, f"{name} ready")[name]
    assert app["status"]["readyReplicas"] == sample["spec"]["replicas"]
    service = cluster.get(f"{NAMESPACES}/{cluster.namespace}/services", name)
    assert service["spec"]["ports"][0]["port"] == sample["spec"]["port"]
    cluster.delete(apps, name)
    for kind in (cluster.deployments, f"{NAMESPACES}/{cluster.namespace}/services"):
        cluster.wait(kind, lambda found: name not in found, f"{kind} rid of {name}")


def test_a_deleted_leader_is_replaced(deployed: Deployed, report: Callable[[str], None]) -> None:
    """Its pod deleted, it gives the lease back, and the other acts."""
    leader = deployed.leader()
    gap = disturb(deployed, "deleted", lambda: deployed.kubectl("delete", "pod", leader, "--wait=false"))
    report(f"leader's pod deleted: the longest gap is {gap:.1f} s")
    assert deployed.leader() != leader
    assert gap <= HAND_OVER_SECONDS + LOAD_SECONDS


def test_a_killed_leader_is_replaced(deployed: Deployed, report: Callable[[str], None]) -> None:
    """Killed with -9 it gives nothing back: the other acts once the lease has run out."""
    leader = deployed.leader()
    gap = disturb(deployed, "killed", lambda: deployed.pods.kill(leader))
    report(f"leader killed with -9: the longest gap is {gap:.1f} s")
    assert gap <= LEASE_SECONDS + RETRY_SECONDS + LOAD_SECONDS


def test_a_rollout_is_hardly_noticed(deployed: Deployed, report: Callable[[str], None]) -> None:
    """`kubectl rollout restart` replaces every pod, the leader's too."""
    before = {pod["metadata"]["name"] for pod in deployed.list_pods()}
    gap = disturb(deployed, "rolled", lambda: deployed.kubectl("rollout", "restart", f"deployment/{NAME}"))
    report(f"rollout restart: the longest gap is {gap:.1f} s")
    assert not before & {pod["metadata"]["name"] for pod in deployed.list_pods()}
    assert gap <= HAND_OVER_SECONDS + LOAD_SECONDS


def test_an_expired_token_was_replaced_in_time(deployed: Deployed, report: Callable[[str], None]) -> None:
    """Longer than the first token lives, Foos are served, and no request was refused for its token."""
    if TOKEN_SECONDS > 600:
        pytest.skip("tokens live too long to wait for: TEST_TOKEN_SECONDS")
    pods = {pod["metadata"]["name"]: pod for pod in deployed.list_pods()}
    youngest = max(parse_time(pod["status"]["startTime"]) for pod in pods.values())
    left = youngest + TOKEN_SECONDS + 30 - REAL_CLOCK.time()
    beat = Heartbeat(deployed.user, "rotated", period_seconds=10)
    with beat.beating():
        until(lambda: REAL_CLOCK.time() > youngest + TOKEN_SECONDS + 30, "past the token", seconds=left + 60)
        beat.wait_served(2, seconds=SECONDS)
        gap = beat.longest_gap()
    report(f"tokens of {TOKEN_SECONDS:g} s run out: the longest gap is {gap:.1f} s")
    assert {pod["metadata"]["name"] for pod in deployed.list_pods()} == set(pods)
    for pod in pods:
        metrics = deployed.metrics(pod)
        assert "rest_client_requests_total" in metrics
        assert 'code="401"' not in metrics
    assert gap <= RETRY_SECONDS + LOAD_SECONDS


def test_every_complaint_is_explained(deployed: Deployed) -> None:
    """After all that, no warning and no error stands in a log but those that have a reason."""
    unexplained: dict[str, list[Any]] = {}
    for pod, lines in deployed.pods.logs().items():
        for complaint in complaints(lines):
            text = str(complaint)
            if not any(re.search(pattern, text) for pattern in EXPLAINED):
                unexplained.setdefault(pod, []).append(complaint)
    assert not unexplained
