"""The MyApp controller on a sandbox: what it writes, what it leaves alone, and a test for each known trap."""

from __future__ import annotations

from typing import Any

import pytest

from apis.apps_v1 import Deployment
from apis.autoscaling_v2 import HorizontalPodAutoscaler
from apis.core_v1 import Service
from apis.crd import custom_resource_definition
from apis.example_v1 import MyApp
from apis.meta import Kind
from client.errors import AlreadyExists, Conflict
from controller.myapp import LOOK_AGAIN_SECONDS, namesakes
from controller.runtime.reconcile import DONE, ReconcileError, TerminalError
from informers.keys import ObjectName
from support.myapp_rig import NAMESPACE, MyAppRig, Object, Write

APPS = 50
RESYNCS = 100
CHILDREN: tuple[type[Kind], ...] = (Deployment, Service, HorizontalPodAutoscaler)
SCALING = {"enabled": True, "minReplicas": 2, "maxReplicas": 6}
READY = {
    "Ready": ("True", "DeploymentReady"),
    "Progressing": ("False", "ReconcileSuccess"),
    "Degraded": ("False", "ReconcileSuccess"),
}
FULL: Object = {
    "env": [
        {"name": "PLAIN", "value": "x"},
        {"name": "EMPTY"},
        {"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
        {"name": "SETTING", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}}},
    ],
    "resources": {
        "requests": {"cpu": "0.1", "memory": "0.5Gi"},
        "limits": {"cpu": "1000m", "memory": "1024Mi"},
    },
    "serviceType": "NodePort",
    "autoScaling": SCALING,
}


def with_sources(rig: MyAppRig) -> None:
    """The Secret and the ConfigMap that FULL reads."""
    rig.call(
        "POST", f"/api/v1/namespaces/{NAMESPACE}/secrets", {"metadata": {"name": "s"}, "data": {"k": "eA=="}}
    )
    rig.call(
        "POST", f"/api/v1/namespaces/{NAMESPACE}/configmaps", {"metadata": {"name": "c"}, "data": {"k": "x"}}
    )


def settled(**spec: Any) -> MyAppRig:
    """A rig with a MyApp whose children are up."""
    rig = MyAppRig()
    with_sources(rig)
    rig.create_app(**spec)
    rig.settle()
    rig.events()
    return rig


def new_owner(rig: MyAppRig, name: str) -> Object:
    """The reference of a ConfigMap that owns things."""
    path = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
    uid = rig.call("POST", path, {"metadata": {"name": name}})["metadata"]["uid"]
    return {"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid, "controller": True}


def somebodys(kind: type[Kind], owner: Object | None = None) -> Object:
    """An object called a that is not the MyApp's."""
    labels = {"app": "theirs"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "theirs:1"}]}}
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "theirs"}
    specs: dict[type[Kind], Object] = {
        Deployment: {"replicas": 1, "selector": {"matchLabels": labels}, "template": template},
        Service: {"selector": labels, "ports": [{"port": 1}]},
        HorizontalPodAutoscaler: {"scaleTargetRef": target, "maxReplicas": 2},
    }
    references = {"ownerReferences": [owner]} if owner else {}
    return {
        "apiVersion": kind.resource.api_version,
        "kind": kind.resource.kind,
        "metadata": {"name": "a", **references},
        "spec": specs[kind],
    }


def container_of(deployment: Object) -> Object:
    """Its only container."""
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    found: Object = container
    return found


# what a sync does


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
    """The first status says Progressing=True/Reconciling with the count, and neither Ready nor Degraded."""
    rig = MyAppRig()
    rig.create_app()
    assert rig.sync() is None
    assert rig.conditions() == {
        "Ready": ("False", "Reconciling"),
        "Progressing": ("True", "Reconciling"),
        "Degraded": ("False", "Reconciling"),
    }
    assert rig.message("Progressing").startswith("Ready replicas: 0/2")


