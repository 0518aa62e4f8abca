"""The life of MyApps, as a service account that may do what `manifests rbac` prints, and no more."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from handloop.apis.apps_v1 import Deployment
from handloop.apis.autoscaling_v2 import HorizontalPodAutoscaler
from handloop.apis.meta import Kind
from handloop.controller.myapp.reconciler import NAME as FIELD_MANAGER
from handloop.testing.eventually import eventually as until
from support.checks.myapp_truth import observing
from support.checks.resyncs import assert_idle
from support.rigs.foo_story import events_of, wait_event, wait_gone
from support.rigs.myapp_scenes import CHILDREN, somebodys
from support.rigs.myapp_story import MyApps, container_of, degraded, statuses
from support.rigs.program import Program, Run
from support.servers.cluster import Cluster, Object, Objects, RealCluster
from support.servers.service_account import service_account

ONLY = "--controllers=myapp"
RESYNCS = 100

Operate = Callable[..., AbstractContextManager[Program]]


@pytest.fixture
def myapps(cluster: Cluster) -> MyApps:
    """The MyApps of the test's namespace, with their definition."""
    apps = MyApps(cluster)
    apps.install()
    return apps


@pytest.fixture
def operate(myapps: MyApps, run: Run, tmp_path: Path) -> Iterator[Operate]:
    """Start the program under its account; workers are up, nothing is refused, and it ends in order."""
    cluster = myapps.cluster
    flags = [ONLY, *(["--namespace", cluster.namespace] if isinstance(cluster, RealCluster) else [])]

    @contextmanager
    def start(*arguments: str) -> Iterator[Program]:
        with run(*flags, *arguments, kubeconfig=kubeconfig) as program:
            program.wait_line('"Starting workers" controller="myapp"')
            yield program
            assert 'code="403"' not in program.page("metrics", "/metrics")[1]
            assert program.stop() == 0

    with service_account(cluster, tmp_path, *flags) as kubeconfig:
        yield start


def create_sources(cluster: Cluster) -> None:
    """A Secret s and a ConfigMap c with a key k each."""
    core = f"/api/v1/namespaces/{cluster.namespace}"
    cluster.create(f"{core}/secrets", {"metadata": {"name": "s"}, "stringData": {"k": "hush"}})
    cluster.create(f"{core}/configmaps", {"metadata": {"name": "c"}, "data": {"k": "v"}})


def is_a(spec: Object, service_type: str) -> bool:
    """Whether a Service is of a type, and its port has a node port just where it may."""
    (port,) = spec["ports"]
    return spec["type"] == service_type and ("nodePort" in port) == (service_type != "ClusterIP")


def test_a_myapp_lives(cluster: Cluster, myapps: MyApps, operate: Operate) -> None:
    """Created, scaled, given another image, variables, types and an autoscaler, and deleted: always true."""
    create_sources(cluster)
    with operate() as program, observing(cluster, myapps) as observed:
        myapps.create("web", replicas=2)
        myapps.wait_ready("web", 2)
        wait_event(cluster, "web", "DeploymentReady")
        # as `kubectl scale` does
        cluster.change(f"{myapps.apps}/web", "scale", {"spec": {"replicas": 4}})
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
        # a child's end may be seen before that of its owner: the create that this leads to is held back
        held_back = program.lines_with("is gone from the server, or going: waiting for the cache")
        assert set(program.lines_with(r"^E\d{4} ")) <= set(held_back)


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
    """Every type from every other; the address stays, and so does a node port for as long as it may."""
    address, before = cluster.get(myapps.services, "web")["spec"]["clusterIP"], None
    for service_type in ("NodePort", "LoadBalancer", "NodePort", "ClusterIP", "LoadBalancer", "ClusterIP"):
        myapps.change("web", serviceType=service_type)
        spec = myapps.wait_service("web", partial(is_a, service_type=service_type), f"a {service_type}")
        node_port = spec["ports"][0].get("nodePort")
        assert spec["clusterIP"] == address
        assert None in (before, node_port) or node_port == before
        before = node_port
    myapps.change("web", serviceType="NodePort")
    spec = myapps.wait_service("web", partial(is_a, service_type="NodePort"), "a NodePort")
    myapps.change("web", port=9090)
    after = myapps.wait_service("web", lambda spec: spec["ports"][0]["port"] == 9090, "port 9090")
    assert after["ports"][0]["nodePort"] == spec["ports"][0]["nodePort"]
    assert after["clusterIP"] == address
    myapps.wait_ready("web", 4)


def switch_autoscaling(cluster: Cluster, myapps: MyApps) -> None:
    """The autoscaler's number stays, after any other change; off, the spec's number comes back."""
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


def warnings_of(events: Objects, name: str) -> list[Any]:
    """The count of each Warning on an object."""
    return [event.get("count") or 1 for event in events_of(events, name, "ReconcileError")]


def test_a_child_that_breaks_is_reported_and_mended(
    cluster: Cluster, myapps: MyApps, operate: Operate
) -> None:
    """Degraded with the server's reason, the other children as wanted; repaired, it recovers."""
    with operate(), observing(cluster, myapps) as observed:
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


