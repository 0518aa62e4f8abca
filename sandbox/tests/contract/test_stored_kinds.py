"""Kinds that the sandbox stores without an effect: defaults, rows, generation, and what an update needs."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from support.builders.stored_kinds import STORED_KINDS, StoredKind
from support.servers.api_server import MERGE, APIServer

_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
_COUNTED = (
    "deviceclasses",
    "flowschemas",
    "prioritylevelconfigurations",
    "resourceslices",
    "validatingadmissionpolicies",
    "validatingadmissionpolicybindings",
    "mutatingadmissionpolicies",
    "mutatingadmissionpolicybindings",
    "mutatingwebhookconfigurations",
    "validatingwebhookconfigurations",
)
_REPLACED_BY_ANY = (
    "deviceclasses",
    "flowschemas",
    "ipaddresses",
    "prioritylevelconfigurations",
    "resourceclaims",
    "resourceclaimtemplates",
    "resourceslices",
    "servicecidrs",
    "volumeattributesclasses",
)


@pytest.fixture(params=STORED_KINDS, ids=[kind.plural for kind in STORED_KINDS])
def kind(request: pytest.FixtureRequest, server: APIServer) -> StoredKind:
    """Each kind."""
    found: StoredKind = request.param
    if server.real and found.plural == "servicecidrs":
        pytest.skip("the Services of all other tests would get addresses of that range, too")
    return found


@pytest.fixture
def name(server: APIServer, kind: StoredKind, namespace: str) -> Iterator[str]:
    """A name for an object, which is removed afterwards."""
    chosen = kind.name if kind.name != "stored" else f"stored-{uuid.uuid4().hex[:8]}"
    yield chosen
    server.delete(f"{kind.path(namespace)}/{chosen}")


def test_stored(server: APIServer, kind: StoredKind, namespace: str, name: str) -> None:
    """An object gets its defaults, its row, and its place in the list."""
    path = kind.path(namespace)
    created = server.create(path, kind.new(name))
    assert created.status == 201, created
    assert {key: created.body[key] for key in kind.found} == kind.found
    assert created.body["metadata"].get("generation") == (1 if kind.plural in _COUNTED else None)
    table = server.get(f"{path}/{name}", accept=_TABLE).body
    cells = table["rows"][0]["cells"]
    assert cells[: len(kind.cells) + 1] == [name, *kind.cells]
    assert name in [item["metadata"]["name"] for item in server.get(path).body["items"]]


def test_replaced(server: APIServer, kind: StoredKind, namespace: str, name: str) -> None:
    """Some kinds are replaced without a resourceVersion; a RuntimeClass is even created so."""
    path = f"{kind.path(namespace)}/{name}"
    assert server.update(path, kind.new(name)).status == (201 if kind.plural == "runtimeclasses" else 404)
    server.create(kind.path(namespace), kind.new(name))
    answer = server.update(path, kind.new(name))
    assert answer.status == (200 if kind.plural in _REPLACED_BY_ANY else 422)
    labelled = server.patch(path, {"metadata": {"labels": {"a": "b"}}}, content_type=MERGE)
    assert labelled.status == 200
    assert labelled.body["metadata"]["labels"] == {"a": "b"}


def test_no_status_of_the_clients(server: APIServer) -> None:
    """An APIService of the server's own is available at once, whatever its status says."""
    name = "v7.stored.contract.example.com"
    spec = {
        "group": name.partition(".")[2],
        "version": "v7",
        "groupPriorityMinimum": 1000,
        "versionPriority": 10,
    }
    status = {"conditions": [{"type": "Available", "status": "False", "reason": "Mine"}]}
    created = server.create(
        "/apis/apiregistration.k8s.io/v1/apiservices",
        {"metadata": {"name": name}, "spec": spec, "status": status},
    )
    server.delete(f"/apis/apiregistration.k8s.io/v1/apiservices/{name}")
    (condition,) = created.body["status"]["conditions"]
    condition.pop("lastTransitionTime")
    assert condition == {
        "type": "Available",
        "status": "True",
        "reason": "Local",
        "message": "Local APIServices are always available",
    }


def test_component_statuses(server: APIServer) -> None:
    """They can only be read, with a warning."""
    answer = server.get("/api/v1/componentstatuses")
    assert answer.body["kind"] == "ComponentStatusList"
    assert answer.warnings == ["v1 ComponentStatus is deprecated in v1.19+"]
    assert server.create("/api/v1/componentstatuses", {"metadata": {"name": "x"}}).status == 405


def test_the_servers_own_service(server: APIServer) -> None:
    """Its labels tell whose it is."""
    labels = server.get("/api/v1/namespaces/default/services/kubernetes").body["metadata"]["labels"]
    assert labels == {"component": "apiserver", "provider": "kubernetes"}


def test_the_parts_of_the_control_plane(server: APIServer) -> None:
    """Their state is not stored: it has no version, and nothing writes it."""
    path = "/api/v1/componentstatuses"
    listed = server.get(path).body
    assert listed["metadata"] == {}
    names = [item["metadata"]["name"] for item in listed["items"]]
    assert sorted(names) == ["controller-manager", "etcd-0", "scheduler"]
    (chosen,) = server.get(f"{path}?fieldSelector=metadata.name%3Detcd-0").body["items"]
    one = server.get(f"{path}/etcd-0").body
    assert one["metadata"] == {"name": "etcd-0"}
    assert one["conditions"] == chosen["conditions"]
    assert one["conditions"][0]["status"] == "True"
    assert server.get(f"{path}/gone").message == 'componentstatus "gone" not found'
    assert server.delete(f"{path}/etcd-0").status == 405
    assert server.get(f"{path}?watch=1").status == 405
