from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from support.cluster import (
    Cluster,
    Object,
    Objects,
    RealCluster,
    SandboxCluster,
    real_cluster,
    sandbox_cluster,
    usual_definition,
)
from support.deadline import until
from support.foo_story import events_of, wait_event, wait_gone
from support.myapp_story import MyApps, container_of, degraded, statuses
from support.myapp_truth import observing
from support.program import Program, Run
from support.resyncs import queued

ONLY = "--controllers=myapp"
RESYNCS = 100


@pytest.fixture(params=["sandbox", pytest.param("real", marks=pytest.mark.real)])
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Cluster]:
    """Each of the clusters, with the definition of MyApp."""
    if request.param == "real":
        with real_cluster(usual_definition()) as real:
            MyApps(real).install()
            yield real
        return
    with sandbox_cluster(tmp_path, definition=None) as sandbox:
        MyApps(sandbox).install()
        yield sandbox


@pytest.fixture
def myapps(cluster: Cluster) -> MyApps:
    """The MyApps of the test's namespace."""
    return MyApps(cluster)


def wait_started(program: Program) -> None:
    """Wait until its workers have started."""
    program.wait_line('"Starting workers" controller="myapp"')


def _gives_node_ports(cluster: Cluster) -> bool:
    """Whether a Service that becomes a NodePort gets one."""
    return isinstance(cluster, RealCluster)


def create_sources(cluster: Cluster) -> None:
    """A Secret s and a ConfigMap c with a key k each."""
    core = f"/api/v1/namespaces/{cluster.namespace}"
    cluster.create(f"{core}/secrets", {"metadata": {"name": "s"}, "stringData": {"k": "hush"}})
    cluster.create(f"{core}/configmaps", {"metadata": {"name": "c"}, "data": {"k": "v"}})


def is_a(spec: Object, service_type: str, cluster: Cluster) -> bool:
    """Whether a Service is of a type, and its port has a node port just where it may."""
    (port,) = spec["ports"]
    needs_one = service_type != "ClusterIP"
    fits = (
        "nodePort" in port
        if needs_one and _gives_node_ports(cluster)
        else needs_one or "nodePort" not in port
    )
    return spec["type"] == service_type and fits


def test_a_myapp_lives(cluster: Cluster, myapps: MyApps, run: Run) -> None:
    """Created, scaled, given another image, variables, types and an autoscaler, and deleted: always true."""
    create_sources(cluster)
    with run(ONLY) as program, observing(cluster, myapps) as observed:
        wait_started(program)
        myapps.create("web", replicas=2)
        myapps.wait_ready("web", 2)
        wait_event(cluster, "web", "DeploymentReady")
        myapps.change("web", replicas=4)
        myapps.wait_ready("web", 4)
        myapps.change("web", image="nginx:2")
        myapps.wait_ready("web", 4)
        change_variables(myapps)
        switch_types(cluster, myapps)
        switch_autoscaling(cluster, myapps)
        last = myapps.wait_ready("web", 4)
        assert observed.check(last["metadata"]["resourceVersion"]) >= 8
        cluster.delete(myapps.apps, "web")
        for collection in (myapps.apps, myapps.services, myapps.autoscalers, cluster.deployments):
            cluster.wait(collection, lambda found: "web" not in found, f"{collection} without web")
        wait_gone(cluster, cluster.replica_sets)
        assert program.stop() == 0
        assert not program.lines_with(r"^E\d{4} ")


def change_variables(myapps: MyApps) -> None:
    """From a Secret and a ConfigMap; then other variables, and other amounts."""
    env: list[Object] = [
        {"name": "SECRET", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
        {"name": "SETTING", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}}},
        {"name": "PLAIN", "value": "x"},
    ]
    myapps.change("web", env=env)
    deployment = myapps.wait_container("web", lambda container: container.get("env") == env, "variables")
    assert container_of(deployment)["image"] == "nginx:2"
    myapps.wait_ready("web", 4)
    resources = {"limits": {"memory": "0.5Gi"}}
    myapps.change("web", env=[env[2]], resources=resources)
    deployment = myapps.wait_container("web", lambda found: found.get("env") == [env[2]], "one variable")
    assert container_of(deployment)["resources"] == {"limits": {"memory": "512Mi"}}
    myapps.wait_ready("web", 4)


