"""
A cluster in virtual time: a store, controllers, and as much of an API as controllers rely on.

No validation, no defaults, no HTTP: each write is stored, with the server's rules for status,
generation, finalizers, grace periods and terminating namespaces.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from handloop_sandbox.cluster.cluster_controller import ClusterController, Runner, View, Write, new_name
from handloop_sandbox.cluster.lifecycle import default_controllers
from handloop_sandbox.cluster.workloads import DEPLOYMENTS, PODS, REPLICA_SETS
from handloop_sandbox.grammar.times import format_time
from handloop_sandbox.kinds.kinds import builtin_resources
from handloop_sandbox.storage.catalog import Catalog
from handloop_sandbox.storage.store import Store
from handloop_sandbox.storage.stored import Change, Object
from handloop_sandbox.storage.transaction import Transaction
from handloop_sandbox.wire.resource import GroupResource

START = 1_700_000_000.0
NAMESPACES = GroupResource("", "namespaces")
EVENTS = GroupResource("", "events")
CONFIG_MAPS = GroupResource("", "configmaps")

Status = dict[str, Any]


class SimulatedCluster:
    """
    Runs controllers, without others those of a sandbox, against a store with the namespace "default".

    `changes` has every change in order, `now` is the virtual time.
    """

    def __init__(
        self, controllers: Sequence[ClusterController] | None = None, *, speed: float = 1.0, seed: int = 1
    ) -> None:
        self.now = START
        self.store = Store()
        self.changes: list[tuple[float, Change]] = []
        self.writes: list[Write] = []
        self.catalog = Catalog(builtin_resources())
        self._random = random.Random(seed)
        self._runner = Runner(default_controllers(speed=speed) if controllers is None else controllers)
        self._runner.start(self.store)
        self._uids = 0
        self.create(NAMESPACES, new_namespace("default"))

    def restart(self, controllers: Sequence[ClusterController]) -> None:
        """Go on with other controllers, which see everything that exists as new."""
        self._runner = Runner(controllers)
        self._runner.start(self.store)

    def create(self, group_resource: GroupResource, obj: Object) -> Object:
        """Store an object as a user's POST would."""
        return self._must(self._create(group_resource, obj))

    def change(self, group_resource: GroupResource, namespace: str, name: str, **fields: Any) -> Object:
        """Replace top-level fields, status included; metadata is merged."""
        current = self.must_get(group_resource, namespace, name)
        metadata = {**current["metadata"], **fields.pop("metadata", {})}
        updated = {**current, **fields, "metadata": {k: v for k, v in metadata.items() if v is not None}}
        return self._put(group_resource, current, updated)

    def delete(
        self, group_resource: GroupResource, namespace: str, name: str, propagation: str = "Background"
    ) -> None:
        """Delete as a user's DELETE would."""
        self._must(
            self._delete(
                Write(
                    verb="delete",
                    group_resource=group_resource,
                    namespace=namespace,
                    name=name,
                    propagation=propagation,
                )
            )
        )

    def get(self, group_resource: GroupResource, namespace: str, name: str) -> Object | None:
        """An object of the store."""
        return self.store.get(group_resource, namespace, name)

    def must_get(self, group_resource: GroupResource, namespace: str, name: str) -> Object:
        """An object that has to be there."""
        found = self.get(group_resource, namespace, name)
        assert found is not None, f"{group_resource} {namespace}/{name} is not there"
        return found

    def pods(self, namespace: str = "default") -> list[Object]:
        """The pods of a namespace."""
        return self.store.list(PODS, namespace)

    def replica_sets(self, namespace: str = "default") -> list[Object]:
        """The ReplicaSets of a namespace, oldest first."""
        return sorted(
            self.store.list(REPLICA_SETS, namespace), key=lambda rs: int(rs["metadata"]["resourceVersion"])
        )

    def deployment(self, name: str = "web") -> Object:
        """A Deployment of the default namespace."""
        return self.must_get(DEPLOYMENTS, "default", name)

    def events(self, reason: str = "", namespace: str = "default") -> list[Object]:
        """The events with a reason, oldest first."""
        found = self.store.list(EVENTS, namespace)
        chosen = [event for event in found if not reason or event["reason"] == reason]
        return sorted(chosen, key=lambda event: int(event["metadata"]["name"].rpartition(".")[2], 16))

    def messages(self, reason: str, namespace: str = "default") -> list[str]:
        """The texts of the events with a reason, oldest first."""
        return [event["message"] for event in self.events(reason, namespace)]

    def run_for(self, seconds: float) -> None:
        """Let virtual time pass."""
        end = self.now + seconds
        while (wake := self._runner.next_wake()) is not None and wake <= end:
            self.now = max(self.now, wake)
            self._runner.run(self._view, self.now, self._apply)
        self.now = end

    def run_until(self, condition: Callable[[], bool], *, within: float = 60.0) -> float:
        """Let virtual time pass until condition holds; the seconds that took."""
        began = self.now
        while not condition():
            wake = self._runner.next_wake()
            assert wake is not None, "nothing is going to happen any more"
            assert wake <= began + within, f"not within {within} s"
            self.now = max(self.now, wake)
            self._runner.run(self._view, self.now, self._apply)
        return self.now - began

    def history(self, group_resource: GroupResource, name: str = "") -> list[Object]:
        """Every version of an object in order."""
        return [
            change.new.object
            for _, change in self.changes
            if change.group_resource == group_resource and name in ("", change.name)
        ]

    def _view(self) -> View:
        return View(self.store, self.catalog, self._random)

    def _apply(self, _controller: str, write: Write) -> Status | None:
        self.writes.append(write)
        if write.verb == "delete":
            return self._delete(write)
        assert write.object is not None
        if write.verb == "create" and not write.subresource:
            result = self._create(write.group_resource, write.object)
            return result if result.get("kind") == "Status" else None
        current = self.get(write.group_resource, write.namespace, write.name)
        if current is None:
            return _refusal(404, "NotFound")
        if write.subresource == "binding":
            self._bind(current, write.object["target"]["name"])
        elif write.subresource == "finalize":
            self._put(write.group_resource, current, {**current, "spec": write.object["spec"]})
            if not write.object["spec"]["finalizers"]:
                self._remove(write.group_resource, self.must_get(write.group_resource, "", write.name))
        elif write.subresource == "status":
            annotations = {"annotations": write.object["metadata"].get("annotations")}
            metadata = current["metadata"] | (annotations if annotations["annotations"] else {})
            self._put(
                write.group_resource,
                current,
                {**current, "metadata": metadata, "status": write.object["status"]},
            )
        else:
            status = {"status": current["status"]} if "status" in current else {}
            self._put(write.group_resource, current, {**write.object, **status})
        return None

    def _create(self, group_resource: GroupResource, obj: Object) -> Object:
        metadata = dict(obj["metadata"])
        namespace = metadata.get("namespace", "")
        home = self.get(NAMESPACES, "", namespace)
        if home is not None and home["metadata"].get("deletionTimestamp"):
            return _refusal(403, "Forbidden")
        metadata.setdefault("name", new_name(metadata.get("generateName", ""), self._random))
        if self.get(group_resource, namespace, metadata["name"]) is not None:
            return _refusal(409, "AlreadyExists")
        self._uids += 1
        metadata |= {"uid": f"uid-{self._uids}", "creationTimestamp": format_time(self.now), "generation": 1}
        stored = {**obj, "metadata": metadata}
        if group_resource == PODS:
            stored["status"] = {"phase": "Pending", "qosClass": "BestEffort"}
        elif group_resource == NAMESPACES:
            stored |= {"spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}
        transaction = Transaction(self.store)
        transaction.put(group_resource, stored)
        self._commit(transaction)
        return self.must_get(group_resource, namespace, metadata["name"])

    def _put(self, group_resource: GroupResource, current: Object, updated: Object) -> Object:
        metadata = {**updated["metadata"]}
        for field in ("resourceVersion", "uid", "creationTimestamp", "generation"):
            metadata[field] = current["metadata"][field]
        if updated.get("spec") != current.get("spec"):
            metadata["generation"] += 1
        updated = {**updated, "metadata": metadata}
        if updated == current:
            return current
        transaction = Transaction(self.store)
        transaction.put(group_resource, updated)
        self._commit(transaction)
        if metadata.get("deletionTimestamp") and not metadata.get("finalizers") and not _graceful(updated):
            self._remove(group_resource, updated)
        return updated

    def _bind(self, pod: Object, node: str) -> None:
        bound = {"type": "PodScheduled", "status": "True", "lastTransitionTime": format_time(self.now)}
        status = {**pod["status"], "conditions": [bound]}
        self._put(PODS, pod, {**pod, "spec": {**pod["spec"], "nodeName": node}, "status": status})

    def _delete(self, write: Write) -> Status | None:
        current = self.get(write.group_resource, write.namespace, write.name)
        if current is None:
            return _refusal(404, "NotFound")
        if write.uid and current["metadata"]["uid"] != write.uid:
            return _refusal(409, "Conflict")
        finalizers = list(current["metadata"].get("finalizers") or ())
        marker = {"Foreground": "foregroundDeletion", "Orphan": "orphan"}.get(write.propagation)
        if marker and marker not in finalizers:
            finalizers.append(marker)
        grace = self._grace(current, write)
        if not finalizers and not grace and write.group_resource != NAMESPACES:
            self._remove(write.group_resource, current)
            return None
        metadata = {**current["metadata"], "deletionGracePeriodSeconds": grace}
        metadata.setdefault("deletionTimestamp", format_time(self.now + grace))
        if finalizers:
            metadata["finalizers"] = finalizers
        self._put(write.group_resource, current, {**current, "metadata": metadata})
        return None

    @staticmethod
    def _grace(obj: Object, write: Write) -> int:
        if write.group_resource != PODS or not obj["spec"].get("nodeName"):
            return 0
        if write.grace_seconds is not None:
            return write.grace_seconds
        return int(obj["spec"].get("terminationGracePeriodSeconds", 30))

    def _remove(self, group_resource: GroupResource, obj: Object) -> None:
        metadata = obj["metadata"]
        transaction = Transaction(self.store)
        transaction.delete(group_resource, metadata.get("namespace", ""), metadata["name"])
        self._commit(transaction)

    def _commit(self, transaction: Transaction) -> None:
        self.store.commit(transaction.changes)
        self.changes += [(self.now, change) for change in transaction.changes]
        self._runner.committed(transaction.changes)

    @staticmethod
    def _must(result: Object | Status | None) -> Object:
        assert result is None or result.get("kind") != "Status", result
        return result or {}


def _graceful(obj: Object) -> bool:
    if obj["kind"] == "Namespace":
        return True
    return bool(obj["kind"] == "Pod" and obj["metadata"].get("deletionGracePeriodSeconds"))


def _refusal(code: int, reason: str) -> Status:
    return {
        "kind": "Status",
        "status": "Failure",
        "code": code,
        "reason": reason,
        "message": f"refused: {reason}",
    }


def new_namespace(name: str) -> Object:
    """A namespace as it is sent."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def new_deployment(name: str = "web", *, replicas: int = 3, image: str = "nginx:1", **spec: Any) -> Object:
    """A Deployment with the defaults the API fills in."""
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "containers": [{"name": "main", "image": image}],
                    "terminationGracePeriodSeconds": 30,
                },
            },
            "strategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"},
            },
            "revisionHistoryLimit": 10,
            "progressDeadlineSeconds": 600,
            **spec,
        },
    }


def with_image(deployment: Object, image: str) -> Object:
    """The spec of a Deployment with another image."""
    template = deployment["spec"]["template"]
    containers = [{**template["spec"]["containers"][0], "image": image}]
    return {
        **deployment["spec"],
        "template": {**template, "spec": {**template["spec"], "containers": containers}},
    }


def new_pod(
    name: str, *, labels: dict[str, str] | None = None, image: str = "nginx:1", **spec: Any
) -> Object:
    """A pod without an owner."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", **({"labels": labels} if labels else {})},
        "spec": {
            "containers": [{"name": "main", "image": image}],
            "terminationGracePeriodSeconds": 30,
            **spec,
        },
    }


def new_config_map(name: str, *, owners: Sequence[dict[str, Any]] = (), **metadata: Any) -> Object:
    """A ConfigMap, with owners."""
    references = {"ownerReferences": list(owners)} if owners else {}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default", **references, **metadata},
    }


def new_service(name: str = "web", /, *, selector: dict[str, str] | None = None, **port: Any) -> Object:
    """A Service with one port, 80 unless port says otherwise."""
    spec: dict[str, Any] = {"ports": [{"port": 80, "protocol": "TCP", **port}]}
    if selector is not None:
        spec["selector"] = selector
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": "default"},
        "spec": spec,
    }
