"""Our client and the Foo controller under the sandbox's faults of single requests."""

from __future__ import annotations

import pytest

from handloop.testing.eventually import eventually as until
from handloop_sandbox.faults.injection import Injection
from support.servers.faulty_cluster import DEPLOYMENTS, FOOS, OURS, SECONDS, FaultyCluster, foo_process


def _is_available(cluster: FaultyCluster, name: str) -> bool:
    foo = cluster.list(FOOS)[name]
    return bool(foo.get("status", {}).get("availableReplicas") == foo["spec"]["replicas"])


_CONTROLLER_FAULTS = {
    "conflict on the child": lambda c: c.faults.conflict(resources=["deployments"], count=3, **OURS),
    "conflict on the status": lambda c: c.faults.conflict(resources=["foos/status"], count=3, **OURS),
    "stale cache": lambda c: c.faults.lag(**OURS),
    "lost create": lambda c: c.faults.lose_answer(resources=["deployments"], count=2, **OURS),
    "lost status": lambda c: c.faults.lose_answer(resources=["foos/status"], count=2, **OURS),
    "denied child": lambda c: c.faults.deny(verbs=["create"], resources=["deployments"], count=4, **OURS),
    "denied events": lambda c: c.faults.deny(resources=["events"], **OURS),
    "limited events": lambda c: c.faults.error(429, resources=["events"], **OURS),
    "silent create": lambda c: c.faults.silence(verbs=["create"], resources=["deployments"], count=1, **OURS),
    "failing writes": lambda c: c.faults.error(500, verbs=["create", "update", "patch"], count=5, **OURS),
}


@pytest.mark.parametrize("name", _CONTROLLER_FAULTS)
def test_the_controller_gets_there(cluster: FaultyCluster, name: str) -> None:
    """The fault is met, Foo and Deployment end in step, one of each."""
    with foo_process(cluster):
        injection: Injection = _CONTROLLER_FAULTS[name](cluster)
        foo = cluster.create_foo("web", replicas=1)
        if name == "stale cache":  # before its end nothing goes on
            until(lambda: injection.hits, "met", seconds=SECONDS)
            injection.clear()
        until(lambda: "web" in cluster.list(DEPLOYMENTS), "a child", seconds=SECONDS)
        cluster.change(FOOS, "web", {"spec": {"replicas": 2}})
        until(lambda: injection.hits, "met", seconds=SECONDS)
        until(lambda: _is_available(cluster, "web"), "available", seconds=SECONDS)
        deployments = cluster.list(DEPLOYMENTS)
        assert set(deployments) == {"web"}
        owners = deployments["web"]["metadata"]["ownerReferences"]
        assert [owner["uid"] for owner in owners] == [foo["metadata"]["uid"]]