def switch_types(cluster: Cluster, myapps: MyApps) -> None:
    """Every type from every other; the address stays, a node port is there just where it may be."""
    address = cluster.get(myapps.services, "web")["spec"]["clusterIP"]
    for service_type in ("NodePort", "LoadBalancer", "NodePort", "ClusterIP", "LoadBalancer", "ClusterIP"):
        myapps.change("web", serviceType=service_type)
        is_so = partial(is_a, service_type=service_type, cluster=cluster)
        assert myapps.wait_service("web", is_so, f"a {service_type}")["clusterIP"] == address
    myapps.change("web", serviceType="NodePort")
    is_so = partial(is_a, service_type="NodePort", cluster=cluster)
    before = myapps.wait_service("web", is_so, "a NodePort")["ports"][0].get("nodePort")
    myapps.change("web", port=9090)
    after = myapps.wait_service("web", lambda spec: spec["ports"][0]["port"] == 9090, "port 9090")
    assert after["ports"][0].get("nodePort") == before
    myapps.wait_ready("web", 4)


def switch_autoscaling(cluster: Cluster, myapps: MyApps) -> None:
    """What the autoscaler sets stays, whatever else changes; off, the spec's number comes back."""
    myapps.change("web", autoScaling={"enabled": True, "minReplicas": 2, "maxReplicas": 9})
    cluster.wait(myapps.autoscalers, lambda found: "web" in found, "an autoscaler")
    myapps.scale("web", 6)
    myapps.wait_ready("web", 6)
    myapps.change("web", image="nginx:3", replicas=5)
    myapps.wait_ready("web", 6)
    myapps.change("web", autoScaling={"enabled": True, "minReplicas": 2, "maxReplicas": 8})
    cluster.wait(
        myapps.autoscalers, lambda found: found["web"]["spec"]["maxReplicas"] == 8, "another maximum"
    )
    assert cluster.get(cluster.deployments, "web")["spec"]["replicas"] == 6
    myapps.change("web", replicas=4, autoScaling=None)
    cluster.wait(myapps.autoscalers, lambda found: "web" not in found, "no autoscaler")
    myapps.wait_ready("web", 4)


def foreign_service(name: str) -> Object:
    """A Service of nobody."""
    return {"metadata": {"name": name}, "spec": {"selector": {"app": "theirs"}, "ports": [{"port": 1}]}}


def warnings_of(events: Objects, name: str) -> list[Any]:
    """How often each Warning on an object was told."""
    return [event.get("count") or 1 for event in events_of(events, name, "ReconcileError")]


def test_a_child_that_breaks_is_said_and_mended(cluster: Cluster, myapps: MyApps, run: Run) -> None:
    """Degraded with the server's reason, the other children as wanted; repaired, it recovers."""
    with run(ONLY) as program, observing(cluster, myapps) as observed:
        wait_started(program)
        myapps.create("web", replicas=2)
        myapps.wait_ready("web", 2)
        broken = {"limits": {"cpu": "1"}, "requests": {"cpu": "2"}}
        myapps.change("web", resources=broken, serviceType="NodePort")
        app = myapps.wait_degraded("web", "must be less than or equal to cpu limit")
        assert degraded(app["status"]).startswith("Deployment: ")
        assert statuses(app["status"])["Ready"] == "False"
        myapps.wait_service("web", lambda spec: spec["type"] == "NodePort", "a NodePort")
        wait_event(cluster, "web", "ReconcileError")
        myapps.change("web", resources=None)
        last = myapps.wait_ready("web", 2)
        wait_event(cluster, "web", "ReconcileSuccess")
        observed.check(last["metadata"]["resourceVersion"])


