"""
The Memcached of examples/memcached on kopf, written as kopf's documentation recommends.

    kopf run benchmarks/peers/kopf_memcached.py --standalone --namespace NAMESPACE

Handlers react to changes of a Memcached. Its children are cached in indices, and a timer compares them with
the Memcached: https://docs.kopf.dev/en/stable/reconciliation/. A foreign Deployment is not changed. Settings
are kopf's defaults. Handlers run in kopf's thread pool and write with the official client.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import Any

import kopf
from kubernetes import client, config

KIND = ("cache.example.com", "v1", "memcacheds")
NAME = "cache.example.com/memcached"
INTERVAL_SECONDS = 10.0
DELAY_SECONDS = 1.0
"""Prevents the timer's first round from creating the same objects as the creation handler."""

config.load_kube_config(os.environ["KUBECONFIG"])
apps = client.AppsV1Api()


class NameTakenError(kopf.TemporaryError):  # type: ignore[misc] # kopf is not looked into
    """A foreign Deployment has the name."""


@kopf.index("pods", labels={NAME: kopf.PRESENT})  # type: ignore[untyped-decorator] # the same
def nodes(namespace: str, name: str, labels: Any, **_: Any) -> dict[tuple[str, str], str]:
    """Index the Pods of each Memcached, by its name."""
    return {(namespace, labels[NAME]): name}


@kopf.index("apps", "v1", "deployments")  # type: ignore[untyped-decorator] # the same
def deployments(namespace: str, name: str, body: kopf.Body, **_: Any) -> dict[tuple[str, str], Any]:
    """Index every Deployment by its name, because a foreign one may have the name that we need."""
    return {(namespace, name): body}


@kopf.on.create(*KIND)  # type: ignore[untyped-decorator] # the same
@kopf.on.resume(*KIND)  # type: ignore[untyped-decorator] # the same
@kopf.on.update(*KIND, field="spec.size")  # type: ignore[untyped-decorator] # the same
def changed(body: kopf.Body, deployments: kopf.Index, **_: Any) -> None:
    """Handle a Memcached that is new, has another size, or existed when the operator started."""
    ensure(body, deployments)


@kopf.timer(*KIND, interval=INTERVAL_SECONDS, initial_delay=DELAY_SECONDS)  # type: ignore[untyped-decorator] # the same
def compare(body: kopf.Body, patch: kopf.Patch, nodes: kopf.Index, deployments: kopf.Index, **_: Any) -> None:
    """Repair the Deployment, and write the status if it is out of date."""
    key, size = (body.metadata.namespace, body.metadata.name), body.spec["size"]
    try:
        ensure(body, deployments)
    except NameTakenError as error:
        tell(body, patch, nodes, "NameTaken", str(error))
        raise
    there = next(iter(deployments.get(key, ())), None)
    ready = there.get("status", {}).get("availableReplicas", 0) if there else 0
    tell(body, patch, nodes, "Ready" if ready == size else "Waiting", f"{ready} of {size} nodes available")


@kopf.on.delete(*KIND)  # type: ignore[untyped-decorator] # the same
def deleted(body: kopf.Body, deployments: kopf.Index, **_: Any) -> None:
    """Let a Memcached go after its nodes."""
    name, namespace = body.metadata.name, body.metadata.namespace
    there = next(iter(deployments.get((namespace, name), ())), None)
    if there is None or not is_controlled_by(there, body):
        return
    if there.metadata.get("deletionTimestamp") is None:
        options = {"preconditions": {"uid": there.metadata["uid"]}, "propagationPolicy": "Foreground"}
        apps.delete_namespaced_deployment(name, namespace, body=options)
    raise kopf.TemporaryError("its nodes are still there", delay=1)


def ensure(body: kopf.Body, deployments: kopf.Index) -> None:
    """Create the Deployment, or scale it."""
    name, namespace, size = body.metadata.name, body.metadata.namespace, body.spec["size"]
    there = next(iter(deployments.get((namespace, name), ())), None)
    if there is None:
        wanted = new_deployment(name, size)
        kopf.adopt(wanted, owner=body)
        try:
            apps.create_namespaced_deployment(namespace, wanted)
        except client.ApiException as error:
            if error.status != 409:
                raise
            raise kopf.TemporaryError("the index is behind", delay=1) from error
    elif not is_controlled_by(there, body):
        raise NameTakenError(f"Deployment {name} is not ours", delay=INTERVAL_SECONDS)
    elif there.spec["replicas"] != size:
        apps.patch_namespaced_deployment(name, namespace, {"spec": {"replicas": size}})


def is_controlled_by(obj: kopf.Body, owner: kopf.Body) -> bool:
    """Return whether an object's controller is that owner."""
    references = obj.metadata.get("ownerReferences", ())
    return any(each.get("controller") and each["uid"] == owner.metadata.uid for each in references)


def new_deployment(name: str, size: int) -> dict[str, Any]:
    """The Deployment of a Memcached."""
    container = {
        "name": "memcached",
        "image": "memcached:1.6",
        "command": ["memcached", "-m=64", "-o", "modern", "-v"],
        "ports": [{"name": "memcached", "containerPort": 11211}],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": size,
            "selector": {"matchLabels": {NAME: name}},
            "template": {"metadata": {"labels": {NAME: name}}, "spec": {"containers": [container]}},
        },
    }


def tell(body: kopf.Body, patch: kopf.Patch, nodes: kopf.Index, reason: str, message: str) -> None:
    """Write the status if it differs."""
    names = sorted(nodes.get((body.metadata.namespace, body.metadata.name), ()))
    wanted = {
        "type": "Available",
        "status": "True" if reason == "Ready" else "False",
        "reason": reason,
        "message": message,
    }
    before: dict[str, Any] = next(iter(body.status.get("conditions", ())), {})
    if body.status.get("nodes", []) == names and wanted.items() <= before.items():
        return
    since = before.get("lastTransitionTime") if before.get("status") == wanted["status"] else None
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    patch.status["nodes"] = names
    patch.status["conditions"] = [wanted | {"lastTransitionTime": since or now}]
