"""One nested change in one call."""

from __future__ import annotations

from typing import Any

import pytest

from handloop.apis.apps_v1 import Deployment, DeploymentSpec
from handloop.apis.core_v1 import Container, PodSpec, PodTemplateSpec
from handloop.apis.evolve import evolve
from handloop.apis.meta import APIStruct, FrozenMap, MapOf

CONTAINERS = (Container(name="web", image="nginx:1"), Container(name="log"))
WEB = Deployment.named(
    "web", spec=DeploymentSpec(template=PodTemplateSpec(spec=PodSpec(containers=CONTAINERS)))
)


def test_a_nested_field() -> None:
    """Everything beside the path is shared, and the object itself is as it was."""
    new = evolve(WEB, "spec.template.spec.containers[0].image", "nginx:2")
    assert [each.image for each in new.spec.template.spec.containers] == ["nginx:2", ""]
    assert new.spec.template.spec.containers[1] is CONTAINERS[1]
    assert WEB.spec.template.spec.containers[0].image == "nginx:1"


def test_a_key_of_a_map_is_added_and_lists_are_frozen() -> None:
    """The values are of the types that a cache may hold."""
    new = evolve(WEB, 'metadata.labels["app.kubernetes.io/name"]', "web")
    assert new.metadata.labels == FrozenMap({"app.kubernetes.io/name": "web"})
    assert evolve(WEB, "metadata.finalizers", ["a/b"]).metadata.finalizers == ("a/b",)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("spec.replica", 3, "spec has no field replica: did you mean replicas?"),
        ("metadata.ownerReferences", (), "did you mean owner_references?"),
        ("spec.template.spec.containers[2].image", "", "has 2 entries: there is no [2]"),
        ("spec[0]", "", "spec is not a list"),
        ('spec["a"]', "", "spec is not a map"),
        ('metadata.labels["a"].b', "", 'metadata.labels["a"] is None'),
        ("spec.replicas.x", 1, "spec.replicas is None"),
        ("spec..a", 1, "the path 'spec..a' is invalid at '..a'"),
        ("", 1, "the path is empty"),
    ],
)
def test_a_path_that_leads_nowhere(path: str, value: Any, message: str) -> None:
    """The error names where it ends, and the nearest name."""
    with pytest.raises(ValueError) as error:
        evolve(WEB, path, value)
    assert message in str(error.value)


def test_a_value_of_another_type() -> None:
    """Python would take it, and the server would not."""
    with pytest.raises(TypeError, match=r"spec.replicas: Expected `int \| null`, got `str`"):
        evolve(WEB, "spec.replicas", "3")
    with pytest.raises(TypeError, match=r"Deployment.spec: expected a DeploymentSpec, not a str"):
        evolve(WEB, "spec", "x")


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (
            "spec",
            {"replicas": 1},
            "Deployment.spec: expected a DeploymentSpec, not a dict: write DeploymentSpec(...)",
        ),
        (
            "spec.template.spec.containers",
            [{"name": "a"}],
            "spec.template.spec.containers[0]: expected a Container",
        ),
        (
            "spec.template.spec.containers[0]",
            {"name": "a"},
            "spec.template.spec.containers[0]: expected a Container",
        ),
        ('metadata.labels["a"]', 1, "metadata.labels: Expected `str`, got `int`"),
    ],
)
def test_a_dict_is_no_struct(path: str, value: Any, message: str) -> None:
    """It would be sent as it is, and compare as another value for ever."""
    with pytest.raises(TypeError) as error:
        evolve(WEB, path, value)
    assert message in str(error.value)


class Port(APIStruct):
    """An entry of a map."""

    number: int


class Ports(APIStruct):
    """A map of structs."""

    by_name: MapOf[Port] = MapOf()


def test_a_map_of_structs_holds_no_dicts() -> None:
    """Its values are checked, too."""
    ports = Ports(by_name=MapOf({"http": Port(number=80)}))
    assert evolve(ports, 'by_name["https"]', Port(number=443)).by_name["https"].number == 443
    with pytest.raises(TypeError, match=r"by_name\['https'\]: expected a Port, not a dict: write Port"):
        evolve(ports, 'by_name["https"]', {"number": 443})
    with pytest.raises(TypeError, match="Expected `int`, got `str`"):
        evolve(ports, "by_name", {"https": {"number": "443"}})
