"""The MyApp controller on a sandbox: what it writes, and what it leaves alone."""

from __future__ import annotations

import pytest

from handloop.apis.apps_v1 import Deployment
from handloop.apis.autoscaling_v2 import HorizontalPodAutoscaler
from handloop.apis.core_v1 import Service
from handloop.apis.crd import custom_resource_definition
from handloop.apis.meta import Kind
from handloop.client.errors import NotFound
from handloop.controller.myapp.reconciler import reconcile
from handloop.controller.myapp.types import MyApp
from handloop.controller.runtime.reconcile import ReconcileError
from handloop.informers.keys import ObjectName
from support.rigs.myapp_rig import NAMESPACE, MyAppRig, NotedWrites, Object
from support.rigs.myapp_scenes import (
    CHILDREN,
    FULL,
    READY,
    SCALING,
    container_of,
    settled,
)


def test_a_myapp_gets_its_children() -> None:
    """Deployment, Service and, with autoscaling, an autoscaler: as specified, labelled, owned by UID."""
    rig = settled(port=9090, **FULL)
    app = rig.raw(MyApp)
    labels = {
        "app.kubernetes.io/name": "myapp",
        "app.kubernetes.io/instance": "a",
        "app.kubernetes.io/managed-by": "myapp-operator",
    }
    owner = {
        "apiVersion": "example.com/v1",
        "kind": "MyApp",
        "name": "a",
        "uid": app["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    for kind in CHILDREN:
        metadata = rig.raw(kind)["metadata"]
        assert (metadata["labels"], metadata["ownerReferences"]) == (labels, [owner])
    deployment = rig.raw(Deployment)
    assert deployment["spec"]["selector"] == {"matchLabels": labels}
    assert deployment["spec"]["template"]["metadata"]["labels"] == labels
    container = container_of(deployment)
    assert (container["name"], container["image"]) == ("app", "nginx:1")
    assert container["ports"] == [{"name": "http", "containerPort": 9090, "protocol": "TCP"}]
    assert [{"value": ""} | variable for variable in container["env"]] == [
        {"value": ""} | variable for variable in FULL["env"]
    ]
    assert container["resources"] == {
        "requests": {"cpu": "100m", "memory": "512Mi"},
        "limits": {"cpu": "1", "memory": "1Gi"},
    }
    service = rig.raw(Service)["spec"]
    assert (service["type"], service["selector"]) == ("NodePort", labels)
    assert (service["ports"][0]["port"], service["ports"][0]["targetPort"]) == (9090, "http")
    autoscaler = rig.raw(HorizontalPodAutoscaler)["spec"]
    assert autoscaler["scaleTargetRef"] == {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"}
    assert (autoscaler["minReplicas"], autoscaler["maxReplicas"]) == (2, 6)
    (metric,) = autoscaler["metrics"]
    assert metric["resource"] == {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}


def test_first_sight_is_progress() -> None:
    """The first status has Progressing=True/Reconciling with the count, and neither Ready nor Degraded."""
    rig = MyAppRig()
    rig.create_app()
    assert rig.sync() is None
    assert rig.conditions() == {
        "Ready": ("False", "Reconciling"),
        "Progressing": ("True", "Reconciling"),
        "Degraded": ("False", "Reconciling"),
    }
    assert rig.message("Progressing").startswith("Ready replicas: 0/2")


def test_a_myapp_that_is_up_reports_it_and_is_looked_at_again() -> None:
    """Counts, generation, selector and conditions are those of the Deployment; the safety net is 30 s."""
    rig = settled()
    status = rig.raw(MyApp)["status"]
    assert (status["readyReplicas"], status["availableReplicas"], status["observedGeneration"]) == (2, 2, 1)
    assert status["selector"] == (
        "app.kubernetes.io/instance=a,app.kubernetes.io/managed-by=myapp-operator,app.kubernetes.io/name=myapp"
    )
    assert rig.conditions() == READY
    result = rig.reconcile()
    assert result is not None
    assert result.requeue_after == 30


def test_at_first_sight_it_is_progressing() -> None:
    """The first sync makes the children and reports it; nothing is ready yet, and nothing is wrong."""
    rig = MyAppRig()
    rig.create_app()
    assert rig.sync() is None
    assert rig.writes_since(0) == [
        ("PATCH", "deployments/a"),
        ("PATCH", "deployments/a"),
        ("PATCH", "services/a"),
        ("PATCH", "myapps/a/status"),
    ]
    assert rig.conditions() == {
        "Ready": ("False", "Reconciling"),
        "Progressing": ("True", "Reconciling"),
        "Degraded": ("False", "Reconciling"),
    }
    assert rig.message("Progressing") == "Ready replicas: 0/2, about to change"


@pytest.mark.parametrize(
    ("fields", "targets"),
    [
        ({"image": "nginx:2"}, ["deployments/a"]),
        ({"replicas": 3}, ["deployments/a"]),
        ({"port": 9090}, ["deployments/a", "services/a"]),
        ({"env": [{"name": "PLAIN", "value": "y"}]}, ["deployments/a"]),
        ({"resources": {"limits": {"cpu": "2"}}}, ["deployments/a"]),
        ({"serviceType": "LoadBalancer"}, ["services/a"]),
    ],
)
def test_a_change_is_carried_to_the_children_it_is_about(fields: Object, targets: list[str]) -> None:
    """One patch of each child that differs, no other write but the status, and then peace."""
    rig = settled()
    begin = len(rig.transport.writes)
    rig.set_spec(**fields)
    rig.settle()
    written = rig.writes_since(begin)
    assert [target for _, target in written if target != "myapps/a/status"] == targets
    assert {method for method, _ in written} == {"PATCH"}
    assert rig.conditions() == READY


def test_children_that_were_changed_or_deleted_come_back() -> None:
    """The next sync mends any change of a MyApp's children."""
    rig = settled(**FULL)
    before = {kind: rig.raw(kind)["spec"] for kind in CHILDREN}
    container = {"name": "app", "image": "other:1", "resources": {"limits": {"cpu": "3"}}}
    template = {
        "metadata": {"labels": {"app.kubernetes.io/name": "myapp"}},
        "spec": {"containers": [container]},
    }
    rig.strategic(Deployment, {"spec": {"template": template}})
    rig.change(Service, {"spec": {"selector": {"app.kubernetes.io/name": "x", "more": "y"}}})
    rig.change(HorizontalPodAutoscaler, {"spec": {"maxReplicas": 50}})
    rig.settle()
    for kind in CHILDREN[1:]:
        assert rig.raw(kind)["spec"] == before[kind]
    assert container_of(rig.raw(Deployment)) == before[Deployment]["template"]["spec"]["containers"][0]
    for kind in CHILDREN:
        rig.delete(kind)
    rig.settle()
    assert all(rig.exists(kind) for kind in CHILDREN)
    assert rig.conditions() == READY


def test_what_others_add_is_left_alone() -> None:
    """Further containers, ports, labels and annotations of the children belong to others."""
    rig = settled(serviceType="NodePort")
    template = {
        "metadata": {"annotations": {"restarted": "now"}},
        "spec": {"containers": [{"name": "sidecar", "image": "side:1"}]},
    }
    rig.strategic(Deployment, {"metadata": {"labels": {"team": "x"}}, "spec": {"template": template}})
    rig.strategic(
        Service, {"spec": {"ports": [{"name": "metrics", "port": 9100}], "sessionAffinity": "ClientIP"}}
    )
    begin = len(rig.transport.writes)
    rig.settle()
    assert {target for _, target in rig.writes_since(begin)} <= {"myapps/a/status"}
    rig.set_spec(image="nginx:2", port=8081)
    rig.settle()
    containers = rig.raw(Deployment)["spec"]["template"]["spec"]["containers"]
    assert {each["name"]: each["image"] for each in containers} == {"app": "nginx:2", "sidecar": "side:1"}
    service = rig.raw(Service)["spec"]
    assert {port["name"]: port["port"] for port in service["ports"]} == {"http": 8081, "metrics": 9100}
    assert service["sessionAffinity"] == "ClientIP"


def test_foreign_ports_of_our_number_stay() -> None:
    """A port is a number of a protocol: a UDP port listed before ours outlives corrections and moves."""
    rig = settled(serviceType="NodePort")
    http: Object = {"name": "http", "port": 8080, "targetPort": "wrong"}
    rig.change(
        Service,
        {"spec": {"ports": [{"name": "h3", "port": 8080, "protocol": "UDP", "targetPort": 8443}, http]}},
    )
    node_ports = [port["nodePort"] for port in rig.raw(Service)["spec"]["ports"]]
    dns = {"name": "dns", "containerPort": 8080, "protocol": "UDP", "hostPort": 53}
    container = {"ports": [{"$patch": "replace"}, dns, {"name": "web", "containerPort": 8080}], "name": "app"}
    rig.strategic(Deployment, {"spec": {"template": {"spec": {"containers": [container]}}}})
    theirs = {
        "name": "h3",
        "port": 8080,
        "protocol": "UDP",
        "targetPort": 8443,
        "nodePort": node_ports[0],
    }

    def ours(number: int) -> Object:
        return {"name": "http", "port": number, "protocol": "TCP", "targetPort": "http"}

    for number in (8080, 9090):
        rig.set_spec(port=number)
        rig.settle()
        assert rig.raw(Service)["spec"]["ports"] == [theirs, {**ours(number), "nodePort": node_ports[1]}]
        assert container_of(rig.raw(Deployment))["ports"] == [
            dns,
            {"name": "http", "containerPort": number, "protocol": "TCP"},
        ]
    rig.set_spec(serviceType="ClusterIP")
    rig.settle()
    del theirs["nodePort"]
    assert rig.raw(Service)["spec"]["ports"] == [theirs, ours(9090)]
    assert rig.conditions() == READY


def test_a_port_that_somebody_moved_comes_back() -> None:
    """With its node port, and what stands beside it; the number of another port is no reason to move ours."""
    rig = settled(serviceType="NodePort")
    theirs = {"name": "metrics", "port": 9100}
    rig.strategic(Service, {"spec": {"ports": [theirs]}})
    rig.settle()
    before = {port["name"]: port for port in rig.raw(Service)["spec"]["ports"]}
    rig.change(Service, {"spec": {"ports": [before["metrics"], {**before["http"], "port": 80}]}})
    container = container_of(rig.raw(Deployment))
    path = "/spec/template/spec/containers/0/ports/0/containerPort"
    move = {"op": "replace", "path": path, "value": 80}
    where = Deployment.resource.path(namespace=NAMESPACE, name="a")
    rig.call("PATCH", where, [move], "application/json-patch+json")
    rig.settle()
    assert {port["name"]: port for port in rig.raw(Service)["spec"]["ports"]} == before
    assert container_of(rig.raw(Deployment)) == container
    assert rig.conditions() == READY
    assert not [event for event in rig.events() if event.startswith("Warning")]


def test_a_container_that_was_renamed_comes_back() -> None:
    """With its variables and its port, beside the container that was renamed."""
    rig = settled(**FULL)
    before = container_of(rig.raw(Deployment))
    path = Deployment.resource.path(namespace=NAMESPACE, name="a")
    rename = {"op": "replace", "path": "/spec/template/spec/containers/0/name", "value": "web"}
    rig.call("PATCH", path, [rename], "application/json-patch+json")
    rig.settle()
    containers = rig.raw(Deployment)["spec"]["template"]["spec"]["containers"]
    assert {each["name"]: each for each in containers} == {"app": before, "web": {**before, "name": "web"}}
    assert rig.conditions() == READY


@pytest.mark.parametrize("amount", ["500u", "0.0005", "1e-9", "1.0001Ki", "8Ei", "1e19", "1000E", "00012"])
def test_amounts_that_the_server_rounds_are_no_difference(amount: str) -> None:
    """It keeps thousandths, and as much as an int64 holds: its rounded amount is the wanted one."""
    rig = settled(replicas=1, resources={"limits": {"memory": amount}, "requests": {"cpu": amount}})
    patched = [write.target for write in rig.transport.writes if write.method == "PATCH"]
    assert [target for target in patched if target != "myapps/a/status"] == ["deployments/a", "services/a"]


def test_a_service_that_the_server_finds_invalid_is_reported() -> None:
    """Where the ports are not the reason, there is nothing to correct."""
    rig = settled(**FULL)
    rig.transport.refuse = lambda write: (422, "Invalid", "no") if write.target == "services/a" else None
    rig.set_spec(serviceType="LoadBalancer")
    begin = len(rig.transport.writes)
    assert isinstance(rig.sync(), ReconcileError)
    assert [target for _, target in rig.writes_since(begin)].count("services/a") == 1
    assert rig.message("Degraded") == "Service: patch services default/a: no (422 Invalid)"


@pytest.mark.parametrize("broken", CHILDREN)
def test_a_step_that_fails_stops_no_other(broken: type[Kind]) -> None:
    """Degraded with the message and one Warning; the others are brought up to date; repaired, it recovers."""
    rig = settled(**FULL)
    plural = broken.resource.plural
    rig.transport.refuse = lambda write: (403, "Forbidden", "no") if write.target == f"{plural}/a" else None
    rig.set_spec(image="nginx:2", port=9090, autoScaling={**SCALING, "maxReplicas": 9})
    for _ in range(3):
        assert isinstance(rig.sync(), ReconcileError)
        rig.pass_time(5)
    assert rig.conditions()["Degraded"] == ("True", "ReconcileError")
    assert rig.conditions()["Ready"] == ("False", "ReconcileError")
    assert (
        rig.message("Degraded")
        == f"{broken.resource.kind}: patch {broken.resource.group_resource} default/a: no (403 Forbidden)"
    )
    warnings = [event for event in rig.events() if event.startswith("Warning")]
    assert warnings == [f"Warning ReconcileError {rig.message('Degraded')}"]
    done = {
        Deployment: container_of(rig.raw(Deployment))["image"] == "nginx:2",
        Service: rig.raw(Service)["spec"]["ports"][0]["port"] == 9090,
        HorizontalPodAutoscaler: rig.raw(HorizontalPodAutoscaler)["spec"]["maxReplicas"] == 9,
    }
    assert done == {kind: kind is not broken for kind in CHILDREN}
    rig.transport.refuse = lambda _write: None
    rig.settle()
    assert rig.conditions() == READY
    assert "Normal ReconcileSuccess No step fails any more" in rig.events()


@pytest.mark.parametrize("kind", CHILDREN)
def test_a_child_deleted_unseen_is_no_failure(kind: type[Kind]) -> None:
    """A correction that comes too late is the creation of another: nothing is Degraded."""
    rig = settled(**FULL)
    rig.set_spec(image="nginx:2", port=9090, autoScaling={**SCALING, "maxReplicas": 9})
    rig.sync_caches()
    rig.delete(kind)
    rig.reconcile()
    assert rig.conditions()["Degraded"] == ("False", "Reconciling")
    assert rig.exists(kind)
    assert rig.raw(Deployment)["spec"]["replicas"] == 2
    rig.settle()
    assert rig.conditions() == READY
    assert not [event for event in rig.events() if event.startswith("Warning")]


def test_every_write_is_reported() -> None:
    """Children and status alike: the next reconcile waits until the cache has them."""
    told = NotedWrites()
    rig = MyAppRig()
    rig.create_app(autoScaling=SCALING)
    rig.sync_caches()
    context = rig.context(writes=told)
    reconcile(ObjectName(NAMESPACE, "a"), context)
    deployment, service, autoscaler = (("patch", kind.resource.group_resource) for kind in CHILDREN)
    status = ("patch", MyApp.resource.group_resource)
    # the replicas of a new Deployment are a request of their own
    assert told.noted == [deployment, deployment, service, autoscaler, status]


@pytest.mark.parametrize("differs", [False, True], ids=["as wanted", "not as wanted"])
@pytest.mark.parametrize("kind", CHILDREN)
def test_a_child_that_is_being_deleted_is_not_ready(kind: type[Kind], differs: bool) -> None:
    """
    Held by a finalizer, it is neither written nor relied on: it goes, and Ready waits for its successor.

    The cloud may take a Service's balancer away as soon as the deletion begins.
    """
    rig = settled(**FULL)
    rig.change(kind, {"metadata": {"finalizers": ["example.com/wait"]}})
    rig.delete(kind)
    if differs:
        rig.set_spec(image="nginx:2", port=9090, autoScaling={**SCALING, "maxReplicas": 9})
    begin = len(rig.transport.writes)
    assert rig.sync() is None
    rig.pass_time(60)
    assert rig.sync() is None
    assert rig.conditions()["Ready"] == ("False", "Reconciling")
    assert rig.conditions()["Progressing"] == ("True", "Reconciling")
    assert f'{kind.resource.kind} "a" is not gone yet' in rig.message("Ready")
    assert f"{kind.resource.plural}/a" not in {target for _, target in rig.writes_since(begin)}
    rig.change(kind, {"metadata": {"finalizers": None}})
    rig.settle()
    assert rig.conditions() == READY
    assert not [event for event in rig.events() if event.startswith("Warning")]


def test_a_myapp_deleted_unseen_is_waited_for() -> None:
    """Its status cannot be written: the next reconcile comes when the cache knows, and finds nothing."""
    rig = settled()
    rig.set_spec(replicas=3)
    rig.sync_caches()
    rig.delete(MyApp)
    told = NotedWrites()
    context = rig.context(writes=told)
    with pytest.raises(NotFound):
        reconcile(ObjectName(NAMESPACE, "a"), context)
    assert told.gone == rig.caches[MyApp].list()
    assert rig.sync() is None
    assert rig.events() == []


def test_a_definition_without_the_status_subresource_is_an_error() -> None:
    """The server's answer is the same: it must not be taken for a MyApp that is gone."""
    definition = custom_resource_definition(MyApp)
    del definition["spec"]["versions"][0]["subresources"]["status"]
    rig = MyAppRig(definition=definition)
    rig.create_app()
    for _ in range(2):
        error = rig.sync()
        assert isinstance(error, ReconcileError)
        assert "the server has no status subresource" in str(error)
