"""What a server refuses of built-in kinds, and which fields it names."""

from __future__ import annotations

import uuid

import pytest

from support.builders.misfits import NETWORK_MISFITS, STORAGE_MISFITS, Misfit
from support.servers.api_server import APIServer

_MISFITS = (*NETWORK_MISFITS, *STORAGE_MISFITS)


@pytest.mark.parametrize(
    "misfit", _MISFITS, ids=[f"{misfit.kind}{index}" for index, misfit in enumerate(_MISFITS)]
)
def test_a_misfit_is_refused(server: APIServer, namespace: str, misfit: Misfit) -> None:
    """With a complaint about each field, and no other."""
    answer = server.create(f"{misfit.path(namespace)}?dryRun=All", misfit.made())
    assert answer.status == 422, answer
    told = sorted(f"{cause['field']}: {cause['message']}" for cause in answer.body["details"]["causes"])
    assert len(told) == len(misfit.complaints), told
    for cause, complaint in zip(told, sorted(misfit.complaints), strict=True):
        assert cause.startswith(complaint), told


def test_what_is_deprecated_warns(server: APIServer, namespace: str) -> None:
    """Annotations that became fields."""
    ingress = {
        "metadata": {"name": "a", "annotations": {"kubernetes.io/ingress.class": "x"}},
        "spec": {"rules": [{"host": "a.b"}]},
    }
    path = f"/apis/networking.k8s.io/v1/namespaces/{namespace}/ingresses?dryRun=All"
    assert "annotation" in server.create(path, ingress).warnings[0]
    claim = {
        "metadata": {"name": "a", "annotations": {"volume.beta.kubernetes.io/storage-class": "x"}},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    path = f"/api/v1/namespaces/{namespace}/persistentvolumeclaims?dryRun=All"
    assert "deprecated since v1.8" in server.create(path, claim).warnings[0]


def test_a_claim_gets_the_default_class(server: APIServer, namespace: str) -> None:
    """Unless it names one, be it none."""
    if server.real:
        pytest.skip("the claims of all other tests would get the class, too")
    classes = "/apis/storage.k8s.io/v1/storageclasses"
    name = f"class-{uuid.uuid4().hex[:8]}"
    notes = {"storageclass.kubernetes.io/is-default-class": "true"}
    made = {"metadata": {"name": name, "annotations": notes}, "provisioner": "p/q"}
    assert server.create(classes, made).status == 201
    path = f"/api/v1/namespaces/{namespace}/persistentvolumeclaims"
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claim = {"metadata": {"name": "a"}, "spec": spec}
    try:
        found = server.repeat(
            lambda: server.create(f"{path}?dryRun=All", claim),
            lambda answer: answer.body["spec"].get("storageClassName") == name,
        )
        assert found.status == 201
        none = {**claim, "spec": {**spec, "storageClassName": ""}}
        assert server.create(f"{path}?dryRun=All", none).body["spec"]["storageClassName"] == ""
    finally:
        server.delete(f"{classes}/{name}")
