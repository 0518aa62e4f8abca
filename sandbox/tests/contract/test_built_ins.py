from __future__ import annotations

import base64

import pytest

from handloop_sandbox.controls.ended_job import FAILED, FINISHED, End, statuses
from support.servers.api_server import MERGE, APIServer, Object


@pytest.fixture
def base(namespace: str) -> str:
    """The core paths of the namespace."""
    return f"/api/v1/namespaces/{namespace}"


def _event(name: str, namespace: str, **fields: object) -> Object:
    involved = {"kind": "Pod", "namespace": namespace, "name": "p", "apiVersion": "v1"}
    return {"metadata": {"name": name}, "involvedObject": involved, "reason": "R", "message": "m", **fields}


def _wait_for_the_account(server: APIServer, base: str) -> None:
    """Without one in its namespace no pod is admitted."""
    server.eventually(f"{base}/serviceaccounts/default", lambda answer: answer.status == 200)


def test_namespaces_are_equipped(server: APIServer, namespace: str, base: str) -> None:
    """A namespace is Active, carries its name as a label, and gets a service account and a CA."""
    found = server.get(f"/api/v1/namespaces/{namespace}").body
    assert found["status"]["phase"] == "Active"
    assert found["spec"]["finalizers"] == ["kubernetes"]
    assert found["metadata"]["labels"]["kubernetes.io/metadata.name"] == namespace
    _wait_for_the_account(server, base)
    server.eventually(f"{base}/configmaps/kube-root-ca.crt", lambda answer: answer.status == 200)


def test_immutable_config_maps(server: APIServer, base: str) -> None:
    """A ConfigMap that was made immutable keeps its data."""
    server.create(f"{base}/configmaps", {"metadata": {"name": "c"}, "data": {"a": "1"}, "immutable": True})
    refused = server.patch(f"{base}/configmaps/c", {"data": {"a": "2"}})
    assert refused.causes == [
        ("FieldValueForbidden", "data", "Forbidden: field is immutable when `immutable` is set")
    ]


def test_secrets_encode_their_string_data(server: APIServer, base: str) -> None:
    """The stringData of a Secret becomes base64 data and is not stored."""
    created = server.create(f"{base}/secrets", {"metadata": {"name": "s"}, "stringData": {"k": "v"}}).body
    assert created["data"] == {"k": base64.b64encode(b"v").decode()}
    assert created["type"] == "Opaque"
    assert "stringData" not in created


def test_services_get_an_address(server: APIServer, base: str) -> None:
    """A Service gets a cluster IP that it keeps; its DELETE answers with the object."""
    spec = {"selector": {"app": "x"}, "ports": [{"port": 80}]}
    created = server.create(f"{base}/services", {"metadata": {"name": "s"}, "spec": spec}).body
    address = created["spec"]["clusterIP"]
    assert created["spec"]["clusterIPs"] == [address]
    assert created["spec"]["ports"] == [{"port": 80, "targetPort": 80, "protocol": "TCP"}]
    changed = server.patch(f"{base}/services/s", {"spec": {"selector": {"app": "y"}}}).body
    assert changed["spec"]["clusterIP"] == address
    assert server.delete(f"{base}/services/s").body["kind"] == "Service"


def test_events_are_served_by_two_groups(server: APIServer, namespace: str, base: str) -> None:
    """An event of events.k8s.io is a core event with other names for its fields."""
    regarding = {"kind": "Pod", "namespace": namespace, "name": "p", "apiVersion": "v1"}
    event = {
        "metadata": {"name": "e"},
        "regarding": regarding,
        "reason": "Made",
        "note": "made it",
        "type": "Normal",
        "action": "Make",
        "reportingController": "example.com/c",
        "reportingInstance": "c-1",
        "eventTime": "2026-01-01T00:00:00.000000Z",
    }
    path = f"/apis/events.k8s.io/v1/namespaces/{namespace}/events"
    assert server.create(path, event).status == 201
    core = server.get(f"{base}/events/e").body
    assert (core["involvedObject"], core["message"]) == (regarding, "made it")
    assert core["reportingComponent"] == "example.com/c"
    assert server.get(f"{path}/e").body["note"] == "made it"