def test_a_myapp_that_is_up_says_so_and_is_looked_at_again() -> None:
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
    assert result.requeue_after == LOOK_AGAIN_SECONDS == 30


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
    assert [target for method, target in written if method == "PATCH"] == targets
    assert {target for method, target in written if method != "PATCH"} == {"myapps/a/status"}
    assert rig.conditions() == READY


def test_children_that_were_changed_or_deleted_come_back() -> None:
    """Whatever somebody does to what a MyApp owns, the next sync mends it."""
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
    """Further containers, ports, labels and annotations of the children are somebody else's business."""
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


def test_a_myapp_that_goes_gets_nothing() -> None:
    """Neither one that is gone nor one that is being deleted has anything written."""
    rig = MyAppRig()
    assert rig.sync("never") is None
    assert rig.reconcile("never") is DONE
    rig.create_app(metadata={"finalizers": ["example.com/wait"]})
    rig.delete(MyApp)
    assert rig.sync() is None
    assert rig.reconcile() is DONE
    assert rig.transport.writes == []


def test_children_go_with_their_myapp() -> None:
    """Garbage collection takes them by their owner references."""
    rig = settled(**FULL)
    rig.delete(MyApp)
    rig.pass_time(60)
    assert not any(rig.exists(kind) for kind in CHILDREN)


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


# the traps


def test_trap_whole_specs_compared() -> None:
    """Over 100 idle resyncs of 50 MyApps with everything in their spec there is not one request."""
    rig = MyAppRig()
    with_sources(rig)
    names = [f"app-{number}" for number in range(APPS)]
    for name in names:
        rig.create_app(name, **FULL)
    written = -1
    while len(rig.transport.writes) != written:
        written = len(rig.transport.writes)
        rig.sync_caches()
        for name in names:
            rig.reconcile(name)
        rig.pass_time(5)
    assert all(rig.conditions(name) == READY for name in names)
    rig.sync_caches()
    before = rig.transport.requests
    for _ in range(RESYNCS):
        for name in names:
            rig.reconcile(name)
        rig.clock.advance(30)
    assert rig.transport.requests == before
    assert before >= APPS * 4


def test_trap_replicas_under_an_autoscaler() -> None:
    """What the autoscaler set is never overwritten nor sent; switched off, the spec's number comes back."""
    rig = settled(**FULL)
    begin = len(rig.transport.writes)
    rig.scale(5)
    rig.set_spec(image="nginx:2", replicas=1)
    rig.settle()
    rig.set_spec(autoScaling={**SCALING, "maxReplicas": 7})
    rig.settle()
    assert rig.raw(Deployment)["spec"]["replicas"] == 5
    assert "replicas" not in str(
        [write.body for write in rig.transport.writes[begin:] if write.target == "deployments/a"]
    )
    rig.set_spec(autoScaling={**SCALING, "enabled": False})
    rig.settle()
    assert not rig.exists(HorizontalPodAutoscaler)
    assert rig.raw(Deployment)["spec"]["replicas"] == 1


def test_trap_replicas_taken_back_too_early() -> None:
    """As long as our autoscaler is in the cache, though it is switched off, the replicas are its own."""
    rig = settled(**FULL)
    rig.scale(5)
    rig.set_spec(autoScaling=None)
    rig.transport.refuse = lambda write: (403, "Forbidden", "no") if write.method == "DELETE" else None
    for _ in range(3):
        assert isinstance(rig.sync(), ReconcileError)
    assert rig.raw(Deployment)["spec"]["replicas"] == 5
    rig.transport.refuse = lambda _write: None
    assert rig.sync() is None
    assert not rig.exists(HorizontalPodAutoscaler)
    assert rig.raw(Deployment)["spec"]["replicas"] == 5
    # five replicas are ready, and this spec wants two
    assert rig.conditions()["Ready"] == ("False", "Reconciling")
    rig.settle()
    assert rig.raw(Deployment)["spec"]["replicas"] == 2


