"""A Deployment's life, from its first pod to its end: conditions, revisions, names and events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from support.servers.api_server import Answer, APIServer, Object

_GOOD, _BAD, _BETTER = "web-7688cfc66b", "web-6d6fcc665", "web-85c58645d9"
_AVAILABLE = ("Available", "True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
_UNAVAILABLE = (
    "Available",
    "False",
    "MinimumReplicasUnavailable",
    "Deployment does not have minimum availability.",
)
_REVISION = "deployment.kubernetes.io/revision"
_HISTORY = "deployment.kubernetes.io/revision-history"

Said = tuple[str, str, str, str]


def _template(image: str, *, broken: bool = False) -> Object:
    """A sandbox fails to pull because of the tag, the stand-in for a node because of the annotation."""
    annotations = {"fake-kubelet/pull-error": "true"} if broken else None
    metadata = {"labels": {"app": "web"}, "annotations": annotations}
    return {"metadata": metadata, "spec": {"containers": [{"name": "main", "image": image}]}}


def _progress(status: str, reason: str, message: str) -> Said:
    return ("Progressing", status, reason, message)


@dataclass(frozen=True)
class Web:
    """The Deployment "web" in a namespace of the test's own."""

    server: APIServer
    namespace: str

    @property
    def sets(self) -> str:
        """The ReplicaSets."""
        return f"/apis/apps/v1/namespaces/{self.namespace}/replicasets"

    @property
    def collection(self) -> str:
        """The Deployments."""
        return f"/apis/apps/v1/namespaces/{self.namespace}/deployments"

    @property
    def path(self) -> str:
        """The Deployment."""
        return f"{self.collection}/web"

    def create(self, replicas: int, **more: Any) -> None:
        """Make it, with an image that works; more is for its spec."""
        spec = {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "template": _template("nginx:1"),
            **more,
        }
        answer = self.server.create(self.collection, {"metadata": {"name": "web"}, "spec": spec})
        assert answer.status == 201, answer

    def change(self, **spec: Any) -> None:
        """Change its spec."""
        assert self.server.patch(self.path, {"spec": spec}).status == 200

    def until(self, *said: Said, **counts: int) -> Object:
        """Wait for conditions and counters of the status; returns the Deployment."""

        def done(answer: Answer) -> bool:
            status = answer.body.get("status", {})
            return (
                status.get("observedGeneration") == answer.body["metadata"]["generation"]
                and set(said) <= set(_conditions(answer.body))
                and all(status.get(name, 0) == value for name, value in counts.items())
            )

        found: Object = self.server.eventually(self.path, done).body
        return found

    def replica_sets(self) -> dict[str, Object]:
        """Its ReplicaSets by name."""
        return {found["metadata"]["name"]: found for found in self.server.get(self.sets).body["items"]}

    def told(self, kind: str, reason: str) -> Counter[str]:
        """The count of each message about objects of a kind."""
        events = self.server.get(f"/api/v1/namespaces/{self.namespace}/events").body["items"]
        found: Counter[str] = Counter()
        for event in events:
            if (event["involvedObject"]["kind"], event["reason"]) == (kind, reason):
                found[event["message"]] += event["count"]
        return found

    def eventually_told(self, kind: str, reason: str, wanted: Callable[[Counter[str]], bool]) -> Counter[str]:
        """The same once it is as wanted: events come after their causes."""
        path = f"/api/v1/namespaces/{self.namespace}/events"
        self.server.eventually(path, lambda _: wanted(self.told(kind, reason)))
        return self.told(kind, reason)


def _conditions(deployment: Object) -> list[Said]:
    conditions = deployment.get("status", {}).get("conditions", [])
    return [(c["type"], c["status"], c["reason"], c["message"]) for c in conditions]


def _progressed(name: str) -> Said:
    return _progress("True", "NewReplicaSetAvailable", f'ReplicaSet "{name}" has successfully progressed.')


@pytest.fixture
def web(server: APIServer, namespace: str) -> Web:
    """No Deployment yet."""
    return Web(server, namespace)


