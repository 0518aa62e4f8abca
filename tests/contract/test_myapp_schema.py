"""The schema of MyApp, as manifests/crd has it, on a server: what it fills in, and what it refuses."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from handloop.apis.crd import custom_resource_definition
from handloop.controller.myapp.types import MIN_MAX_RULE, NAME_RULE, ONE_SOURCE_RULE, ONE_VALUE_RULE, MyApp
from support.builders.widgets import CRDS, defined
from support.servers.api_server import Answer, APIServer, Object

DIGEST = "sha256:" + "0123456789abcdef" * 4
KEY = {"name": "n", "key": "k"}
SCALING = {"enabled": True, "maxReplicas": 3}


class MyApps:
    """MyApps of a group of the test's own."""

    def __init__(self, server: APIServer, group: str, namespace: str) -> None:
        self.server = server
        self.api_version = f"{group}/v1"
        self.path = f"/apis/{group}/v1/namespaces/{namespace}/myapps"

    def create(self, name: str = "a", /, **spec: Any) -> Answer:
        """Ask for one; its image is nginx unless given, and left out when None."""
        given = {key: value for key, value in {"image": "nginx", **spec}.items() if value is not None}
        metadata = {"name": name}
        return self.server.create(
            self.path, {"apiVersion": self.api_version, "kind": "MyApp", "metadata": metadata, "spec": given}
        )


@pytest.fixture(scope="module")
def group(server: APIServer) -> Iterator[str]:
    """A group with the definition of MyApp."""
    group = f"m{uuid.uuid4().hex[:8]}.contract.example.com"
    definition = custom_resource_definition(MyApp)
    definition["metadata"]["name"] = f"myapps.{group}"
    definition["spec"]["group"] = group
    with defined(server, definition):
        yield group


@pytest.fixture
def apps(server: APIServer, group: str, namespace: str) -> MyApps:
    """MyApps in the test's namespace."""
    return MyApps(server, group, namespace)


def test_the_definition_is_structural(server: APIServer, group: str) -> None:
    """The server finds nothing to complain about."""
    definition = server.get(f"{CRDS}/myapps.{group}").body
    conditions = {entry["type"]: entry["status"] for entry in definition["status"]["conditions"]}
    assert (conditions["Established"], conditions["NamesAccepted"]) == ("True", "True")
    assert conditions.get("NonStructuralSchema", "False") == "False"


def test_defaults_are_filled_in(apps: MyApps) -> None:
    """Unset fields get the documented value; autoscaling stays out unless it is asked for."""
    assert apps.create().body["spec"] == {
        "image": "nginx",
        "replicas": 1,
        "port": 8080,
        "serviceType": "ClusterIP",
    }
    scaling = apps.create("b", autoScaling=SCALING).body["spec"]["autoScaling"]
    assert scaling == {**SCALING, "minReplicas": 1, "targetCPUUtilizationPercentage": 80}


@pytest.mark.parametrize(
    "spec",
    [
        {"replicas": 1},
        {"replicas": 100},
        {"port": 1},
        {"port": 65535},
        {"image": f"registry.example.com:5000/team/my_app:1.0_b@{DIGEST}"},
        {"serviceType": "NodePort"},
        {"serviceType": "LoadBalancer"},
        {
            "resources": {
                "limits": {"cpu": "1.5", "memory": "1Gi"},
                "requests": {"cpu": "100m", "memory": "1e6"},
            }
        },
        {
            "env": [
                {"name": "A", "value": ""},
                {"name": "b.C-d"},
                {"name": "S", "valueFrom": {"secretKeyRef": KEY}},
            ]
        },
        {"autoScaling": {"enabled": True, "minReplicas": 3, "maxReplicas": 3}},
        {"autoScaling": {"enabled": False, "maxReplicas": 100, "targetCPUUtilizationPercentage": 100}},
    ],
)
def test_what_is_taken(apps: MyApps, spec: Object) -> None:
    """The bounds themselves, and every allowed field."""
    answer = apps.create(**spec)
    assert (answer.status, answer.warnings) == (201, []), answer


