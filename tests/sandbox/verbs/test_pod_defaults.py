from __future__ import annotations

from typing import Any

import pytest

from handloop.sandbox.verbs.pod_defaults import qos_class
from support.local_server import LocalServer

_PODS = "/api/v1/namespaces/default/pods"


def _spec(server: LocalServer, **spec: Any) -> dict[str, Any]:
    body = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}
    answer = server.request("POST", _PODS, body)
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


def test_the_token_is_mounted_once() -> None:
    """Every container gets the service account's token, unless the pod or a mount says otherwise."""
    server = LocalServer()
    spec = _spec(server)
    (volume,) = spec["volumes"]
    assert volume["name"].startswith("kube-api-access-")
    (mount,) = spec["containers"][0]["volumeMounts"]
    assert mount["name"] == volume["name"]
    assert spec["serviceAccountName"] == spec["serviceAccount"] == "default"
    bare = _spec(LocalServer(), automountServiceAccountToken=False, serviceAccountName="me")
    assert "volumes" not in bare
    assert bare["serviceAccountName"] == "me"


def test_tolerations_are_completed() -> None:
    """Pods tolerate a node that is gone for five minutes, or as long as they say themselves."""
    own = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}
    spec = _spec(LocalServer(), tolerations=[own])
    assert [entry.get("tolerationSeconds") for entry in spec["tolerations"]] == [None, 300]


def test_priorities() -> None:
    """The priority comes from the class named, the default class or the system's own."""
    server = LocalServer()
    classes = "/apis/scheduling.k8s.io/v1/priorityclasses"
    server.request("POST", classes, {"metadata": {"name": "high"}, "value": 1000})
    body = {"metadata": {"name": "usual"}, "value": 5, "globalDefault": True, "preemptionPolicy": "Never"}
    server.request("POST", classes, body)
    assert _spec(server, priorityClassName="high")["priority"] == 1000
    server.request("DELETE", f"{_PODS}/p")
    usual = _spec(server)
    assert (usual["priority"], usual["priorityClassName"], usual["preemptionPolicy"]) == (5, "usual", "Never")
    server.request("DELETE", f"{_PODS}/p")
    assert _spec(server, priorityClassName="system-node-critical")["priority"] == 2_000_001_000
    assert _spec(LocalServer())["priority"] == 0
