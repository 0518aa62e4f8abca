"""What usually goes wrong in such a controller, shown not to happen: a test or more for each trap."""

from __future__ import annotations

import os
from typing import Any

import pytest

from handloop.apis.apps_v1 import Deployment
from handloop.apis.autoscaling_v2 import HorizontalPodAutoscaler
from handloop.apis.conditions import is_condition_true
from handloop.apis.core_v1 import Service
from handloop.apis.crd import custom_resource_definition
from handloop.apis.meta import Kind, controller_of
from handloop.client.errors import Conflict
from handloop.controller.myapp.reconciler import namesakes
from handloop.controller.myapp.types import MyApp
from handloop.controller.runtime.reconcile import ReconcileError
from handloop.informers.keys import ObjectName
from handloop.seams.seams import Seams
from handloop.testing.eventually import eventually
from handloop.testing.fake_clock import FakeClock
from support.checks.captured_logs import captured_logs
from support.rigs.myapp_rig import NAMESPACE, MyAppRig, Write
from support.rigs.myapp_scenes import (
    CHILDREN,
    FULL,
    READY,
    SCALING,
    Managed,
    container_of,
    new_owner,
    settled,
    somebodys,
    with_sources,
)

NEVER_TOGETHER = (Deployment, HorizontalPodAutoscaler)
APPS = int(os.environ.get("IDLE_MYAPPS", "10"))
RESYNCS = 100


def test_trap_whole_specs_compared() -> None:
    """Over 100 idle resyncs of MyApps with everything in their spec there is not one request."""
    rig = MyAppRig()
    with_sources(rig)
    names = [f"app-{number}" for number in range(APPS)]
    for name in names:
        rig.create_app(name, **FULL)
    for _ in range(4):
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
@pytest.mark.parametrize(("owner", "words"), [("", "has no owner"), ("them", 'belongs to ConfigMap "them"')])
def test_trap_a_name_that_is_taken(kind: type[Kind], owner: str, words: str) -> None:
    """It is not touched; Degraded names the owner, one Warning reports it; freed, it recovers."""
    rig = MyAppRig()
    with_sources(rig)
    rig.create(kind, somebodys(kind, new_owner(rig, owner) if owner else None))
    rig.create_app(**FULL)
    before = rig.raw(kind)
    text = f'{kind.resource.kind} "a" already exists and {words}'
    for _ in range(3):
        error = rig.sync()
        assert isinstance(error, ReconcileError)
        assert text in str(error)
    assert (rig.raw(kind)["spec"], rig.raw(kind)["metadata"].get("labels")) == (before["spec"], None)
    assert rig.conditions()["Degraded"] == ("True", "ReconcileError")
    assert text in rig.message("Degraded")
    # an autoscaler would scale the Deployment of that name, whosever it is
    others = [other for other in CHILDREN if other is not kind and (kind, other) != NEVER_TOGETHER]
    assert [other for other in CHILDREN if rig.exists(other) and other is not kind] == others
    rig.start()
    assert isinstance(rig.sync(), ReconcileError)
    assert sum(event.startswith("Warning") and text in event for event in rig.events()) == 1
    rig.delete(kind)
    rig.settle()
    assert rig.conditions() == READY


def test_trap_an_autoscaler_over_a_foreign_deployment() -> None:
    """When another owner gets the Deployment, ours goes before it scales theirs; freed, both come back."""
    rig = settled(**FULL)
    rig.delete(Deployment)
    rig.create(Deployment, somebodys(Deployment))
    for _ in range(3):
        assert isinstance(rig.sync(), ReconcileError)
    assert not rig.exists(HorizontalPodAutoscaler)
    assert rig.message("Degraded") == 'Deployment "a" already exists and has no owner'
    rig.delete(Deployment)
    rig.settle()
    assert rig.exists(HorizontalPodAutoscaler)
    assert rig.conditions() == READY


