"""A DaemonSet's life: a pod on each node, revisions, updates; and a ReplicationController's."""

from __future__ import annotations

from typing import Any

import pytest

from support.servers.api_server import Answer, APIServer, Object

_FIRST, _SECOND = "58c974f54f", "cc8d6f64b"


def _template(image: str) -> Object:
    return {"metadata": {"labels": {"app": "ds"}}, "spec": {"containers": [{"name": "main", "image": image}]}}


def _settled(number: int) -> Any:
    def done(answer: Answer) -> bool:
        status = answer.body["status"]
        names = ("desiredNumberScheduled", "updatedNumberScheduled", "numberAvailable", "numberReady")
        seen = status.get("observedGeneration") == answer.body["metadata"]["generation"]
        return seen and {status.get(name, 0) for name in names} == {number}

    return done


def _wanted_node(pod: Object) -> str:
    """The node that a pod's affinity names; a scheduler binds it there, if there is one."""
    affinity = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    (field,) = affinity["nodeSelectorTerms"][0]["matchFields"]
    (name,) = field["values"]
    assert field == {"key": "metadata.name", "operator": "In", "values": [name]}
    return str(name)


@pytest.fixture
def nodes(server: APIServer) -> list[str]:
    """The nodes, of a server whose pods go where their affinity says."""
    found = sorted(server.get("/api/v1/nodes").names)
    if server.real and len(found) > 1:
        pytest.skip("without a scheduler pods go to any of the nodes, and their DaemonSet replaces them")
    return found


def test_a_pod_on_each_node(server: APIServer, namespace: str, nodes: list[str]) -> None:
    """Bound by affinity, labelled with the revision; an update replaces them, and is a revision."""
    path = f"/apis/apps/v1/namespaces/{namespace}/daemonsets"
    spec = {"selector": {"matchLabels": {"app": "ds"}}, "template": _template("nginx:1")}
    assert server.create(path, {"metadata": {"name": "ds"}, "spec": spec}).status == 201
    status = server.eventually(f"{path}/ds", _settled(len(nodes))).body["status"]
    assert status == {
        "currentNumberScheduled": len(nodes),
        "numberMisscheduled": 0,
        "desiredNumberScheduled": len(nodes),
        "numberReady": len(nodes),
        "observedGeneration": 1,
        "updatedNumberScheduled": len(nodes),
        "numberAvailable": len(nodes),
    }
    pods = server.get(f"/api/v1/namespaces/{namespace}/pods").body["items"]
    assert sorted(map(_wanted_node, pods)) == nodes
    for pod in pods:
        assert pod["metadata"]["labels"] == {
            "app": "ds",
            "controller-revision-hash": _FIRST,
            "pod-template-generation": "1",
        }
        assert [each["key"].rpartition("/")[2] for each in pod["spec"]["tolerations"]] == [
            "not-ready",
            "unreachable",
            "disk-pressure",
            "memory-pressure",
            "pid-pressure",
            "unschedulable",
        ]
    assert server.patch(f"{path}/ds", {"spec": {"template": _template("nginx:2")}}).status == 200
    found = server.eventually(f"{path}/ds", _settled(len(nodes))).body
    assert found["metadata"]["annotations"] == {"deprecated.daemonset.template.generation": "2"}
    pods = server.get(f"/api/v1/namespaces/{namespace}/pods").body["items"]
    assert {pod["metadata"]["labels"]["controller-revision-hash"] for pod in pods} == {_SECOND}
    revisions = server.get(f"/apis/apps/v1/namespaces/{namespace}/controllerrevisions").body["items"]
    assert {each["metadata"]["name"]: each["revision"] for each in revisions} == {
        f"ds-{_FIRST}": 1,
        f"ds-{_SECOND}": 2,
    }
    assert revisions[0]["metadata"]["annotations"] == {"deprecated.daemonset.template.generation": "1"}
    assert revisions[0]["metadata"]["labels"] == {"app": "ds", "controller-revision-hash": _FIRST}


def test_a_node_that_does_not_match(server: APIServer, namespace: str, nodes: list[str]) -> None:
    """A node selector chooses among the nodes."""
    path = f"/apis/apps/v1/namespaces/{namespace}/daemonsets"
    node = nodes[0]
    template = _template("nginx:1")
    template["spec"]["nodeSelector"] = {"kubernetes.io/hostname": node}
    spec = {"selector": {"matchLabels": {"app": "ds"}}, "template": template}
    assert server.create(path, {"metadata": {"name": "ds"}, "spec": spec}).status == 201
    server.eventually(f"{path}/ds", _settled(1))
    (pod,) = server.get(f"/api/v1/namespaces/{namespace}/pods").body["items"]
    assert _wanted_node(pod) == node


def test_a_replication_controller(server: APIServer, namespace: str) -> None:
    """As many pods as wanted, counted as a ReplicaSet does, but for those that are terminating."""
    path = f"/api/v1/namespaces/{namespace}/replicationcontrollers"
    spec = {"replicas": 2, "selector": {"app": "ds"}, "template": _template("nginx:1")}
    assert server.create(path, {"metadata": {"name": "rc"}, "spec": spec}).status == 201

    def counted(number: int, generation: int) -> Any:
        counts = ("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas")
        wanted = {**dict.fromkeys(counts, number), "observedGeneration": generation}
        return lambda answer: answer.body["status"] == wanted

    server.eventually(f"{path}/rc", counted(2, 1))
    assert server.patch(f"{path}/rc", {"spec": {"replicas": 1}}).status == 200
    server.eventually(f"{path}/rc", counted(1, 2))
    events = f"/api/v1/namespaces/{namespace}/events"

    def told(answer: Answer) -> bool:
        about = [e for e in answer.body["items"] if e["involvedObject"]["kind"] == "ReplicationController"]
        return sorted(event["reason"] for event in about) == [*["SuccessfulCreate"] * 2, "SuccessfulDelete"]

    server.eventually(events, told)
