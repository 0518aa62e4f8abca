"""The children of a MyApp: what they should be, whose the present ones are, and what is written."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from handloop.apis.apps_v1 import Deployment, DeploymentSpec, LabelSelector
from handloop.apis.core_v1 import EnvVar, EnvVarSource, KeySelector, ResourceAmounts, Service
from handloop.apis.meta import FrozenMap, OwnerReference
from handloop.client.errors import Conflict, NotFound
from handloop.controller.myapp.children import (
    child,
    labels,
    new_autoscaler,
    new_deployment,
    new_service,
    owned,
    patched,
)
from handloop.controller.myapp.types import AutoScaling, MyApp
from handloop.controller.runtime.children.owner_references import NameTakenError
from handloop.controller.runtime.reconcile import WaitError
from support.builders.myapp_builders import new_app
from support.rigs.myapp_rig import NAMESPACE, MyAppRig

TAKEN_BY = OwnerReference(api_version="apps/v1", kind="Deployment", name="theirs", uid="u", controller=True)
KEY = {"name": "n", "key": "k"}


def test_labels_depend_on_the_name_only() -> None:
    """Selectors are made of them, and those never change."""
    assert labels(new_app("x")) == labels(new_app("x", image="other:2", port=1, replicas=9))
    assert labels(new_app("x")) != labels(new_app("y"))


def test_everybody_has_name_namespace_and_labels() -> None:
    """The metadata of all children is alike."""
    app = new_app()
    scaling = AutoScaling(enabled=True, max_replicas=2)
    for made in (new_deployment(app), new_service(app), new_autoscaler(app, scaling)):
        assert (made.metadata.name, made.metadata.namespace) == ("a", "default")
        assert made.metadata.labels == labels(app)


def test_variables_become_those_of_a_container() -> None:
    """In their order; one without value and source is empty."""
    app = new_app(
        env=[
            {"name": "B", "value": "x"},
            {"name": "A"},
            {"name": "S", "valueFrom": {"secretKeyRef": KEY}},
            {"name": "C", "valueFrom": {"configMapKeyRef": KEY}},
        ]
    )
    selector = KeySelector(name="n", key="k")
    assert new_deployment(app).spec.template.spec.containers[0].env == (
        EnvVar(name="B", value="x"),
        EnvVar(name="A"),
        EnvVar(name="S", value_from=EnvVarSource(secret_key_ref=selector)),
        EnvVar(name="C", value_from=EnvVarSource(config_map_key_ref=selector)),
    )


def test_resources_become_those_of_a_container() -> None:
    """Unset fields stay unset."""
    app = new_app(resources={"limits": {"cpu": "1"}})
    resources = new_deployment(app).spec.template.spec.containers[0].resources
    assert (resources.limits, resources.requests) == (ResourceAmounts(cpu="1"), ResourceAmounts())


@pytest.mark.parametrize(
    ("replicas", "scaling", "first"),
    [
        (3, None, 3),
        (1, None, 1),
        (3, {"enabled": False, "minReplicas": 5, "maxReplicas": 9}, 3),
        (3, {"enabled": True, "minReplicas": 5, "maxReplicas": 9}, 5),
        (30, {"enabled": True, "minReplicas": 5, "maxReplicas": 9}, 9),
        (7, {"enabled": True, "minReplicas": 5, "maxReplicas": 9}, 7),
    ],
)
def test_the_first_replicas(replicas: int, scaling: dict[str, object] | None, first: int) -> None:
    """The spec's, within the bounds of an autoscaler that is on; never part of the apply."""
    assert new_deployment(new_app(replicas=replicas, autoScaling=scaling)).spec.replicas is None
    rig = MyAppRig()
    rig.create_app(replicas=replicas, autoScaling=scaling)
    rig.sync()
    assert rig.raw(Deployment)["spec"]["replicas"] == first


def test_a_present_deployment_keeps_its_selector() -> None:
    """It is immutable: another one would be refused for ever."""
    other = LabelSelector(match_labels=FrozenMap({"old": "x"}))
    present = Deployment(spec=DeploymentSpec(selector=other))
    assert new_deployment(new_app(), present).spec.selector == other
    assert new_deployment(new_app()).spec.selector.match_labels == labels(new_app())


