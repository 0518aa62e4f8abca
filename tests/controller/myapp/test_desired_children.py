"""The children that a MyApp wants."""

from __future__ import annotations

import pytest

from handloop.apis.core_v1 import EnvVar, EnvVarSource, KeySelector, ResourceAmounts
from handloop.apis.meta import new_controller_ref
from handloop.controller.myapp.desired_children import labels, new_autoscaler, new_deployment, new_service
from handloop.controller.myapp.types import AutoScaling
from support.myapp_builders import new_app

KEY = {"name": "n", "key": "k"}


def test_labels_depend_on_the_name_only() -> None:
    """Selectors are made of them, and those never change."""
    assert labels(new_app("x")) == labels(new_app("x", image="other:2", port=1, replicas=9))
    assert labels(new_app("x")) != labels(new_app("y"))


def test_everybody_has_name_namespace_labels_and_owner() -> None:
    """The metadata of all children is alike."""
    app = new_app()
    scaling = AutoScaling(enabled=True, max_replicas=2)
    for child in (new_deployment(app), new_service(app), new_autoscaler(app, scaling)):
        assert (child.metadata.name, child.metadata.namespace) == ("a", "default")
        assert child.metadata.labels == labels(app)
        assert child.metadata.owner_references == (new_controller_ref(app),)


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
    """What is not said stays unsaid."""
    app = new_app(resources={"limits": {"cpu": "1"}})
    resources = new_deployment(app).spec.template.spec.containers[0].resources
    assert (resources.limits, resources.requests) == (ResourceAmounts(cpu="1"), ResourceAmounts())


@pytest.mark.parametrize(
    ("replicas", "scaling", "first"),
    [
        (3, None, 3),
        (3, {"enabled": False, "minReplicas": 5, "maxReplicas": 9}, 3),
        (3, {"enabled": True, "minReplicas": 5, "maxReplicas": 9}, 5),
        (30, {"enabled": True, "minReplicas": 5, "maxReplicas": 9}, 9),
        (7, {"enabled": True, "minReplicas": 5, "maxReplicas": 9}, 7),
    ],
)
def test_the_first_replicas(replicas: int, scaling: dict[str, object] | None, first: int) -> None:
    """The spec's, within the bounds of an autoscaler that is on."""
    app = new_app(replicas=replicas, autoScaling=scaling)
    assert new_deployment(app).spec.replicas == first


def test_the_service_leads_to_the_named_port() -> None:
    """Its port is the MyApp's, its target the container's port by name."""
    app = new_app(port=9000, serviceType="LoadBalancer")
    spec = new_service(app).spec
    (port,) = spec.ports
    (container_port,) = new_deployment(app).spec.template.spec.containers[0].ports
    assert (spec.type, spec.selector) == ("LoadBalancer", labels(app))
    assert (port.name, port.port, port.target_port) == ("http", 9000, container_port.name)
    assert container_port.container_port == 9000