def _history(web: Web) -> Iterator[Said]:
    """Every condition in the order in which it first was so, from the creation to the end of the rollout."""
    with web.server.watch(f"{web.collection}?watch=true") as watch:
        # so long that its controller cannot miss the time between creation and end
        web.create(3, minReadySeconds=2)
        events = watch.until(
            lambda events: any(_progressed(_GOOD) in _conditions(event["object"]) for event in events),
        )
    seen: set[Said] = set()
    for event in events:
        for said in _conditions(event["object"]):
            if said not in seen:
                seen.add(said)
                yield said


def test_the_first_rollout(web: Web) -> None:
    """Conditions in their order, a ReplicaSet that is named after its template, and the events."""
    said = list(_history(web))
    assert [each for each in said if each[0] == "Progressing"] == [
        _progress("True", "NewReplicaSetCreated", f'Created new replica set "{_GOOD}"'),
        _progress("True", "ReplicaSetUpdated", f'ReplicaSet "{_GOOD}" is progressing.'),
        _progressed(_GOOD),
    ]
    assert [each for each in said if each[0] == "Available"] == [_UNAVAILABLE, _AVAILABLE]
    deployment = web.until(_AVAILABLE, _progressed(_GOOD), availableReplicas=3, unavailableReplicas=0)
    assert deployment["metadata"]["annotations"] == {_REVISION: "1"}
    (replica_set,) = web.replica_sets().values()
    assert replica_set["metadata"]["name"] == _GOOD
    assert replica_set["metadata"]["annotations"] == {
        _REVISION: "1",
        "deployment.kubernetes.io/desired-replicas": "3",
        "deployment.kubernetes.io/max-replicas": "4",
    }
    up = f"Scaled up replica set {_GOOD} from 0 to 3"
    assert web.eventually_told("Deployment", "ScalingReplicaSet", bool) == {up: 1}
    created = web.eventually_told("ReplicaSet", "SuccessfulCreate", lambda told: len(told) == 3)
    assert all(message.startswith(f"Created pod: {_GOOD}-") for message in created)


def test_a_rollout_that_fails_and_is_taken_back(web: Web) -> None:
    """Surge and unavailability, the deadline, revisions and their history."""
    web.create(5)
    web.until(_AVAILABLE, _progressed(_GOOD), availableReplicas=5)
    web.change(template=_template("nginx:pull-fail", broken=True), progressDeadlineSeconds=6)
    timed_out = _progress(
        "False", "ProgressDeadlineExceeded", f'ReplicaSet "{_BAD}" has timed out progressing.'
    )
    stuck = web.until(_AVAILABLE, timed_out, replicas=7, updatedReplicas=3, availableReplicas=4)
    assert stuck["status"]["unavailableReplicas"] == 3
    assert stuck["metadata"]["annotations"][_REVISION] == "2"
    web.change(template=_template("nginx:1"), progressDeadlineSeconds=600)
    back = web.until(_AVAILABLE, _progressed(_GOOD), replicas=5, updatedReplicas=5, availableReplicas=5)
    assert back["metadata"]["annotations"][_REVISION] == "3"
    sets = web.replica_sets()
    assert {name: found["spec"]["replicas"] for name, found in sets.items()} == {_GOOD: 5, _BAD: 0}
    good, bad = (sets[name]["metadata"]["annotations"] for name in (_GOOD, _BAD))
    assert (good[_REVISION], good[_HISTORY], bad[_REVISION], _HISTORY in bad) == ("3", "1", "2", False)
    wanted = {
        f"Scaled up replica set {_GOOD} from 0 to 5": 1,
        f"Scaled up replica set {_BAD} from 0 to 2": 1,
        f"Scaled down replica set {_GOOD} from 5 to 4": 1,
        f"Scaled up replica set {_BAD} from 2 to 3": 1,
        f"Scaled down replica set {_BAD} from 3 to 0": 1,
        f"Scaled up replica set {_GOOD} from 4 to 5": 1,
    }
    assert web.eventually_told("Deployment", "ScalingReplicaSet", lambda told: len(told) == 6) == wanted


