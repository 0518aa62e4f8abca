"""What a server adds to objects of built-in kinds, and what it warns of."""

from __future__ import annotations

import base64
import uuid

import pytest

from support.servers.api_server import APIServer, Object

_POD: Object = {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "a"}]}}
_NO_CERTIFICATE = "tls: failed to find any PEM data in certificate input"
_CERTIFICATE = "-----BEGIN CERTIFICATE-----\nYQ==\n-----END CERTIFICATE-----\n"
_CLAIM: Object = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}

_SNAPSHOT: Object = {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "b"}


@pytest.mark.parametrize(
    ("certificate", "key", "warning"),
    [
        ("", "", _NO_CERTIFICATE),
        ("text", "", _NO_CERTIFICATE),
        (_CERTIFICATE.replace("CERTIFICATE", "PRIVATE KEY"), "", "but did find a private key"),
        (_CERTIFICATE.replace("CERTIFICATE", "X"), "", "blocks of the following types: [X]"),
        (_CERTIFICATE, "", "tls: failed to find any PEM data in key input"),
        (_CERTIFICATE, _CERTIFICATE, "tls: found a certificate rather than a key"),
    ],
)
def test_a_key_pair_is_looked_at(
    server: APIServer, namespace: str, certificate: str, key: str, warning: str
) -> None:
    """A Secret of type tls is stored with a warning where there is no certificate or no key."""
    data = {"tls.crt": certificate, "tls.key": key}
    encoded = {name: base64.b64encode(text.encode()).decode() for name, text in data.items()}
    secret = {"metadata": {"name": "a"}, "type": "kubernetes.io/tls", "data": encoded}
    made = server.create(f"/api/v1/namespaces/{namespace}/secrets?dryRun=All", secret)
    assert made.status == 201
    assert any(warning in told for told in made.warnings), made.warnings


def test_a_job_whose_labels_are_those_of_another(server: APIServer, namespace: str) -> None:
    """What the client says of them stays, and is refused."""
    template = {**_POD, "metadata": {"labels": {"controller-uid": "other", "job-name": "other"}}}
    jobs = f"/apis/batch/v1/namespaces/{namespace}/jobs?dryRun=All"
    refused = server.create(jobs, {"metadata": {"name": "a"}, "spec": {"template": template}})
    assert refused.status == 422
    fields = {cause["field"] for cause in refused.body["details"]["causes"]}
    assert fields == {f"spec.template.metadata.labels[{name}]" for name in ("controller-uid", "job-name")}


@pytest.mark.parametrize("labels", [{}, {"a": "b"}])
def test_the_labels_of_a_job(server: APIServer, namespace: str, labels: Object) -> None:
    """Only a Job without labels has those of its template, be they the same."""
    job = {
        "metadata": {"name": "a", "labels": labels},
        "spec": {"template": {"metadata": {"labels": {"a": "b"}}, **_POD}},
    }
    made = server.create(f"/apis/batch/v1/namespaces/{namespace}/jobs?dryRun=All", job)
    assert ("job-name" in made.body["metadata"]["labels"]) == (not labels)


def test_a_daemon_set_counts_its_templates(server: APIServer, namespace: str) -> None:
    """Its creator owns the annotation."""
    labels = {"a": "b"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "a", "image": "a"}]}}
    spec = {"selector": {"matchLabels": labels}, "template": template}
    path = f"/apis/apps/v1/namespaces/{namespace}/daemonsets?dryRun=All"
    made = server.create(path, {"metadata": {"name": "a"}, "spec": spec}).body["metadata"]
    name = "deprecated.daemonset.template.generation"
    assert made["annotations"] == {name: "1"}
    (entry,) = made["managedFields"]
    assert entry["fieldsV1"]["f:metadata"] == {"f:annotations": {".": {}, f"f:{name}": {}}}


def test_a_label_of_endpoints_counts(server: APIServer, namespace: str) -> None:
    """The generation of an EndpointSlice rises with its labels."""
    path = f"/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices"
    server.create(path, {"metadata": {"name": "a"}, "addressType": "IPv4", "endpoints": []})
    for metadata, generation in (({"annotations": {"a": "b"}}, 1), ({"labels": {"a": "b"}}, 2)):
        changed = server.patch(f"{path}/a", {"metadata": metadata})
        assert changed.body["metadata"]["generation"] == generation


@pytest.mark.parametrize(
    ("given", "both"),
    [
        ({"dataSource": _SNAPSHOT}, True),
        ({"dataSourceRef": {"apiGroup": "x.io", "kind": "X", "name": "b"}}, True),
        ({"dataSource": {"apiGroup": "x.io", "kind": "X", "name": "b"}}, False),
    ],
)
def test_the_sources_of_a_claim(server: APIServer, namespace: str, given: Object, both: bool) -> None:
    """One member follows the other; dataSource knows claims and snapshots alone."""
    claim = {"metadata": {"name": "a"}, "spec": {**_CLAIM, **given}}
    made = server.create(f"/api/v1/namespaces/{namespace}/persistentvolumeclaims?dryRun=All", claim)
    found = {name: made.body["spec"].get(name) for name in ("dataSource", "dataSourceRef")}
    (source,) = given.values()
    assert found == dict.fromkeys(found, source if both else None)


def test_classes_of_attributes_are_protected(server: APIServer) -> None:
    """Until no claim names them."""
    path, name = "/apis/storage.k8s.io/v1/volumeattributesclasses", f"a{uuid.uuid4().hex[:8]}"
    made = server.create(path, {"metadata": {"name": name}, "driverName": "a.b", "parameters": {"a": "b"}})
    assert made.body["metadata"]["finalizers"] == ["kubernetes.io/vac-protection"]
    server.delete(f"{path}/{name}")
    server.eventually(f"{path}/{name}", lambda answer: answer.status == 404)


def test_an_autoscaler_without_its_status(server: APIServer, namespace: str) -> None:
    """What autoscaling/v1 says of it in annotations is taken away, like the status itself."""
    prefix = "autoscaling.alpha.kubernetes.io"
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"}
    conditions = '[{"type":"AbleToScale","status":"True","lastTransitionTime":"2021-03-08T17:42:11Z"}]'
    scaler = {
        "metadata": {"name": "a", "annotations": {f"{prefix}/conditions": conditions, "mine": "b"}},
        "spec": {"maxReplicas": 2, "scaleTargetRef": target},
        "status": {"currentReplicas": 1, "desiredReplicas": 1, "currentCPUUtilizationPercentage": 1},
    }
    path = f"/apis/autoscaling/v1/namespaces/{namespace}/horizontalpodautoscalers?dryRun=All"
    made = server.create(path, scaler).body
    assert made["metadata"]["annotations"] == {"mine": "b"}
    assert made["status"] == {"currentReplicas": 0, "desiredReplicas": 0}