def test_the_service_leads_to_the_named_port() -> None:
    """Its port is the MyApp's, its target the container's port by name."""
    app = new_app(port=9000, serviceType="LoadBalancer")
    spec = new_service(app).spec
    (port,) = spec.ports
    (container_port,) = new_deployment(app).spec.template.spec.containers[0].ports
    assert (spec.type, spec.selector) == ("LoadBalancer", labels(app))
    assert (port.name, port.port, port.target_port) == ("http", 9000, container_port.name)
    assert container_port.container_port == 9000


class ChildRig:
    """A MyApp on a sandbox, and its Service."""

    def __init__(self) -> None:
        self.rig = MyAppRig()
        self.rig.create_app()
        assert self.rig.sync() is None
        self.rig.sync_caches()
        (self.app,) = self.rig.lister_for(MyApp).list()
        service = self.rig.lister_for(Service).get("a", namespace=NAMESPACE)
        assert service is not None
        self.service = service
        self.context = self.rig.context()

    def cache(self, **metadata: object) -> None:
        """Have the cache hold the Service with other metadata."""
        changed = replace(self.service, metadata=replace(self.service.metadata, **metadata))
        self.rig.caches[Service].replace([changed], "1")

    def child(self, app: MyApp | None = None) -> Service | None:
        """That of the MyApp, or of another one."""
        return child(Service, app or self.app, self.context)


def test_a_child_is_known_by_its_controller() -> None:
    """By UID: None without one."""
    rig = ChildRig()
    assert rig.child() is owned(Service, rig.app, rig.context) is rig.service
    rig.rig.caches[Service].replace([], "1")
    assert rig.child() is owned(Service, rig.app, rig.context) is None


@pytest.mark.parametrize(
    ("owners", "words"),
    [
        ((), "has no owner"),
        ((TAKEN_BY,), 'belongs to Deployment "theirs"'),
        ((replace(TAKEN_BY, controller=False),), 'belongs to Deployment "theirs"'),
        ((replace(TAKEN_BY, api_version="other.com/v1", kind="MyApp", name="a"),), 'belongs to MyApp "a"'),
    ],
)
def test_a_foreign_object_is_not_touched(owners: tuple[OwnerReference, ...], words: str) -> None:
    """Whatever it is; the error names the owner, and no request is made."""
    rig = ChildRig()
    rig.cache(owner_references=owners)
    begin = len(rig.rig.transport.writes)
    with pytest.raises(NameTakenError, match=f'Service "a" already exists and {words}'):
        rig.child()
    assert owned(Service, rig.app, rig.context) is None
    assert rig.rig.writes_since(begin) == []


def test_what_it_owns_without_controlling_it_is_in_the_way() -> None:
    """Nobody will take away what this very MyApp owns: that is no predecessor's, and no reason to wait."""
    rig = ChildRig()
    rig.cache(owner_references=tuple(replace(each, controller=False) for each in _owners(rig)))
    with pytest.raises(NameTakenError, match='Service "a" already exists and belongs to MyApp "a"'):
        rig.child()


def _owners(rig: ChildRig) -> tuple[OwnerReference, ...]:
    return rig.service.metadata.owner_references


def test_a_predecessors_is_waited_for() -> None:
    """The UID of its owner is that of an earlier MyApp of the name."""
    rig = ChildRig()
    successor = replace(rig.app, metadata=replace(rig.app.metadata, uid="another"))
    with pytest.raises(WaitError, match="of an earlier MyApp of this name is not gone yet"):
        rig.child(successor)
    assert owned(Service, successor, rig.context) is None


def test_what_is_being_deleted_is_waited_for() -> None:
    """It is ours until its end."""
    rig = ChildRig()
    rig.cache(deletion_timestamp="2026-01-01T00:00:00Z")
    with pytest.raises(WaitError, match='Service "a" is not gone yet'):
        rig.child()
    assert owned(Service, rig.app, rig.context) is not None


def test_a_patch_holds_for_the_version_that_was_read() -> None:
    """A state that is no more is a Conflict, and what is gone is not found."""
    rig = ChildRig()
    changes = {"spec": {"sessionAffinity": "ClientIP"}}
    assert patched(rig.service, changes, rig.context).metadata.name == "a"
    with pytest.raises(Conflict):
        patched(rig.service, changes, rig.context)
    rig.rig.delete(Service)
    with pytest.raises(NotFound):
        patched(rig.service, changes, rig.context)