def test_events_can_be_selected(server: APIServer, namespace: str, base: str) -> None:
    """Events are selected by what they are about, their reason and their type."""
    server.create(f"{base}/events", _event("one", namespace, type="Normal"))
    server.create(f"{base}/events", _event("two", namespace, type="Warning"))
    query = "fieldSelector=involvedObject.name%3Dp,involvedObject.kind%3DPod,type%3DWarning"
    assert server.get(f"{base}/events?{query}").names == ["two"]


def test_events_live_where_their_object_does(server: APIServer, base: str) -> None:
    """An event about an object of another namespace is 422."""
    refused = server.create(f"{base}/events", _event("e", "default"))
    assert refused.causes == [
        (
            "FieldValueInvalid",
            "involvedObject.namespace",
            'Invalid value: "default": does not match event.namespace',
        )
    ]


def test_leases_are_validated(server: APIServer, namespace: str) -> None:
    """A Lease wants microseconds in its times (400) and a positive duration (422)."""
    path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
    spec = {"renewTime": "2026-01-01T00:00:00Z"}
    time = server.create(path, {"metadata": {"name": "l"}, "spec": spec})
    assert time.status == 400
    assert 'cannot parse "Z" as ".000000"' in time.message
    duration = server.create(path, {"metadata": {"name": "l"}, "spec": {"leaseDurationSeconds": 0}})
    assert duration.causes == [
        ("FieldValueInvalid", "spec.leaseDurationSeconds", "Invalid value: 0: must be greater than 0")
    ]


def test_deployments_are_defaulted(server: APIServer, namespace: str) -> None:
    """A Deployment gets strategy, history limit, deadline and its pod's defaults; its selector is fixed."""
    labels = {"app": "d"}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "c", "image": "example.com/i"}]},
    }
    spec = {"replicas": 0, "selector": {"matchLabels": labels}, "template": template}
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments"
    created = server.create(path, {"metadata": {"name": "d"}, "spec": spec}).body["spec"]
    assert created["strategy"] == {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"},
    }
    assert (created["revisionHistoryLimit"], created["progressDeadlineSeconds"]) == (10, 600)
    pod = created["template"]["spec"]
    assert (pod["restartPolicy"], pod["containers"][0]["imagePullPolicy"]) == ("Always", "Always")
    change = {"spec": {"selector": {"matchLabels": {"app": "other"}}}}
    refused = server.patch(f"{path}/d", change, MERGE)
    assert ("FieldValueInvalid", "spec.selector") in [cause[:2] for cause in refused.causes]


def test_pods_are_admitted_and_terminate_gracefully(server: APIServer, base: str) -> None:
    """A pod gets account, tolerations and QoS class; deleting a running one gives it its grace period."""
    _wait_for_the_account(server, base)
    container = {"name": "c", "image": "example.com/i:1"}
    created = server.create(
        f"{base}/pods", {"metadata": {"name": "p"}, "spec": {"containers": [container]}}
    ).body
    assert created["spec"]["serviceAccountName"] == "default"
    assert created["status"]["qosClass"] == "BestEffort"
    assert {entry["key"] for entry in created["spec"]["tolerations"]} == {
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
    }
    server.eventually(f"{base}/pods/p", lambda answer: bool(answer.body["spec"].get("nodeName")))
    marked = server.delete(f"{base}/pods/p?gracePeriodSeconds=3").body["metadata"]
    assert (marked["deletionGracePeriodSeconds"], bool(marked["deletionTimestamp"])) == (3, True)
    server.eventually(f"{base}/pods/p", lambda answer: answer.status == 404)


