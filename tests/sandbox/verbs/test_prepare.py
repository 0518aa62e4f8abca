from __future__ import annotations

from typing import Any

from support.local_server import LocalServer


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


def test_jobs_are_told_apart_by_their_uid() -> None:
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


def test_what_a_client_says_about_the_status_is_dropped() -> None:
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