def test_scaling(web: Web) -> None:
    """Up is unavailable until enough pods are; down is at once; neither makes a revision."""
    web.create(1)
    web.until(_AVAILABLE, _progressed(_GOOD), availableReplicas=1)
    web.change(replicas=4)
    web.until(_AVAILABLE, _progressed(_GOOD), replicas=4, availableReplicas=4)
    web.change(replicas=2)
    deployment = web.until(_AVAILABLE, _progressed(_GOOD), replicas=2, availableReplicas=2)
    assert deployment["metadata"]["annotations"][_REVISION] == "1"
    wanted = {
        f"Scaled up replica set {_GOOD} from 0 to 1": 1,
        f"Scaled up replica set {_GOOD} from 1 to 4": 1,
        f"Scaled down replica set {_GOOD} from 4 to 2": 1,
    }
    assert web.eventually_told("Deployment", "ScalingReplicaSet", lambda told: len(told) == 3) == wanted
    deleted = web.eventually_told("ReplicaSet", "SuccessfulDelete", lambda told: len(told) == 2)
    assert all(message.startswith(f"Deleted pod: {_GOOD}-") for message in deleted)


def test_pause_and_resume(web: Web) -> None:
    """Paused, a change waits; resumed, it is rolled out as the next revision."""
    web.create(1)
    web.until(_AVAILABLE, _progressed(_GOOD), availableReplicas=1)
    web.change(paused=True)
    web.until(_AVAILABLE, _progress("Unknown", "DeploymentPaused", "Deployment is paused"))
    web.change(template=_template("nginx:2"))
    waiting = web.until(_AVAILABLE, updatedReplicas=0)
    assert list(web.replica_sets()) == [_GOOD]
    assert waiting["metadata"]["annotations"][_REVISION] == "1"
    web.change(paused=None)
    done = web.until(_AVAILABLE, _progressed(_BETTER), replicas=1, updatedReplicas=1, availableReplicas=1)
    assert done["metadata"]["annotations"][_REVISION] == "2"
    wanted = {
        f"Scaled up replica set {_GOOD} from 0 to 1": 1,
        f"Scaled up replica set {_BETTER} from 0 to 1": 1,
        f"Scaled down replica set {_GOOD} from 1 to 0": 1,
    }
    assert web.eventually_told("Deployment", "ScalingReplicaSet", lambda told: len(told) == 3) == wanted


def test_orphans_stay_and_are_found_again(web: Web) -> None:
    """Deleted with Orphan, ReplicaSet and pods live on without an owner; a new Deployment takes them over."""
    web.create(2)
    web.until(_progressed(_GOOD), availableReplicas=2)
    pods = f"/api/v1/namespaces/{web.namespace}/pods"
    before = sorted(web.server.get(pods).names)
    assert web.server.delete(web.path, {"propagationPolicy": "Orphan"}).status == 200
    web.server.eventually(web.path, lambda answer: answer.status == 404)
    assert "ownerReferences" not in web.replica_sets()[_GOOD]["metadata"]
    assert sorted(web.server.get(pods).names) == before
    web.create(2)
    made = web.until(_AVAILABLE, _progressed(_GOOD), availableReplicas=2)
    (owner,) = web.replica_sets()[_GOOD]["metadata"]["ownerReferences"]
    assert (owner["uid"], owner["controller"], owner["blockOwnerDeletion"]) == (
        made["metadata"]["uid"],
        True,
        True,
    )
    assert sorted(web.server.get(pods).names) == before


def test_deletion_in_the_foreground(web: Web) -> None:
    """The Deployment stays, being deleted, until ReplicaSet and pods have gone."""
    web.create(2)
    web.until(_progressed(_GOOD), availableReplicas=2)
    with web.server.watch(f"{web.collection}?watch=true") as watch:
        answer = web.server.delete(web.path, {"propagationPolicy": "Foreground"})
        assert answer.status == 200
        assert answer.body["metadata"]["finalizers"] == ["foregroundDeletion"]
        watch.until(lambda events: bool(events) and events[-1]["type"] == "DELETED")
    assert web.replica_sets() == {}
    assert web.server.get(f"/api/v1/namespaces/{web.namespace}/pods").names == []