@pytest.mark.parametrize(
    ("spec", "field", "text"),
    [
        ({"replicas": 0}, "spec.replicas", "greater than or equal to 1"),
        ({"replicas": 101}, "spec.replicas", "less than or equal to 100"),
        ({"replicas": "2"}, "spec.replicas", "must be of type integer"),
        ({"image": None}, "spec.image", "Required value"),
        ({"image": ""}, "spec.image", "at least 1 chars long"),
        ({"image": "ng inx"}, "spec.image", "should match"),
        ({"image": "nginx@sha256:1"}, "spec.image", "should match"),
        ({"port": 0}, "spec.port", "greater than or equal to 1"),
        ({"port": 65536}, "spec.port", "less than or equal to 65535"),
        ({"serviceType": "ExternalName"}, "spec.serviceType", "supported values"),
        ({"resources": {"limits": {"cpu": "1z"}}}, "spec.resources.limits.cpu", "should match"),
        ({"resources": {"requests": {"memory": "-1Gi"}}}, "spec.resources.requests.memory", "should match"),
        (
            {"resources": {"requests": {"memory": 1}}},
            "spec.resources.requests.memory",
            "must be of type string",
        ),
        ({"env": [{"value": "x"}]}, "spec.env[0].name", "Required value"),
        ({"env": [{"name": "A=B"}]}, "spec.env[0].name", "should match"),
        ({"env": [{"name": "A"}, {"name": "A"}]}, "spec.env[1]", "Duplicate value"),
        (
            {"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "n"}}}]},
            "spec.env[0].valueFrom.secretKeyRef.key",
            "Required value",
        ),
        (
            {"env": [{"name": "A", "value": "", "valueFrom": {"secretKeyRef": KEY}}]},
            "spec.env[0]",
            ONE_VALUE_RULE.message,
        ),
        ({"env": [{"name": "A", "valueFrom": {}}]}, "spec.env[0].valueFrom", ONE_SOURCE_RULE.message),
        (
            {"env": [{"name": "A", "valueFrom": {"secretKeyRef": KEY, "configMapKeyRef": KEY}}]},
            "spec.env[0].valueFrom",
            ONE_SOURCE_RULE.message,
        ),
        ({"autoScaling": {"maxReplicas": 3}}, "spec.autoScaling.enabled", "Required value"),
        ({"autoScaling": {"enabled": True}}, "spec.autoScaling.maxReplicas", "Required value"),
        (
            {"autoScaling": {**SCALING, "maxReplicas": 101}},
            "spec.autoScaling.maxReplicas",
            "less than or equal",
        ),
        (
            {"autoScaling": {**SCALING, "minReplicas": 0}},
            "spec.autoScaling.minReplicas",
            "greater than or equal",
        ),
        ({"autoScaling": {**SCALING, "minReplicas": 4}}, "spec.autoScaling", MIN_MAX_RULE.message),
        (
            {"autoScaling": {**SCALING, "targetCPUUtilizationPercentage": 101}},
            "spec.autoScaling.targetCPUUtilizationPercentage",
            "less than or equal to 100",
        ),
    ],
)
def test_what_is_refused(apps: MyApps, spec: Object, field: str, text: str) -> None:
    """Each rule of the page by itself: 422 with the field and the reason."""
    answer = apps.create(**spec)
    assert answer.status == 422, answer
    assert [cause for cause in answer.causes if cause[1] == field and text in cause[2]], answer.causes


@pytest.mark.parametrize("name", ["a.b", "1a", "a" * 64])
def test_names_that_no_service_can_have_are_refused(apps: MyApps, name: str) -> None:
    """Before there is a MyApp whose Service the server will never take."""
    answer = apps.create(name)
    assert answer.status == 422
    assert NAME_RULE.message in answer.message


def test_a_rule_holds_for_changes_too(apps: MyApps) -> None:
    """A patch that breaks a rule is refused, and nothing is changed by it."""
    apps.create(autoScaling=SCALING)
    refused = apps.server.patch(f"{apps.path}/a", {"spec": {"autoScaling": {"minReplicas": 9}}})
    assert (refused.status, refused.causes[0][1]) == (422, "spec.autoScaling")
    assert apps.server.get(f"{apps.path}/a").body["spec"]["autoScaling"]["minReplicas"] == 1


def test_status_and_scale_are_subresources(apps: MyApps) -> None:
    """A status is written by itself, keyed by condition type; scale reads and writes the documented paths."""
    created = apps.create(replicas=2).body
    condition = {
        "type": "Ready",
        "status": "True",
        "reason": "DeploymentReady",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    status = {"conditions": [condition], "readyReplicas": 2, "selector": "app=a"}
    written = apps.server.update(f"{apps.path}/a/status", {**created, "spec": {}, "status": status})
    assert (written.status, written.body["metadata"]["generation"]) == (200, 1)
    assert (written.body["spec"], written.body["status"]) == (created["spec"], status)
    twice = {**written.body, "status": {"conditions": [condition, condition]}}
    assert apps.server.update(f"{apps.path}/a/status", twice).status == 422
    bare = {**written.body, "status": {"conditions": [{"type": "Ready", "status": "True", "reason": "R"}]}}
    assert apps.server.update(f"{apps.path}/a/status", bare).status == 422
    scale = apps.server.get(f"{apps.path}/a/scale").body
    assert (scale["spec"]["replicas"], scale["status"]) == (2, {"replicas": 2, "selector": "app=a"})
    apps.server.patch(f"{apps.path}/a/scale", {"spec": {"replicas": 5}})
    changed = apps.server.get(f"{apps.path}/a").body
    assert (changed["spec"]["replicas"], changed["metadata"]["generation"]) == (5, 2)


def test_the_columns_of_a_table(apps: MyApps) -> None:
    """`kubectl get` shows image, replicas, ready and age."""
    apps.create(replicas=2)
    table = apps.server.get(apps.path, accept="application/json;as=Table;v=v1;g=meta.k8s.io").body
    assert [column["name"] for column in table["columnDefinitions"]] == [
        "Name",
        "Image",
        "Replicas",
        "Ready",
        "Age",
    ]
    assert table["rows"][0]["cells"][:3] == ["a", "nginx", 2]