def test_trap_an_autoscaler_begins_within_its_bounds() -> None:
    """A Deployment made while autoscaling is on begins within the bounds, with a number above 0."""
    rig = MyAppRig()
    rig.create_app(replicas=1, autoScaling={"enabled": True, "minReplicas": 3, "maxReplicas": 4})
    rig.sync()
    assert rig.raw(Deployment)["spec"]["replicas"] == 3


def test_trap_last_update_time_of_every_sync() -> None:
    """It moves only together with something else in the status, so that no status begets the next."""
    rig = settled()
    before = rig.raw(MyApp)
    rig.clock.advance(1000)
    rig.settle()
    assert rig.raw(MyApp) == before
    rig.set_spec(replicas=3)
    rig.settle()
    assert rig.raw(MyApp)["status"]["lastUpdateTime"] > before["status"]["lastUpdateTime"]


def test_trap_conditions_that_are_never_cleared() -> None:
    """Ready, Progressing and Degraded are always there and follow the Deployment up, down and up again."""
    rig = settled()
    assert rig.conditions() == READY
    rig.set_spec(replicas=4)
    rig.sync()
    assert rig.conditions()["Ready"] == ("False", "Reconciling")
    assert rig.conditions()["Progressing"] == ("True", "Reconciling")
    rig.settle()
    assert rig.conditions() == READY
    rig.create(Deployment, somebodys(Deployment) | {"metadata": {"name": "b"}})
    rig.create_app("b")
    assert isinstance(rig.sync("b"), ReconcileError)
    assert rig.conditions("b")["Degraded"] == ("True", "ReconcileError")
    rig.delete(Deployment, "b")
    rig.settle("b")
    assert rig.conditions("b") == READY


def test_trap_a_type_that_needs_other_ports() -> None:
    """Address and node port are kept while they are valid, and the node port is cleared when it is not."""
    rig = settled(serviceType="NodePort")
    rig.change(Service, {"spec": {"ports": [{**rig.raw(Service)["spec"]["ports"][0], "nodePort": 30123}]}})
    address = rig.raw(Service)["spec"]["clusterIP"]

    def service(**fields: Any) -> tuple[str, str, Any, Any]:
        rig.set_spec(**fields)
        rig.settle()
        spec = rig.raw(Service)["spec"]
        (port,) = spec["ports"]
        return spec["type"], spec["clusterIP"], port["port"], port.get("nodePort")

    assert service(port=9090) == ("NodePort", address, 9090, 30123)
    assert service(serviceType="LoadBalancer") == ("LoadBalancer", address, 9090, 30123)
    assert service(serviceType="ClusterIP") == ("ClusterIP", address, 9090, None)
    assert service(serviceType="NodePort")[:3] == ("NodePort", address, 9090)


@pytest.mark.parametrize("kind", CHILDREN)
@pytest.mark.parametrize(("owner", "words"), [("", "nobody"), ("them", 'ConfigMap "them"')])
def test_trap_a_name_that_is_taken(kind: type[Kind], owner: str, words: str) -> None:
    """It is not touched; Degraded names the owner, one Warning tells of it; freed, it recovers."""
    rig = MyAppRig()
    with_sources(rig)
    rig.create(kind, somebodys(kind, new_owner(rig, owner) if owner else None))
    rig.create_app(**FULL)
    before = rig.raw(kind)
    text = f'{kind.resource.kind} "a" already exists and belongs to {words}'
    for _ in range(3):
        error = rig.sync()
        assert isinstance(error, ReconcileError)
        assert text in str(error)
    assert (rig.raw(kind)["spec"], rig.raw(kind)["metadata"].get("labels")) == (before["spec"], None)
    assert rig.conditions()["Degraded"] == ("True", "ReconcileError")
    assert text in rig.message("Degraded")
    others = [other for other in CHILDREN if other is not kind]
    assert all(rig.exists(other) for other in others)
    rig.start()
    assert isinstance(rig.sync(), ReconcileError)
    assert sum(event.startswith("Warning") and text in event for event in rig.events()) == 1
    rig.delete(kind)
    rig.settle()
    assert rig.conditions() == READY


