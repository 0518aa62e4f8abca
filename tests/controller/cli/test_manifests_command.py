"""Generated manifests, and that those in the repository are what the generator makes."""

from __future__ import annotations

import json
import types
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Annotated

import pytest
import yaml
from msgspec import Meta

from handloop.apis.meta import APIStruct, Kind
from handloop.apis.schema_annotations import ANY_FIELDS
from handloop.controller.cli.main import execute
from handloop.controller.cli.manifests_command import manifests
from handloop.controller.cli.operator import Setup
from handloop.controller.cli.options import Options
from handloop.controller.cli.problems import EXIT_OK
from handloop.controller.program import PROGRAM
from handloop.kinds.core_v1 import PodTemplateSpec
from support.builders.options import parse_options

MANIFESTS = Path(__file__).parents[3] / "manifests"
AS_DEPLOYED = ("--leader-elect", "--metrics-auth", "--leader-elect-resource-namespace=handloop-system")


def printed(*words: str) -> str:
    """What `manifests` writes for a command line."""
    return manifests(parse_options(["manifests", *words], {}))


@pytest.mark.parametrize(
    ("words", "path"),
    [
        (("crd",), "crd/crds.yaml"),
        (("user-roles",), "rbac/user_roles.yaml"),
        (("rbac", *AS_DEPLOYED), "rbac/role.yaml"),
        (("rbac", "--shards=16", *AS_DEPLOYED[1:]), "shards/role.yaml"),
    ],
)
def test_the_repository_holds_what_the_generator_makes(words: tuple[str, ...], path: str) -> None:
    """A change of the types or of the declared access shows up here: `make manifests` mends it."""
    assert (MANIFESTS / path).read_text(encoding="utf-8") == printed(*words)


def test_any_program_prints_its_own_monitoring() -> None:
    """Alerts, dashboard and what is scraped are of the operator, in the namespace where it runs."""
    options = parse_options(["monitoring", "--leader-elect-resource-namespace=home"], {})
    operator = replace(PROGRAM, name="greeter", generator="")
    found = {one["kind"]: one for one in yaml.safe_load_all(manifests(replace(options, operator=operator)))}
    assert set(found) == {"Service", "ServiceMonitor", "PrometheusRule", "ConfigMap"}
    assert {one["metadata"]["namespace"] for one in found.values()} == {"home"}
    monitor, service = found["ServiceMonitor"]["spec"], found["Service"]
    assert monitor["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    for group in found["PrometheusRule"]["spec"]["groups"]:
        for rule in group["rules"]:
            assert rule["alert"].startswith("Greeter")
            assert f'namespace="home",job="{service["metadata"]["name"]}"' in rule["expr"]
    dashboard = json.loads(found["ConfigMap"]["data"]["dashboard.json"])
    assert (dashboard["uid"], dashboard["title"]) == ("greeter", "greeter")
    shown = {
        one["name"]: one["current"]["value"] for one in dashboard["templating"]["list"] if "current" in one
    }
    assert shown == {"namespace": "home", "job": "greeter-metrics"}


def test_a_definition_that_kubectl_apply_soon_refuses_is_reported() -> None:
    """Its JSON counts, of which a pod template takes a quarter of the limit; the YAML is longer."""

    class Small(APIStruct):
        """One template."""

        a: PodTemplateSpec | None = None

    class Large(APIStruct):
        """Four of them."""

        a: PodTemplateSpec | None = None
        b: PodTemplateSpec | None = None
        c: PodTemplateSpec | None = None
        d: Annotated[PodTemplateSpec | None, Meta(description="long " * 5000)] = None

    class Free(APIStruct):
        """Four of them, marked."""

        a: Annotated[PodTemplateSpec, ANY_FIELDS] | None = None
        b: Annotated[PodTemplateSpec, ANY_FIELDS] | None = None
        c: Annotated[PodTemplateSpec, ANY_FIELDS] | None = None
        d: PodTemplateSpec | None = None

    def said(spec: type[APIStruct]) -> str:
        body = {"__annotations__": {"spec": spec}}
        kind = types.new_class(
            "Site", (Kind,), {"group": "a.example", "version": "v1"}, lambda n: n.update(body)
        )
        setup = Setup(name="a", kinds=(kind,), access=())
        operator = replace(PROGRAM, setups=lambda: (setup,), names=())
        err = StringIO()
        assert (
            execute(Options(operator=operator, command="manifests", what="crd"), StringIO(), err) == EXIT_OK
        )
        return err.getvalue()

    assert (said(Small), said(Free)) == ("", "")
    told = said(Large)
    assert "the CRD of Site is 2" in told
    assert "ANY_FIELDS" in told


def test_every_controller_has_its_definition() -> None:
    """Without a choice all of them are printed, one document each."""
    names = [document["metadata"]["name"] for document in yaml.safe_load_all(printed("crd"))]
    assert names == ["foos.samplecontroller.k8s.io", "myapps.example.com"]


def test_a_chosen_controller_needs_less() -> None:
    """`--controllers=foo` asks for nothing of MyApps, Services or autoscalers."""
    document = yaml.safe_load(printed("rbac", "--controllers=foo"))
    groups = {group for rule in document["rules"] for group in rule["apiGroups"]}
    assert groups == {"", "apps", "samplecontroller.k8s.io"}
    assert "services" not in {name for rule in document["rules"] for name in rule["resources"]}


def test_a_lease_needs_a_role_in_its_namespace_only() -> None:
    """With -n and --leader-elect there are two Roles, and only one lease may be changed."""
    words = ("rbac", "-n", "demo", "--leader-elect", "--leader-elect-resource-name=mine")
    made = list(yaml.safe_load_all(printed(*words, "--leader-elect-resource-namespace=home")))
    assert [(role["kind"], role["metadata"]["namespace"]) for role in made] == [
        ("Role", "demo"),
        ("Role", "home"),
    ]
    named = [rule["resourceNames"] for rule in made[1]["rules"] if "update" in rule["verbs"]]
    assert named == [["mine"]]
