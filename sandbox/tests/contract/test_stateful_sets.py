"""A StatefulSet's life: names and order of its pods, claims, revisions, updates and its status."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from support.servers.api_server import Answer, APIServer, Object

_FIRST, _SECOND = "db-5d94c7fbf5", "db-5bf77b75bd"


def _template(image: str) -> Object:
    return {"metadata": {"labels": {"app": "db"}}, "spec": {"containers": [{"name": "main", "image": image}]}}


@dataclass(frozen=True)
class Database:
    """The StatefulSet `db` in a namespace of the test's own."""

    server: APIServer
    namespace: str

    @property
    def path(self) -> str:
        """The StatefulSet."""
        return f"/apis/apps/v1/namespaces/{self.namespace}/statefulsets/db"

    @property
    def core(self) -> str:
        """The namespace."""
        return f"/api/v1/namespaces/{self.namespace}"

    def create(self, replicas: int, **more: Any) -> None:
        """Make it; more is for its spec."""
        spec = {
            "replicas": replicas,
            "serviceName": "peers",
            "selector": {"matchLabels": {"app": "db"}},
            "template": _template("nginx:1"),
            **more,
        }
        collection = self.path.rpartition("/")[0]
        answer = self.server.create(collection, {"metadata": {"name": "db"}, "spec": spec})
        assert answer.status == 201, answer

    def change(self, **spec: Any) -> None:
        """Change its spec."""
        assert self.server.patch(self.path, {"spec": spec}).status == 200

    def until(self, **counts: int) -> Object:
        """Wait for counters of the status of its present spec; returns the status."""

        def done(answer: Answer) -> bool:
            status = answer.body["status"]
            seen = status.get("observedGeneration") == answer.body["metadata"]["generation"]
            return seen and all(status.get(name, 0) == value for name, value in counts.items())

        found: Object = self.server.eventually(self.path, done).body["status"]
        return found

    def pods(self) -> dict[str, Object]:
        """Its pods by name."""
        items = self.server.get(f"{self.core}/pods").body["items"]
        return {pod["metadata"]["name"]: pod for pod in items}

    def images(self) -> dict[str, str]:
        """The image of each pod."""
        return {name: pod["spec"]["containers"][0]["image"] for name, pod in self.pods().items()}

    def order(self, watch: Any, number: int) -> list[tuple[str, str]]:
        """What happened to pods, in order: the first so many additions and deletions."""

        def events(all_: list[Object]) -> list[tuple[str, str]]:
            kinds = ("ADDED", "DELETED")
            return [(e["type"], e["object"]["metadata"]["name"]) for e in all_ if e["type"] in kinds]

        return events(watch.until(lambda seen: len(events(seen)) >= number))


@pytest.fixture
def database(server: APIServer, namespace: str) -> Database:
    """No StatefulSet yet."""
    return Database(server, namespace)


