from __future__ import annotations

from typing import Any

import pytest

from handloop_sandbox.cluster.cluster_controller import Pace
from handloop_sandbox.cluster.namespaces import NamespaceController
from handloop_sandbox.verbs.pod_admission import qos_class
from support.servers.local_server import LocalServer

_ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
_PODS = "/api/v1/namespaces/default/pods"


def _spec(server: LocalServer, **spec: Any) -> dict[str, Any]:
    body = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}
    answer = server.request("POST", f"{_PODS}?dryRun=All", body)
    assert answer.status == 201, answer
    created: dict[str, Any] = answer.body["spec"]
    return created


def _resources(**resources: Any) -> dict[str, Any]:
    return {"containers": [{"resources": resources}]}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (_resources(), "BestEffort"),
        (_resources(requests={"cpu": "0"}), "BestEffort"),
        (_resources(requests={"cpu": "100m"}), "Burstable"),
        (_resources(limits={"cpu": "1"}), "Burstable"),
        (_resources(limits={"cpu": "1", "memory": "1Gi"}), "Guaranteed"),
        (
            _resources(limits={"cpu": "1", "memory": "1Gi"}, requests={"cpu": "1000m", "memory": "1Gi"}),
            "Guaranteed",
        ),
        (_resources(limits={"cpu": "1", "memory": "1Gi"}, requests={"cpu": "500m"}), "Burstable"),
    ],
)
def test_qos_classes(spec: dict[str, Any], expected: str) -> None:
    """Requests and limits of cpu and memory decide the class."""
    assert qos_class(spec) == expected


@pytest.fixture
def cluster() -> LocalServer:
    """A server whose namespaces get their accounts, and one more account."""
    server = LocalServer(controllers=[NamespaceController(Pace())])
    quiet = {"metadata": {"name": "quiet"}, "automountServiceAccountToken": False}
    server.request("POST", _ACCOUNTS, {**quiet, "imagePullSecrets": [{"name": "registry"}]})
    return server


def test_the_token_is_mounted_once(cluster: LocalServer) -> None:
    """Every container gets the service account's token, unless the pod turns it off or mounts its own."""
    spec = _spec(cluster)
    (volume,) = spec["volumes"]
    assert volume["name"].startswith("kube-api-access-")
    (mount,) = spec["containers"][0]["volumeMounts"]
    assert mount["name"] == volume["name"]
    assert spec["serviceAccountName"] == spec["serviceAccount"] == "default"
    assert "volumes" not in _spec(cluster, automountServiceAccountToken=False)


def test_an_account_says_what_its_pods_get(cluster: LocalServer) -> None:
    """Whether they get its token, and which secrets to pull images; a pod's own word counts before it."""
    spec = _spec(cluster, serviceAccountName="quiet")
    assert ("volumes" in spec, spec["imagePullSecrets"]) == (False, [{"name": "registry"}])
    own = {"automountServiceAccountToken": True, "imagePullSecrets": [{"name": "mine"}]}
    spec = _spec(cluster, serviceAccountName="quiet", **own)
    assert ("volumes" in spec, spec["imagePullSecrets"]) == (True, [{"name": "mine"}])


def test_without_controllers_nobody_is_an_account(server: LocalServer) -> None:
    """As in envtest, which turns this admission off."""
    assert "serviceAccountName" not in _spec(server)
    assert _spec(server, serviceAccountName="nobody")["serviceAccountName"] == "nobody"


def test_a_default_account_is_waited_for(cluster: LocalServer) -> None:
    """A new namespace gets it in a moment."""
    cluster.request("DELETE", f"{_ACCOUNTS}/default")
    assert _spec(cluster)["serviceAccountName"] == "default"


def test_tolerations_are_completed() -> None:
    """Pods tolerate a node that is gone for five minutes, or as long as their own toleration."""
    own = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}
    spec = _spec(LocalServer(), tolerations=[own])
    assert [entry.get("tolerationSeconds") for entry in spec["tolerations"]] == [None, 300]


def test_priorities(server: LocalServer) -> None:
    """The priority comes from the class named, the default class or the system's own."""
    classes = "/apis/scheduling.k8s.io/v1/priorityclasses"
    server.request("POST", classes, {"metadata": {"name": "high"}, "value": 1000})
    body = {"metadata": {"name": "usual"}, "value": 5, "globalDefault": True, "preemptionPolicy": "Never"}
    server.request("POST", classes, body)
    assert _spec(server, priorityClassName="high")["priority"] == 1000
    usual = _spec(server)
    assert (usual["priority"], usual["priorityClassName"], usual["preemptionPolicy"]) == (5, "usual", "Never")
    assert _spec(server, priorityClassName="system-node-critical")["priority"] == 2_000_001_000
    assert _spec(LocalServer())["priority"] == 0