def what_is_theirs(obj: Object) -> Object:
    """The parts of an object that only its maker may change, and its writers."""
    metadata = obj["metadata"]
    return {
        "spec": obj["spec"],
        "metadata": {name: metadata.get(name) for name in ("uid", "labels", "ownerReferences")},
        "written by us": any(e.get("manager") == FIELD_MANAGER for e in metadata["managedFields"]),
    }


@pytest.mark.parametrize("kind", CHILDREN)
def test_a_name_that_is_taken_is_left_alone(
    cluster: Cluster, myapps: MyApps, operate: Operate, kind: type[Kind]
) -> None:
    """A foreign object is never written, one Warning reports it; once free, the name is had."""
    collections = {each: each.resource.path(namespace=cluster.namespace) for each in CHILDREN}
    theirs = collections.pop(kind)
    if kind is Deployment:
        # an autoscaler would scale the Deployment of that name, whosever it is
        del collections[HorizontalPodAutoscaler]
    before = cluster.create(theirs, somebodys(kind, name="web"))
    with operate() as program, observing(cluster, myapps) as observed:
        myapps.create("web", replicas=1, autoScaling={"enabled": True, "maxReplicas": 3})
        app = myapps.wait_degraded("web", f'{kind.resource.kind} "web" already exists and has no owner')
        for collection in collections.values():
            found = cluster.wait(collection, lambda objects: "web" in objects, f"{collection}/web")
            assert [owner["uid"] for owner in found["web"]["metadata"]["ownerReferences"]] == [
                app["metadata"]["uid"]
            ]
        until(lambda: failures(program) >= 5, "retried", seconds=cluster.seconds)
        event = wait_event(cluster, "web", "ReconcileError")
        assert event["type"] == "Warning"
        assert warnings_of(cluster.list(cluster.events), "web") == [1]
        assert what_is_theirs(cluster.get(theirs, "web")) == what_is_theirs(before)
        assert kind is not Deployment or not cluster.list(myapps.autoscalers)
        cluster.delete(theirs, "web")
        last = myapps.wait_ready("web", 1)
        assert cluster.get(theirs, "web")["metadata"]["ownerReferences"][0]["name"] == "web"
        wait_event(cluster, "web", "ReconcileSuccess")
        observed.check(last["metadata"]["resourceVersion"])


def test_a_myapp_made_again_gets_children_of_its_own(
    cluster: Cluster, myapps: MyApps, operate: Operate
) -> None:
    """Deleted and re-created under its name at once, it never adopts what its predecessor leaves."""
    with operate(), observing(cluster, myapps) as observed:
        myapps.create("web", replicas=2)
        myapps.wait_ready("web", 2)
        old = cluster.get(cluster.deployments, "web")["metadata"]["uid"]
        cluster.delete(myapps.apps, "web")
        uid = myapps.create("web", replicas=2)["metadata"]["uid"]
        last = myapps.wait_ready("web", 2)
        for collection in (cluster.deployments, myapps.services):
            metadata = cluster.get(collection, "web")["metadata"]
            assert [owner["uid"] for owner in metadata["ownerReferences"]] == [uid]
            assert metadata["uid"] != old
        observed.check(last["metadata"]["resourceVersion"])


def is_done_for(app: Object) -> bool:
    """Whether a MyApp's status shows that it is being deleted, and that nothing of it runs any more."""
    status = app["status"]
    reasons = {condition["type"]: condition["reason"] for condition in status["conditions"]}
    return reasons["Ready"] == "Deleting" and not status.get("readyReplicas", 0)


def test_a_myapp_with_a_foreign_finalizer_shows_that_it_goes(
    cluster: Cluster, myapps: MyApps, operate: Operate
) -> None:
    """Deleted in the foreground and held by a finalizer, it is not Ready when its children have gone."""
    with operate(), observing(cluster, myapps) as observed:
        myapps.create("web", replicas=2)
        myapps.wait_ready("web", 2)
        cluster.change(myapps.apps, "web", {"metadata": {"finalizers": ["example.com/hold"]}})
        cluster.call("DELETE", f"{myapps.apps}/web", {"propagationPolicy": "Foreground"})
        for collection in (myapps.services, cluster.deployments):
            cluster.wait(collection, lambda found: "web" not in found, f"{collection} without web")
        cluster.wait(myapps.apps, lambda found: is_done_for(found["web"]), "a MyApp that says so")
        held = cluster.get(myapps.apps, "web")
        assert set(statuses(held["status"]).values()) == {"False"}
        observed.check(held["metadata"]["resourceVersion"])
        cluster.change(myapps.apps, "web", {"metadata": {"finalizers": None}})
        cluster.wait(myapps.apps, lambda found: "web" not in found, "no MyApp")


def test_an_idle_myapp_is_not_written(cluster: Cluster, myapps: MyApps, operate: Operate) -> None:
    """A hundred resyncs after the last change there has been no write: no status, no child, no event."""
    with operate("--resync=1s") as program:
        names = [f"web-{number}" for number in range(10)]
        for name in names:
            myapps.create(name, env=[{"name": "A", "value": "x"}], resources={"limits": {"cpu": "1000m"}})
        for name in names:
            myapps.wait_ready(name, 1)
            wait_event(cluster, name, "DeploymentReady")
        collections = (myapps.apps, myapps.services, cluster.deployments)
        written = assert_idle(program, cluster, *collections, name="myapp", resyncs=RESYNCS)
        assert isinstance(cluster, RealCluster) or written.writes >= 4 * len(names)