def test_trap_an_autoscaler_over_a_deployment_taken_unseen() -> None:
    """The cache does not show yet whose the Deployment is: no autoscaler is made."""
    rig = MyAppRig()
    with_sources(rig)
    rig.create_app(**FULL)
    rig.sync_caches()
    rig.create(Deployment, somebodys(Deployment))
    with pytest.raises(ReconcileError, match="Deployment a already exists"):
        rig.reconcile()
    assert not rig.exists(HorizontalPodAutoscaler)
    assert rig.exists(Service)


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


@pytest.mark.parametrize("kind", CHILDREN)
def test_trap_a_name_that_is_freed_is_noticed_late(kind: type[Kind]) -> None:
    """The child is made as soon as the object in its way has gone, though no back-off ends on this clock."""
    clock = FakeClock()
    managed = Managed(custom_resource_definition(MyApp), seams=Seams(clock=clock))
    objects = managed.cluster.client.resource(kind)
    queue = managed.controller.queue
    managed.cluster.post(kind.resource.path(namespace=NAMESPACE), somebodys(kind))
    managed.create_app("a", autoScaling=SCALING)

    def is_stuck() -> bool:
        clock.advance(0.1)
        conditions = managed.apps.get("a", namespace=NAMESPACE).status.conditions
        return is_condition_true(conditions, "Degraded") and queue.statistics()[:3] == (0, 0, 0)

    with captured_logs(), managed.cluster.running(managed.manager):
        eventually(is_stuck, "in the way")
        objects.delete("a", namespace=NAMESPACE)
        eventually(lambda: any(map(controller_of, objects.list().items)), "made")


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
    assert rig.writes_since(begin) == [("PATCH", "myapps/a/status")]
    assert rig.conditions()["Progressing"] == ("True", "Reconciling")
    assert rig.conditions()["Degraded"] == ("False", "Reconciling")
    assert 'Deployment "a" of an earlier MyApp of this name is not gone yet' in rig.message("Progressing")
    rig.settle()
    assert all(rig.raw(kind)["metadata"]["uid"] != old[kind] for kind in CHILDREN)
    assert rig.conditions() == READY
    assert not [event for event in rig.events() if event.startswith("Warning")]


def test_trap_an_immutable_selector() -> None:
    """No change of the spec changes the selector, and no other one is ever sent."""
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
    assert all(body["spec"].get("selector", selector) == selector for body in bodies)


def test_trap_a_selector_of_an_earlier_release() -> None:
    """A Deployment that an earlier release made with another selector keeps it, and is corrected."""
    rig = settled()
    older = rig.raw(Deployment)
    rig.delete(Deployment)
    selector = {"matchLabels": {"app.kubernetes.io/instance": "a"}}
    metadata = {name: older["metadata"][name] for name in ("name", "ownerReferences")}
    rig.create(Deployment, {**older, "metadata": metadata, "spec": {**older["spec"], "selector": selector}})
    rig.set_spec(image="other:2")
    rig.settle()
    assert rig.raw(Deployment)["spec"]["selector"] == selector
    assert container_of(rig.raw(Deployment))["image"] == "other:2"
    assert rig.conditions() == READY


def test_trap_an_autoscaler_deleted_by_name() -> None:
    """A deletion carries the UID: another object of the name is left; a foreign one is not deleted."""
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
    """A correction of a state that is no more is refused, and made again of the present one."""
    rig = settled(**FULL)
    rig.set_spec(image="nginx:2", port=9090, autoScaling={**SCALING, "maxReplicas": 9})
    rig.sync_caches()
    rig.change(kind, {"metadata": {"annotations": {"theirs": "1"}}})
    begin = len(rig.transport.writes)
    rig.reconcile()
    target = f"{kind.resource.plural}/a"
    seen = [each.body["metadata"] for each in rig.transport.writes[begin:] if each.target == target]
    assert len({metadata["resourceVersion"] for metadata in seen}) == len(seen) == 2
    rig.settle()
    assert rig.raw(kind)["metadata"]["annotations"]["theirs"] == "1"
    assert rig.conditions() == READY
    patches = [write.body for write in rig.transport.writes if write.method == "PATCH"]
    assert all({"resourceVersion", "uid"} & body["metadata"].keys() for body in patches)


