from __future__ import annotations

from dataclasses import replace
from typing import Any

from handloop_sandbox.kinds.kinds import builtin_resources
from handloop_sandbox.verbs.strategy import prepare_update
from support.servers.local_server import LocalServer

_DEPLOYMENTS = next(r for r in builtin_resources() if r.plural == "deployments")
_CUSTOM = replace(_DEPLOYMENTS, custom=True)
_NAMESPACES = next(r for r in builtin_resources() if r.plural == "namespaces")
_MAPS = next(r for r in builtin_resources() if r.plural == "configmaps")
_SERVICES = next(r for r in builtin_resources() if r.plural == "services")


def _object(kind: str = "Deployment", **parts: Any) -> dict[str, Any]:
    metadata = {"name": "a", "generation": 4, **parts.pop("metadata", {})}
    return {"kind": kind, "apiVersion": "v1", "metadata": metadata, **parts}


def test_the_object_endpoint_keeps_the_status() -> None:
    """A changed spec raises the generation; the status is the old one, or none."""
    old = _object(spec={"x": 1}, status={"s": 1})
    new = prepare_update(_CUSTOM, _object(spec={"x": 2}, status={"s": 2}), old, "")
    assert (new["metadata"]["generation"], new["status"]) == (5, {"s": 1})
    same = prepare_update(_CUSTOM, _object(spec={"x": 1}, status={"s": 2}), old, "")
    assert same["metadata"]["generation"] == 4


def test_a_custom_resource_counts_every_change_outside_metadata() -> None:
    """Without a status subresource a changed status raises the generation too."""
    bare = replace(_CUSTOM, subresources=())
    new = prepare_update(bare, _object(status={"s": 2}), _object(status={"s": 1}), "")
    assert (new["metadata"]["generation"], new["status"]) == (5, {"s": 2})
    labelled = prepare_update(bare, _object(metadata={"labels": {"a": "b"}}), _object(), "")
    assert labelled["metadata"]["generation"] == 4


def test_deployments_count_annotations() -> None:
    """A Deployment's generation also follows its annotations."""
    new = prepare_update(
        _DEPLOYMENTS, _object(spec={}, metadata={"annotations": {"a": "b"}}), _object(spec={}), ""
    )
    assert new["metadata"]["generation"] == 5


def test_the_status_endpoint_of_custom_resources() -> None:
    """Nothing but the status and the record of managers is taken."""
    old = _object(spec={"x": 1}, metadata={"labels": {"l": "1"}})
    sent = _object(spec={"x": 2}, status={"s": 1}, metadata={"labels": {}, "managedFields": [{"m": 1}]})
    new = prepare_update(_CUSTOM, sent, old, "status")
    assert (new["spec"], new["status"]) == ({"x": 1}, {"s": 1})
    assert new["metadata"] == {
        "name": "a",
        "generation": 4,
        "labels": {"l": "1"},
        "managedFields": [{"m": 1}],
    }


def test_the_status_endpoint_of_built_in_kinds() -> None:
    """Spec, owners and a workload's labels stay; annotations are taken."""
    old = _object(spec={"x": 1}, metadata={"labels": {"l": "1"}})
    sent = _object(spec={"x": 2}, status={"s": 1}, metadata={"labels": {}, "annotations": {"a": "b"}})
    new = prepare_update(_DEPLOYMENTS, sent, old, "status")
    assert (new["spec"], new["status"]) == ({"x": 1}, {"s": 1})
    assert (new["metadata"]["labels"], new["metadata"]["annotations"]) == ({"l": "1"}, {"a": "b"})


def test_a_namespaces_finalizers_have_their_own_endpoint() -> None:
    """The spec of a namespace changes through /finalize only."""
    old = _object("Namespace", spec={"finalizers": ["kubernetes"]}, status={"phase": "Active"})
    sent = _object("Namespace", spec={"finalizers": []})
    assert prepare_update(_NAMESPACES, sent, old, "")["spec"] == {"finalizers": ["kubernetes"]}
    assert prepare_update(_NAMESPACES, sent, old, "finalize")["spec"] == {"finalizers": []}


def test_kinds_without_generation() -> None:
    """A ConfigMap has no generation to raise; a Service loses what its type does not have."""
    new = prepare_update(
        _MAPS, {"metadata": {"name": "a"}, "data": {"x": "1"}}, {"metadata": {}, "data": {}}, ""
    )
    assert "generation" not in new["metadata"]
    old = _object("Service", spec={"clusterIP": "10.96.0.9"})
    external = {"type": "ExternalName", "clusterIP": "10.96.0.9"}
    service = prepare_update(_SERVICES, _object("Service", spec=external), old, "")
    assert service["spec"] == {"type": "ExternalName"}


def _create(path: str, body: dict[str, Any]) -> dict[str, Any]:
    answer = LocalServer().request("POST", path, body)
    assert answer.status == 201, answer
    created: dict[str, Any] = answer.body
    return created


def test_namespaces_are_active_and_guarded() -> None:
    """A namespace gets the finalizer `kubernetes` and the phase Active."""
    created = _create("/api/v1/namespaces", {"metadata": {"name": "n"}, "spec": {"finalizers": ["a.b/c"]}})
    assert created["spec"]["finalizers"] == ["a.b/c", "kubernetes"]
    assert created["status"] == {"phase": "Active"}


def test_volumes_and_claims_wait_and_are_protected() -> None:
    """Claims and volumes are Pending and keep a finalizer while they are used."""
    claim_spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claim = _create(
        "/api/v1/namespaces/default/persistentvolumeclaims", {"metadata": {"name": "c"}, "spec": claim_spec}
    )
    assert claim["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]
    assert claim["status"]["phase"] == "Pending"
    volume_spec = {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "1Gi"},
        "hostPath": {"path": "/x"},
    }
    volume = _create("/api/v1/persistentvolumes", {"metadata": {"name": "v"}, "spec": volume_spec})
    assert volume["metadata"]["finalizers"] == ["kubernetes.io/pv-protection"]
    assert volume["status"]["lastPhaseTransitionTime"] == "2023-11-14T22:13:20Z"


def test_jobs_are_distinguished_by_their_uid() -> None:
    """A Job's selector and labels carry its uid, unless it has a selector of its own."""
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    path = "/apis/batch/v1/namespaces/default/jobs"
    job = _create(path, {"metadata": {"name": "j"}, "spec": {"template": template}})
    uid = job["metadata"]["uid"]
    assert job["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
    labels = job["spec"]["template"]["metadata"]["labels"]
    assert labels == job["metadata"]["labels"]
    assert labels["batch.kubernetes.io/job-name"] == "j"


def test_new_nodes_are_not_ready() -> None:
    """A node begins with the taint not-ready and keeps the status it registers with."""
    node = _create("/api/v1/nodes", {"metadata": {"name": "n1"}, "status": {"capacity": {"cpu": "4"}}})
    assert node["spec"]["taints"] == [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]
    assert node["status"]["capacity"] == {"cpu": "4"}


def test_a_clients_status_is_dropped() -> None:
    """A new object has the status of one that was just made."""
    labels = {"app": "d"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": labels}, "template": template}
    path = "/apis/apps/v1/namespaces/default"
    deployment = _create(
        f"{path}/deployments", {"metadata": {"name": "d"}, "spec": spec, "status": {"replicas": 7}}
    )
    assert deployment["status"] == {}
    daemon_set = _create(f"{path}/daemonsets", {"metadata": {"name": "d"}, "spec": spec})
    annotations = daemon_set["metadata"]["annotations"]
    assert annotations["deprecated.daemonset.template.generation"] == "1"
