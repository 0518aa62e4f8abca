"""What a server refuses of built-in kinds, and which fields it names."""

from __future__ import annotations

import uuid

import pytest

from support.builders.admission_misfits import ADMISSION_MISFITS
from support.builders.misfits import NETWORK_MISFITS, STORAGE_MISFITS, Misfit
from support.builders.pod_misfits import POD_MISFITS
from support.servers.api_server import APIServer, Object

_MISFITS = (*NETWORK_MISFITS, *STORAGE_MISFITS, *POD_MISFITS, *ADMISSION_MISFITS)


@pytest.mark.parametrize(
    "misfit", _MISFITS, ids=[f"{misfit.kind}{index}" for index, misfit in enumerate(_MISFITS)]
)
def test_a_misfit_is_refused(server: APIServer, namespace: str, misfit: Misfit) -> None:
    """With a complaint about each field, and no other."""
    answer = server.create(f"{misfit.path(namespace)}?dryRun=All", misfit.made())
    assert answer.status == 422, answer
    misfit.check((cause["field"], cause["message"]) for cause in answer.body["details"]["causes"])


_CLAIM: Object = {
    "accessModes": ["ReadWriteOnce"],
    "resources": {"requests": {"storage": "1Gi"}},
    "storageClassName": "one",
}
_VOLUME: Object = {
    "accessModes": ["ReadWriteOnce"],
    "capacity": {"storage": "1Gi"},
    "hostPath": {"path": "/a"},
}
_ATTRIBUTES: Object = {"driverName": "a.b", "parameters": {"a": "b"}}


@pytest.mark.parametrize(
    ("made", "change", "field"),
    [
        (("persistentvolumeclaims", {"spec": _CLAIM}), {"spec": {"storageClassName": "other"}}, "spec"),
        (
            ("persistentvolumes", {"spec": _VOLUME}),
            {"spec": {"hostPath": {"path": "/b"}}},
            "spec.persistentvolumesource",
        ),
        (("storageclasses", {"provisioner": "a/b"}), {"provisioner": "a/c"}, "provisioner"),
        (("storageclasses", {"provisioner": "a/b"}), {"parameters": {"a": "b"}}, "parameters"),
        (("volumeattributesclasses", _ATTRIBUTES), {"parameters": {"a": "c"}}, "parameters"),
    ],
)
def test_what_stays(
    server: APIServer, namespace: str, made: tuple[str, Object], change: Object, field: str
) -> None:
    """Storage is not changed once it is made."""
    kind, content = made
    root = "/apis/storage.k8s.io/v1" if kind.endswith("classes") else "/api/v1"
    where = f"/namespaces/{namespace}" if kind == "persistentvolumeclaims" else ""
    path, name = f"{root}{where}/{kind}", f"stays-{uuid.uuid4().hex[:8]}"
    assert server.create(path, {"metadata": {"name": name}, **content}).status == 201
    try:
        refused = server.patch(f"{path}/{name}?dryRun=All", change)
        assert refused.status == 422, refused
        assert {cause["field"] for cause in refused.body["details"]["causes"]} == {field}
    finally:
        server.delete(f"{path}/{name}")


@pytest.mark.parametrize(
    ("spec", "where", "go_type"),
    [
        ({"restartPolicy": 5}, "PodSpec.spec.restartPolicy", "v1.RestartPolicy"),
        ({"overhead": 5}, "PodSpec.spec.overhead", "v1.ResourceList"),
        (
            {"volumes": [{"hostPath": {"type": 5}}]},
            "HostPathVolumeSource.spec.volumes.VolumeSource.hostPath.type",
            "v1.HostPathType",
        ),
        (
            {"ephemeralContainers": [{"securityContext": {"capabilities": {"add": 5}}}]},
            "Capabilities.spec.ephemeralContainers.EphemeralContainerCommon.securityContext.capabilities.add",
            "[]v1.Capability",
        ),
    ],
)
def test_go_names_its_types(
    server: APIServer, namespace: str, spec: Object, where: str, go_type: str
) -> None:
    """Those of texts, lists and maps, and the struct that is inlined."""
    answer = server.create(f"/api/v1/namespaces/{namespace}/pods", {"metadata": {"name": "a"}, "spec": spec})
    assert answer.status == 400
    complaint = f"json: cannot unmarshal number into Go struct field {where} of type {go_type}"
    assert answer.message.endswith(complaint), answer


@pytest.mark.parametrize(
    ("given", "stored"), [([], ""), ([1, 2, 255], "AQL/"), ([None, 65], "AEE="), (None, ""), ("YQ==", "YQ==")]
)
def test_bytes_are_a_list_as_well(server: APIServer, namespace: str, given: object, stored: str) -> None:
    """A list of numbers is stored as base64."""
    secret = {"metadata": {"name": "a"}, "data": {"k": given}}
    answer = server.create(f"/api/v1/namespaces/{namespace}/secrets?dryRun=All", secret)
    assert (answer.status, answer.body.get("data")) == (201, {"k": stored})


@pytest.mark.parametrize(
    ("given", "complaint"),
    [([256], "number 256"), ([-1], "number -1"), (["a"], "string"), ([True], "bool"), ([[1]], "array")],
)
def test_what_is_no_byte_is_refused(server: APIServer, namespace: str, given: object, complaint: str) -> None:
    """With the type of the entry."""
    secret = {"metadata": {"name": "a"}, "data": {"k": given}}
    answer = server.create(f"/api/v1/namespaces/{namespace}/secrets?dryRun=All", secret)
    assert answer.status == 400
    assert answer.message.endswith(
        f"cannot unmarshal {complaint} into Go struct field Secret.data of type uint8"
    )


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