def failures(program: Program) -> float:
    """How many reconciles have failed."""
    page = program.page("metrics", "/metrics")[1]
    match = re.search(r"^controller_runtime_reconcile_errors_total{[^}]*} (\S+)$", page, re.MULTILINE)
    assert match, page
    return float(match[1])


def test_a_name_that_is_taken_is_left_alone(cluster: Cluster, myapps: MyApps, run: Run) -> None:
    """Somebody else's Service is never written, one Warning tells of it, and it is had once it is free."""
    before = cluster.create(myapps.services, foreign_service("web"))
    with run(ONLY) as program:
        wait_started(program)
        myapps.create("web", replicas=1)
        myapps.wait_degraded("web", 'Service "web" already exists and belongs to nobody')
        cluster.wait(
            cluster.deployments,
            lambda found: found["web"].get("status", {}).get("readyReplicas") == 1,
            "a Deployment all the same",
        )
        myapps.wait_status("web", lambda status: status["readyReplicas"] == 1, "counting")
        until(lambda: failures(program) >= 5, "retried", seconds=20.0)
        events = wait_event(cluster, "web", "ReconcileError")
        assert events["type"] == "Warning"
        assert warnings_of(cluster.list(cluster.events), "web") == [1]
        assert cluster.get(myapps.services, "web") == before
        cluster.delete(myapps.services, "web")
        myapps.wait_ready("web", 1)
        assert cluster.get(myapps.services, "web")["metadata"]["ownerReferences"][0]["name"] == "web"


def test_a_myapp_made_again_gets_children_of_its_own(cluster: Cluster, myapps: MyApps, run: Run) -> None:
    """Deleted and re-created under its name at once, it never adopts what its predecessor leaves."""
    with run(ONLY) as program:
        wait_started(program)
        myapps.create("web", replicas=2)
        myapps.wait_ready("web", 2)
        old = cluster.get(cluster.deployments, "web")["metadata"]["uid"]
        cluster.delete(myapps.apps, "web")
        uid = myapps.create("web", replicas=2)["metadata"]["uid"]
        myapps.wait_ready("web", 2)
        for collection in (cluster.deployments, myapps.services):
            metadata = cluster.get(collection, "web")["metadata"]
            assert [owner["uid"] for owner in metadata["ownerReferences"]] == [uid]
            assert metadata["uid"] != old


def versions(cluster: Cluster, myapps: MyApps) -> dict[str, dict[str, str]]:
    """The resource version of everything that the program may write."""
    collections = (myapps.apps, myapps.services, cluster.deployments, cluster.events)
    return {
        collection: {n: o["metadata"]["resourceVersion"] for n, o in cluster.list(collection).items()}
        for collection in collections
    }


def test_an_idle_myapp_is_not_written(cluster: Cluster, myapps: MyApps, run: Run) -> None:
    """A hundred resyncs after the last change there has been no write: no status, no child, no event."""
    with run(ONLY, "--resync=1s") as program:
        wait_started(program)
        names = [f"web-{number}" for number in range(10)]
        for name in names:
            myapps.create(name, env=[{"name": "A", "value": "x"}], resources={"limits": {"cpu": "1000m"}})
        for name in names:
            myapps.wait_ready(name, 1)
            wait_event(cluster, name, "DeploymentReady")
        begin = queued(program, "myapp")
        until(lambda: queued(program, "myapp") >= begin + 10, "resynced", seconds=20.0)
        before = versions(cluster, myapps)
        writes = cluster.trace.writes() if isinstance(cluster, SandboxCluster) else 0
        begin = queued(program, "myapp")
        until(lambda: queued(program, "myapp") >= begin + RESYNCS, "resynced", seconds=60.0)
        assert versions(cluster, myapps) == before
        if isinstance(cluster, SandboxCluster):
            assert cluster.trace.writes() == writes
            assert writes >= 4 * len(names)