def test_trap_a_namesake_that_goes_wakes_the_myapp() -> None:
    """An object in the way leads to the MyApp of its name; one of ours, or of another name, leads nowhere."""
    rig = settled()
    find = namesakes(rig.lister_for(MyApp))
    ours = rig.caches[Deployment].list()[0]
    assert find(ours) == ()
    rig.create_app("b")
    for name in ("b", "c"):
        rig.create(Deployment, somebodys(Deployment) | {"metadata": {"name": name}})
    rig.sync_caches()
    found = {each.metadata.name: list(find(each)) for each in rig.caches[Deployment].list()}
    assert found == {"a": [], "b": [ObjectName(NAMESPACE, "b")], "c": []}


def test_trap_children_of_an_earlier_myapp_adopted() -> None:
    """A MyApp re-created under the name waits for the old children to go, without alarm, and has its own."""
    rig = settled(**FULL)
    old = {kind: rig.raw(kind)["metadata"]["uid"] for kind in CHILDREN}
    rig.sync_caches()
    rig.delete(MyApp)
    rig.create_app(**FULL)
    # the caches still hold the old children
    rig.sync_caches(MyApp)
    begin = len(rig.transport.writes)
    rig.reconcile()
    assert rig.writes_since(begin) == [("PUT", "myapps/a/status")]
    assert rig.conditions()["Progressing"] == ("True", "Reconciling")
    assert rig.conditions()["Degraded"] == ("False", "Reconciling")
    assert 'Deployment "a" of the MyApp of this name before is not gone yet' in rig.message("Progressing")
    rig.settle()
    assert all(rig.raw(kind)["metadata"]["uid"] != old[kind] for kind in CHILDREN)
    assert rig.conditions() == READY
    assert not [event for event in rig.events() if event.startswith("Warning")]


def test_trap_an_immutable_selector() -> None:
    """No change of the spec changes the selector, and none is ever sent in a patch."""
    rig = settled(**FULL)
    begin = len(rig.transport.writes)
    selector = rig.raw(Deployment)["spec"]["selector"]
    rig.set_spec(
        image="other:2", port=1234, env=None, resources=None, serviceType="ClusterIP", autoScaling=None
    )
    rig.settle()
    assert rig.raw(Deployment)["spec"]["selector"] == selector
    bodies = [write.body for write in rig.transport.writes[begin:] if write.target == "deployments/a"]
    assert bodies
    assert not any("selector" in (body.get("spec") or {}) for body in bodies)


def test_trap_an_autoscaler_deleted_by_name() -> None:
    """A deletion carries the UID: what took the name in between is left; somebody else's is not asked for."""
    rig = settled(**FULL)
    rig.set_spec(autoScaling=None)
    rig.sync_caches()

    def replace_it(write: Write) -> None:
        if write.method == "DELETE":
            rig.delete(HorizontalPodAutoscaler)
            rig.create(HorizontalPodAutoscaler, somebodys(HorizontalPodAutoscaler, new_owner(rig, "them")))

    rig.transport.before = replace_it
    with pytest.raises(Conflict):
        rig.reconcile()
    rig.transport.before = lambda _write: None
    begin = len(rig.transport.writes)
    rig.settle()
    assert rig.raw(HorizontalPodAutoscaler)["metadata"]["ownerReferences"][0]["name"] == "them"
    assert "DELETE" not in {method for method, _ in rig.writes_since(begin)}
    assert rig.conditions() == READY