def test_a_claim_goes_once_no_pod_on_a_node_has_it(server: APIServer, base: str) -> None:
    """A pod that has finished still has it; a claim without a pod goes at once."""
    _wait_for_the_account(server, base)
    claims, spec = f"{base}/persistentvolumeclaims", {"accessModes": ["ReadWriteOnce"]}
    for name in ("used", "unused"):
        claim = {"metadata": {"name": name}, "spec": {**spec, "resources": {"requests": {"storage": "1Gi"}}}}
        assert server.create(claims, claim).status == 201
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": "used"}}
    containers = [{"name": "c", "image": "example.com/i:1"}]
    pod = {"nodeName": "nowhere", "volumes": [volume], "containers": containers}
    server.create(f"{base}/pods", {"metadata": {"name": "p"}, "spec": pod})
    assert server.patch(f"{base}/pods/p/status", {"status": {"phase": "Succeeded"}}).status == 200
    for name in ("used", "unused"):
        assert server.delete(f"{claims}/{name}").status == 200
    server.eventually(f"{claims}/unused", lambda answer: answer.status == 404)
    assert server.get(f"{claims}/used").body["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]
    server.delete(f"{base}/pods/p?gracePeriodSeconds=0")
    server.eventually(f"{claims}/used", lambda answer: answer.status == 404)


def test_pods_are_bound_once(server: APIServer, base: str) -> None:
    """A second binding of a pod is 409 and names its node."""
    _wait_for_the_account(server, base)
    spec = {"containers": [{"name": "c", "image": "example.com/i:1"}]}
    server.create(f"{base}/pods", {"metadata": {"name": "p"}, "spec": spec})
    bound = server.eventually(f"{base}/pods/p", lambda answer: bool(answer.body["spec"].get("nodeName")))
    node = bound.body["spec"]["nodeName"]
    binding = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": node}}
    refused = server.create(f"{base}/pods/p/binding", binding)
    assert refused.status == 409
    assert refused.message.endswith(f'pod p is already assigned to node "{node}"')


def test_deployments_come_up(server: APIServer, namespace: str) -> None:
    """A Deployment gets a ReplicaSet and pods, and reports them available."""
    labels = {"app": "up"}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "c", "image": "example.com/i:1"}]},
    }
    spec = {"replicas": 2, "selector": {"matchLabels": labels}, "template": template}
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments"
    server.create(path, {"metadata": {"name": "up"}, "spec": spec})
    done = server.eventually(f"{path}/up", lambda answer: answer.body["status"]["availableReplicas"] == 2)
    reasons = {entry["type"]: entry["reason"] for entry in done.body["status"]["conditions"]}
    assert reasons["Available"] == "MinimumReplicasAvailable"
    sets = server.get(f"/apis/apps/v1/namespaces/{namespace}/replicasets?labelSelector=app%3Dup").body[
        "items"
    ]
    assert [entry["metadata"]["ownerReferences"][0]["kind"] for entry in sets] == ["Deployment"]
    pods = server.get(f"/api/v1/namespaces/{namespace}/pods?labelSelector=app%3Dup").body["items"]
    assert {entry["status"]["phase"] for entry in pods} == {"Running"}


@pytest.mark.parametrize("end", [FINISHED, FAILED])
def test_a_server_takes_the_statuses_by_which_a_test_ends_a_job(
    server: APIServer, namespace: str, end: End
) -> None:
    """In their order; of a Job that the Job controller leaves alone."""
    jobs = f"/apis/batch/v1/namespaces/{namespace}/jobs"
    pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "backup:1"}]}
    spec = {"completions": 3, "parallelism": 2, "managedBy": "example.org/test", "template": {"spec": pod}}
    job = server.create(jobs, {"metadata": {"name": "backup"}, "spec": spec}).body
    merged = [
        server.patch(f"{jobs}/backup/status", {"status": status})
        for status in statuses(job, end, "2026-01-01T00:00:00Z")
    ]
    assert [answer.status for answer in merged] == [200, 200, 200]
    assert [each["type"] for each in merged[-1].body["status"]["conditions"]] == list(end.conditions)