@pytest.mark.parametrize(
    "variable",
    [
        {"name": "PLAIN", "value": None, "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
        {"name": "PLAIN", "value": None, "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "PLAIN", "value": None},
        {"name": "EMPTY", "value": "theirs"},
        {"name": "EMPTY", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}}},
        {"name": "PASSWORD", "value": "theirs", "valueFrom": None},
        {"name": "SETTING", "valueFrom": {"$patch": "replace", "secretKeyRef": {"name": "s", "key": "k"}}},
        {"name": "SETTING", "valueFrom": {"configMapKeyRef": {"key": "other"}}},
    ],
)
def test_trap_a_variable_of_another_source(variable: dict[str, Any]) -> None:
    """It gets its own source back, and nothing else is touched, also where that was empty."""
    rig = settled(**FULL)
    before = container_of(rig.raw(Deployment))
    change = {"spec": {"containers": [{"name": before["name"], "env": [variable]}]}}
    rig.strategic(Deployment, {"spec": {"template": change}})
    assert container_of(rig.raw(Deployment)) != before
    rig.settle()
    assert container_of(rig.raw(Deployment)) == before
    assert rig.conditions() == READY


def test_trap_replicas_of_a_deployment_that_has_changed() -> None:
    """Replicas are set for the version that was read: else it is a Conflict, and the status stays, too."""
    rig = settled()
    rig.set_spec(replicas=3)
    rig.sync_caches()
    rig.change(Deployment, {"metadata": {"annotations": {"theirs": "1"}}})
    status = rig.raw(MyApp)["status"]
    with pytest.raises(Conflict):
        rig.reconcile()
    assert (rig.raw(MyApp)["status"], rig.raw(Deployment)["spec"]["replicas"]) == (status, 2)
    rig.settle()
    assert rig.raw(Deployment)["spec"]["replicas"] == 3


def test_trap_replicas_that_an_autoscaler_takes_over() -> None:
    """It finds the replicas as they were, though nobody but us has set them; later none are claimed."""
    rig = settled(replicas=5)
    rig.set_spec(image="nginx:2", autoScaling={"enabled": True, "minReplicas": 2, "maxReplicas": 9})
    rig.sync()
    rig.sync()
    assert rig.exists(HorizontalPodAutoscaler)
    assert rig.raw(Deployment)["spec"]["replicas"] == 5
    rig.scale(7)
    rig.set_spec(image="nginx:3", replicas=1)
    rig.settle()
    deployment = rig.raw(Deployment)
    assert deployment["spec"]["replicas"] == 7
    ours = [each for each in deployment["metadata"]["managedFields"] if each["manager"] == "myapp"]
    assert ours
    assert not any("f:replicas" in each["fieldsV1"]["f:spec"] for each in ours)


def test_trap_a_name_taken_unseen() -> None:
    """A child that appeared since the cache was read is not written over; the MyApp is Degraded at once."""
    rig = MyAppRig()
    rig.create_app()
    rig.sync_caches()
    rig.create(Deployment, somebodys(Deployment))
    with pytest.raises(ReconcileError):
        rig.reconcile()
    assert container_of(rig.raw(Deployment))["image"] == "theirs:1"
    assert rig.conditions()["Degraded"] == ("True", "ReconcileError")


def test_a_status_is_not_written_over_a_newer_myapp() -> None:
    """A status computed from an old spec is a Conflict."""
    rig = settled()
    rig.change(Deployment, {"spec": {"replicas": 1}})
    rig.sync_caches()
    rig.set_spec(image="nginx:2")
    with pytest.raises(Conflict):
        rig.reconcile()
    assert rig.raw(MyApp)["status"]["observedGeneration"] == 1


def test_trap_a_generation_filter_on_children() -> None:
    """A change of the Deployment's status alone shows in the MyApp, and not only 30 s later."""
    managed = Managed(custom_resource_definition(MyApp))
    with managed.cluster.running(managed.manager):
        managed.create_app("a", replicas=2)
        managed.wait_deployment()
        for ready in (1, 2, 0):
            managed.deployments.patch(
                "a",
                {"status": {"replicas": 2, "readyReplicas": ready}},
                namespace=NAMESPACE,
                subresource="status",
            )
            managed.wait_ready_replicas(ready)