def test_pods_and_claims(database: Database) -> None:
    """Pods have their names, labels and claims, and come one after the other; the claims stay."""
    template = {
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    database.create(2, volumeClaimTemplates=[template])
    status = database.until(
        replicas=2, readyReplicas=2, availableReplicas=2, currentReplicas=2, updatedReplicas=2
    )
    assert status["currentRevision"] == status["updateRevision"] == _FIRST
    assert status["collisionCount"] == 0
    pods = database.pods()
    assert sorted(pods) == ["db-0", "db-1"]
    assert pods["db-1"]["metadata"]["labels"] == {
        "app": "db",
        "apps.kubernetes.io/pod-index": "1",
        "controller-revision-hash": _FIRST,
        "statefulset.kubernetes.io/pod-name": "db-1",
    }
    spec = pods["db-1"]["spec"]
    assert (spec["hostname"], spec["subdomain"]) == ("db-1", "peers")
    assert spec["volumes"][0] == {"name": "data", "persistentVolumeClaim": {"claimName": "data-db-1"}}
    second = pods["db-1"]["metadata"]["creationTimestamp"]
    (ready,) = (c for c in pods["db-0"]["status"]["conditions"] if c["type"] == "Ready")
    assert ready["lastTransitionTime"] <= second
    claims = database.server.get(f"{database.core}/persistentvolumeclaims").body["items"]
    assert {claim["metadata"]["name"]: claim["metadata"]["labels"] for claim in claims} == {
        "data-db-0": {"app": "db"},
        "data-db-1": {"app": "db"},
    }
    told = {
        "Create Claim data-db-0 Pod db-0 in StatefulSet db success",
        "Create Pod db-0 in StatefulSet db successful",
        "Create Claim data-db-1 Pod db-1 in StatefulSet db success",
        "Create Pod db-1 in StatefulSet db successful",
    }
    events = f"{database.core}/events"
    database.server.eventually(events, lambda answer: told <= {e["message"] for e in answer.body["items"]})
    database.change(replicas=0)
    database.until(replicas=0)
    assert len(database.server.get(f"{database.core}/persistentvolumeclaims").body["items"]) == 2


def test_a_rolling_update(database: Database) -> None:
    """From the last pod to the first, each after the one before is ready; the revision follows at the end."""
    database.create(2)
    database.until(availableReplicas=2)
    version = database.server.get(f"{database.core}/pods").body["metadata"]["resourceVersion"]
    with database.server.watch(f"{database.core}/pods?watch=true&resourceVersion={version}") as watch:
        database.change(template=_template("nginx:2"))
        assert database.order(watch, 4) == [
            ("DELETED", "db-1"),
            ("ADDED", "db-1"),
            ("DELETED", "db-0"),
            ("ADDED", "db-0"),
        ]
    status = database.until(updatedReplicas=2, currentReplicas=2, availableReplicas=2)
    assert status["currentRevision"] == status["updateRevision"] == _SECOND
    revisions = f"/apis/apps/v1/namespaces/{database.namespace}/controllerrevisions"
    found = {each["metadata"]["name"]: each for each in database.server.get(revisions).body["items"]}
    assert {name: each["revision"] for name, each in found.items()} == {_FIRST: 1, _SECOND: 2}
    assert found[_FIRST]["metadata"]["labels"] == {
        "app": "db",
        "controller.kubernetes.io/hash": _FIRST.removeprefix("db-"),
    }
    assert found[_FIRST]["data"]["spec"]["template"]["$patch"] == "replace"
    database.change(template=_template("nginx:1"))
    database.until(updatedReplicas=2, currentReplicas=2, availableReplicas=2)
    found = {each["metadata"]["name"]: each for each in database.server.get(revisions).body["items"]}
    assert {name: each["revision"] for name, each in found.items()} == {_FIRST: 3, _SECOND: 2}


def test_a_partition(database: Database) -> None:
    """Pods below the partition keep the current revision, also where they are made anew."""
    database.create(3, updateStrategy={"type": "RollingUpdate", "rollingUpdate": {"partition": 2}})
    database.until(availableReplicas=3)
    database.change(template=_template("nginx:2"))
    status = database.until(updatedReplicas=1, currentReplicas=2, availableReplicas=3)
    assert (status["currentRevision"], status["updateRevision"]) == (_FIRST, _SECOND)
    old = database.pods()["db-0"]["metadata"]["uid"]
    assert database.server.delete(f"{database.core}/pods/db-0").status == 200
    database.server.eventually(
        f"{database.core}/pods/db-0",
        lambda answer: answer.status == 200 and answer.body["metadata"]["uid"] != old,
    )
    database.until(updatedReplicas=1, currentReplicas=2, availableReplicas=3)
    assert database.images() == {"db-0": "nginx:1", "db-1": "nginx:1", "db-2": "nginx:2"}


def test_on_delete(database: Database) -> None:
    """A pod gets the new template when somebody deletes it."""
    database.create(1, updateStrategy={"type": "OnDelete"})
    database.until(availableReplicas=1)
    database.change(template=_template("nginx:2"))
    status = database.until(updatedReplicas=0, currentReplicas=1)
    assert (status["currentRevision"], status["updateRevision"]) == (_FIRST, _SECOND)
    assert database.server.delete(f"{database.core}/pods/db-0").status == 200
    database.until(updatedReplicas=1, currentReplicas=0, availableReplicas=1)
    assert database.images() == {"db-0": "nginx:2"}


def test_parallel(database: Database) -> None:
    """In parallel, pods go without waiting for each other."""
    database.create(3, podManagementPolicy="Parallel")
    database.until(availableReplicas=3)
    version = database.server.get(f"{database.core}/pods").body["metadata"]["resourceVersion"]
    with database.server.watch(f"{database.core}/pods?watch=true&resourceVersion={version}") as watch:
        database.change(replicas=1)
        assert sorted(database.order(watch, 2)) == [("DELETED", "db-1"), ("DELETED", "db-2")]
    database.until(replicas=1, availableReplicas=1)
