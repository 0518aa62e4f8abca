"""MyApp: the objects that fit its type, its defaults, and the rules that a type cannot express."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from handloop.apis.crd import custom_resource_definition
from handloop.apis.meta import decode_hook
from handloop.controller.myapp.types import (
    MIN_MAX_RULE,
    NAME_RULE,
    ONE_SOURCE_RULE,
    ONE_VALUE_RULE,
    MyApp,
    problems,
)

DIGEST = "sha256:" + "0123456789abcdef" * 4
KEY = {"name": "n", "key": "k"}


def decoded(name: str = "a", /, **spec: Any) -> MyApp:
    """A MyApp as it is read."""
    wire = {
        "apiVersion": "example.com/v1",
        "kind": "MyApp",
        "metadata": {"name": name},
        "spec": {"image": "nginx", **spec},
    }
    return msgspec.convert(wire, MyApp, dec_hook=decode_hook)


def schema() -> dict[str, Any]:
    """The schema of the spec."""
    version = custom_resource_definition(MyApp)["spec"]["versions"][0]
    found: dict[str, Any] = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    return found


def test_defaults_are_those_of_the_schema() -> None:
    """What the server fills in is what an object without it means here."""
    app = decoded(autoScaling={"enabled": True, "maxReplicas": 3})
    assert app.spec.auto_scaling is not None
    ours = msgspec.structs.asdict(app.spec) | msgspec.structs.asdict(app.spec.auto_scaling)
    properties = schema()["properties"]
    scaling = properties["autoScaling"]["properties"]
    defaults = {name: part["default"] for name, part in (properties | scaling).items() if "default" in part}
    assert defaults == {
        "replicas": 1,
        "port": 8080,
        "serviceType": "ClusterIP",
        "minReplicas": 1,
        "targetCPUUtilizationPercentage": 80,
    }
    assert (ours["replicas"], ours["port"], ours["service_type"]) == (1, 8080, "ClusterIP")
    assert (ours["min_replicas"], ours["target_cpu_utilization_percentage"]) == (1, 80)


def test_what_must_be_given() -> None:
    """An image; in autoScaling, enabled and maxReplicas; a name and a key of each source."""
    properties = schema()["properties"]
    variable = properties["env"]["items"]
    assert schema()["required"] == ["image"]
    assert properties["autoScaling"]["required"] == ["enabled", "maxReplicas"]
    assert variable["required"] == ["name"]
    assert variable["properties"]["valueFrom"]["properties"]["secretKeyRef"]["required"] == ["name", "key"]


def test_it_is_off_unless_it_is_enabled() -> None:
    """An autoScaling that an older schema let through without enabled does nothing."""
    assert not decoded().spec.scaling
    assert not decoded(autoScaling={"maxReplicas": 3}).spec.scaling
    assert decoded(autoScaling={"enabled": True, "maxReplicas": 3}).spec.scaling


@pytest.mark.parametrize(
    "image",
    [
        "nginx",
        "nginx:1.27",
        "my_app:1.0_beta",
        "library/nginx",
        "localhost:5000/team/app__x:v1",
        "Registry.example.com/app",
        "[::1]:5000/app",
        f"nginx@{DIGEST}",
        f"registry.example.com:443/a/b-c.d:1.2@{DIGEST}",
    ],
)
def test_images(image: str) -> None:
    """References with registry, port, path, tag and digest."""
    assert decoded(image=image).spec.image == image


@pytest.mark.parametrize(
    "image",
    ["", " ", "ng inx", "nginx ", "nginx:", ":1", "nginx@", "nginx@sha256:12", "a//b", "UPPER", "-a"],
)
def test_what_is_no_image(image: str) -> None:
    """Empty, with spaces, or with an empty part: refused when it is read."""
    with pytest.raises(msgspec.ValidationError):
        decoded(image=image)


@pytest.mark.parametrize(
    "spec",
    [
        {"replicas": 0},
        {"replicas": 101},
        {"replicas": "1"},
        {"image": None},
        {"port": 0},
        {"port": 65536},
        {"serviceType": "ExternalName"},
        {"resources": {"limits": {"cpu": "1z"}}},
        {"resources": {"requests": {"memory": "-1Mi"}}},
        {"resources": {"requests": {"memory": 1}}},
        {"env": [{"value": "x"}]},
        {"env": [{"name": ""}]},
        {"env": [{"name": "A=B"}]},
        {"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "n"}}}]},
        {"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "n", "key": "a b"}}}]},
        {"autoScaling": {"enabled": True}},
        {"autoScaling": {"enabled": True, "maxReplicas": 101}},
        {"autoScaling": {"enabled": True, "maxReplicas": 1, "minReplicas": 0}},
        {"autoScaling": {"enabled": True, "maxReplicas": 1, "targetCPUUtilizationPercentage": 101}},
    ],
)
def test_what_does_not_fit(spec: dict[str, Any]) -> None:
    """Bounds, patterns and types hold where an object is read, too."""
    with pytest.raises(msgspec.ValidationError):
        decoded(**spec)


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (
            {"autoScaling": {"enabled": False, "minReplicas": 4, "maxReplicas": 3}},
            f"spec.autoScaling: {MIN_MAX_RULE.message}",
        ),
        (
            {"env": [{"name": "A", "value": "", "valueFrom": {"secretKeyRef": KEY}}]},
            f"spec.env[0]: {ONE_VALUE_RULE.message}",
        ),
        ({"env": [{"name": "A", "valueFrom": {}}]}, f"spec.env[0].valueFrom: {ONE_SOURCE_RULE.message}"),
        (
            {"env": [{"name": "A", "valueFrom": {"secretKeyRef": KEY, "configMapKeyRef": KEY}}]},
            f"spec.env[0].valueFrom: {ONE_SOURCE_RULE.message}",
        ),
        ({"env": [{"name": "A"}, {"name": "B"}, {"name": "A"}]}, "spec.env[2]: there is another A"),
    ],
)
def test_rules_are_checked_here_too(spec: dict[str, Any], text: str) -> None:
    """What only a rule of the schema refuses is found by our own check, in the same words."""
    assert problems(decoded(**spec)) == (text,)


@pytest.mark.parametrize("name", ["a.b", "1a", "a-", "A", "a" * 64, "a\n"])
def test_names_that_no_service_can_have(name: str) -> None:
    """A MyApp has the name of its Service, which may be less than a name may be."""
    assert problems(decoded(name)) == (f"metadata.name: {NAME_RULE.message}",)


def test_all_that_is_wrong_is_reported() -> None:
    """Problems come together; a MyApp with everything in its spec has none."""
    wrong = decoded("A", env=[{"name": "A", "valueFrom": {}}])
    assert len(problems(wrong)) == 2
    full = decoded(
        "a" * 63,
        env=[{"name": "A", "value": "x"}, {"name": "B", "valueFrom": {"secretKeyRef": KEY}}, {"name": "C"}],
        autoScaling={"enabled": True, "minReplicas": 3, "maxReplicas": 3},
        resources={"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "100m"}},
    )
    assert problems(full) == ()