@pytest.mark.parametrize("kind", CHILDREN)
def test_trap_a_foreign_change_in_between(kind: type[Kind]) -> None:
    """A patch computed from a state that is no more is a Conflict: nothing is lost, no status is claimed."""
    rig = settled(**FULL)
    rig.set_spec(image="nginx:2", port=9090, autoScaling={**SCALING, "maxReplicas": 9})
    rig.sync_caches()
    rig.change(kind, {"metadata": {"annotations": {"theirs": "1"}}})
    status = rig.raw(MyApp)["status"]
    with pytest.raises(Conflict):
        rig.reconcile()
    assert rig.raw(MyApp)["status"] == status
    rig.settle()
    assert rig.raw(kind)["metadata"]["annotations"]["theirs"] == "1"
    assert rig.conditions() == READY
    patches = [write.body for write in rig.transport.writes if write.method == "PATCH"]
    assert all({"resourceVersion", "uid"} <= body["metadata"].keys() for body in patches)


def test_trap_a_name_taken_unseen() -> None:
    """A child that appeared since the cache was read is not written over: the create fails and is retried."""
    rig = MyAppRig()
    rig.create_app()
    rig.sync_caches()
    rig.create(Deployment, somebodys(Deployment))
    with pytest.raises(AlreadyExists):
        rig.reconcile()
    assert container_of(rig.raw(Deployment))["image"] == "theirs:1"


def test_a_status_is_not_written_over_a_newer_myapp() -> None:
    """A status computed from an old spec is a Conflict."""
    rig = settled()
    rig.change(Deployment, {"spec": {"replicas": 1}})
    rig.sync_caches()
    rig.set_spec(image="nginx:2")
    with pytest.raises(Conflict):
        rig.reconcile()
    assert rig.raw(MyApp)["status"]["observedGeneration"] == 1


# objects from before the schema


def older_definition() -> Object:
    """The definition without defaults and rules, as an earlier release might have had it."""
    definition = custom_resource_definition(MyApp)
    version = definition["spec"]["versions"][0]
    version["schema"] = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return definition


def test_defaults_are_our_own_too() -> None:
    """Stored without the server's defaults, and read so: the children get them all the same."""
    rig = MyAppRig(definition=older_definition())
    rig.call(
        "POST",
        MyApp.resource.path(namespace=NAMESPACE),
        {
            "apiVersion": "example.com/v1",
            "kind": "MyApp",
            "metadata": {"name": "a"},
            "spec": {"image": "nginx:1"},
        },
    )
    rig.settle()
    assert rig.raw(Deployment)["spec"]["replicas"] == 1
    assert rig.raw(Service)["spec"]["type"] == "ClusterIP"
    assert rig.raw(Service)["spec"]["ports"][0]["port"] == 8080
    rig.set_spec(autoScaling={"enabled": True, "maxReplicas": 3})
    rig.settle()
    spec = rig.raw(HorizontalPodAutoscaler)["spec"]
    assert (spec["minReplicas"], spec["metrics"][0]["resource"]["target"]["averageUtilization"]) == (1, 80)
    assert rig.conditions() == READY


def test_a_spec_that_breaks_a_rule_is_terminal() -> None:
    """What the schema's rules would refuse is Degraded with their words; the children stay as they are."""
    rig = MyAppRig(definition=older_definition())
    rig.create_app()
    rig.settle()
    begin = len(rig.transport.writes)
    rig.set_spec(image="nginx:2", autoScaling={"enabled": True, "minReplicas": 5, "maxReplicas": 3})
    error = rig.sync()
    assert isinstance(error, TerminalError)
    assert (
        rig.message("Degraded") == str(error) == "spec.autoScaling: minReplicas must not be above maxReplicas"
    )
    assert rig.conditions()["Ready"] == ("False", "ReconcileError")
    assert rig.writes_since(begin) == [("PUT", "myapps/a/status")]
    rig.set_spec(autoScaling=None)
    rig.settle()
    assert rig.conditions() == READY
