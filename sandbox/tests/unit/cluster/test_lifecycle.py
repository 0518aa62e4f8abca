from __future__ import annotations

import json
from typing import Any

import pytest

from handloop_sandbox.cluster.events import TTL_SECONDS
from handloop_sandbox.cluster.lifecycle import default_controllers
from handloop_sandbox.cluster.nodes import NODES
from handloop_sandbox.cluster.workloads import DEPLOYMENTS
from handloop_sandbox.server import Sandbox
from support.servers.simulated_cluster import START, SimulatedCluster, new_deployment


def test_speed_must_be_positive() -> None:
    """A speed of 0 is refused before anything starts."""
    with pytest.raises(ValueError, match="speed"):
        default_controllers(speed=0)


def test_number_of_nodes() -> None:
    """As many nodes are there as asked for, and pods run on all of them."""
    cluster = SimulatedCluster(default_controllers(nodes=4))
    cluster.create(DEPLOYMENTS, new_deployment(replicas=8))
    cluster.run_for(10)
    assert len(cluster.store.list(NODES)) == 4
    assert len({pod["spec"]["nodeName"] for pod in cluster.pods()}) == 4


def test_writes_are_made_in_the_names_of_the_real_components() -> None:
    """Field managers are those a real cluster shows."""
    names = {controller.name for controller in default_controllers()}
    parts = {"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet"}
    assert names == parts | {"clusterrole-aggregation-controller"}


def test_thousand_deployments_cost_what_they_are() -> None:
    """Twice the Deployments make twice the writes: no controller looks at the whole state per change."""

    def writes(count: int) -> int:
        cluster = SimulatedCluster()
        cluster.run_for(1)
        before = len(cluster.writes)
        for index in range(count):
            cluster.create(DEPLOYMENTS, new_deployment(f"d{index}", replicas=1))
        cluster.run_for(10)
        ready = [d["status"].get("availableReplicas") for d in cluster.store.list(DEPLOYMENTS)]
        assert ready == [1] * count
        return len(cluster.writes) - before

    assert writes(120) == pytest.approx(2 * writes(60), rel=0.05)


_DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


class _Lived:
    """A sandbox with its own API, in virtual time and without sockets."""

    def __init__(self, *, seed: int = 1, speed: float = 1.0) -> None:
        self.now = START
        self._sandbox = Sandbox(clock=self, seed=seed, speed=speed, token="")
        self._transport = self._sandbox.transport()
        self.run_for(1)

    def time(self) -> float:
        return self.now

    def run_for(self, seconds: float) -> None:
        end = self.now + seconds
        while (wake := self._sandbox.tick()) is not None and wake <= end:
            self.now = max(self.now, wake)
        self.now = end

    def ask(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> Any:
        sent = None if body is None else json.dumps(body).encode()
        answer = self._transport.request(method, path, headers={"Content-Type": kind}, body=sent)
        return json.loads(answer.body)

    def replicas(self, counter: str) -> int:
        return int(self.ask("GET", f"{_DEPLOYMENTS}/web").get("status", {}).get(counter, 0))


def test_deployment_on_the_whole_sandbox() -> None:
    """Through the API itself: created, available within 4 s, changed, rolled out, deleted without a trace."""
    sandbox = _Lived()
    assert sandbox.ask("POST", _DEPLOYMENTS, new_deployment())["kind"] == "Deployment"
    sandbox.run_for(1.5)
    assert (sandbox.replicas("replicas"), sandbox.replicas("availableReplicas")) == (3, 0)
    sandbox.run_for(2.5)
    assert sandbox.replicas("availableReplicas") == 3
    patch = {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "nginx:2"}]}}}}
    sandbox.ask("PATCH", f"{_DEPLOYMENTS}/web", patch, "application/strategic-merge-patch+json")
    sandbox.run_for(15)
    rolled = sandbox.ask("GET", f"{_DEPLOYMENTS}/web")
    assert rolled["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "2"
    assert (rolled["status"]["updatedReplicas"], rolled["status"]["observedGeneration"]) == (3, 2)
    sandbox.ask("DELETE", f"{_DEPLOYMENTS}/web")
    sandbox.run_for(3)
    for path in ("/apis/apps/v1/replicasets", "/api/v1/pods"):
        assert sandbox.ask("GET", path)["items"] == []


def test_whole_sandbox_is_a_function_of_its_seed() -> None:
    """Two sandboxes with one seed end with the same objects, uids, addresses and times included."""

    def pods(seed: int) -> Any:
        sandbox = _Lived(seed=seed)
        sandbox.ask("POST", _DEPLOYMENTS, new_deployment())
        sandbox.run_for(5)
        return sandbox.ask("GET", "/api/v1/pods")["items"]

    assert pods(3) == pods(3)
    assert pods(3) != pods(4)


def test_whole_sandbox_is_idle_when_nothing_happens() -> None:
    """For an hour after everything runs, and its events have expired, there is no new resource version."""
    sandbox = _Lived()
    sandbox.ask("POST", _DEPLOYMENTS, new_deployment())
    sandbox.run_for(10)
    sandbox.run_for(TTL_SECONDS)
    before = sandbox.ask("GET", "/api/v1/pods")["metadata"]["resourceVersion"]
    sandbox.run_for(3600)
    assert sandbox.ask("GET", "/api/v1/pods")["metadata"]["resourceVersion"] == before
