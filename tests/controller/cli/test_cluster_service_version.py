"""The ClusterServiceVersion: each field that we decide, and a real server with OLM's CRDs takes it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from handloop.apis.core_v1 import Event, Service
from handloop.apis.meta import Kind
from handloop.controller.cli.cluster_service_version import Release, cluster_service_version
from handloop.controller.cli.declarations import declared_access
from handloop.controller.cli.operator import Operator, Setup
from handloop.controller.cli.options import Options
from handloop.controller.cli.project_files import ProjectTable
from handloop.controller.myapp.types import MyApp
from handloop.controller.runtime.rbac.access import Access
from handloop.testing.eventually import eventually as until
from support.builders.options import parse_options
from support.servers.cluster import CRDS, RealCluster, RequestRefusedError

MANIFESTS: Final = Path(__file__).parents[3] / "manifests"
VERSIONS: Final = "/apis/operators.coreos.com/v1alpha1/namespaces/{}/clusterserviceversions"


class Team(Kind, group="example.org", version="v1beta1", scope="Cluster"):
    """A group of people."""


def read(path: str) -> dict[str, Any]:
    """The one document of a file."""
    document: dict[str, Any] = yaml.safe_load((MANIFESTS / path).read_text(encoding="utf-8"))
    return document


def release(*arguments: str, **more: Any) -> Release:
    """The release of this repository, with these arguments of its container."""
    fields: dict[str, Any] = {
        "options": parse_options(arguments, {"POD_NAMESPACE": "home"}),
        "deployment": read("manager/deployment.yaml"),
        "image": "example.org/handloop:1",
        "version": "1.0.0",
        "replaces": "",
        "project": ProjectTable(),
        "samples": [read("samples/foo.yaml"), read("samples/myapp.yaml")],
    }
    return Release(**fields | more)


def test_the_deployment_is_the_manifests_but_for_image_and_namespaces() -> None:
    """OLM's annotation names the namespaces, "" for all; no value of our own stays beside it."""
    before = read("manager/deployment.yaml")
    before["spec"]["template"]["spec"]["containers"][0]["env"] = [
        {"name": "CONTROLLER_NAMESPACE", "value": ""},
        {"name": "TZ", "value": "UTC"},
    ]
    install = cluster_service_version(release(deployment=before))["spec"]["install"]
    assert install["strategy"] == "deployment"
    (deployment,) = install["spec"]["deployments"]
    assert deployment["name"] == "handloop"
    container = before["spec"]["template"]["spec"]["containers"][0]
    path = "metadata.annotations['olm.targetNamespaces']"
    container["env"] = [
        {"name": "TZ", "value": "UTC"},
        {"name": "CONTROLLER_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": path}}},
    ]
    container["image"] = "example.org/handloop:1"
    assert deployment["spec"] == before["spec"]


def test_the_variable_is_the_one_that_the_program_reads() -> None:
    """As OLM fills it in: two names, one, or none for all namespaces."""
    spec = cluster_service_version(release())["spec"]["install"]["spec"]["deployments"][0]["spec"]
    variable = spec["template"]["spec"]["containers"][0]["env"][-1]["name"]
    read_as = [parse_options([], {variable: value}).namespaces for value in ("a,b", "a", "")]
    assert read_as == [("a", "b"), ("a",), ()]


def test_the_permissions_are_the_declared_access() -> None:
    """In namespaces, with the lease and Events, rules for namespaced resources; at cluster scope the rest."""
    found = release("--leader-elect", "--metrics-auth")
    spec = cluster_service_version(found)["spec"]["install"]["spec"]
    granted = {
        (place, group, resource, verb, *rule.get("resourceNames", ()))
        for place in ("permissions", "clusterPermissions")
        for entry in spec[place]
        for rule in entry["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    needed = {
        (
            "permissions" if entry.resource.namespaced else "clusterPermissions",
            entry.resource.group,
            entry.rule_resource,
            verb,
            *entry.names,
        )
        for entry in declared_access(found.options)
        if not entry.optional
        for verb in entry.verbs
    }
    assert granted == needed
    assert ("permissions", "coordination.k8s.io", "leases", "update", "handloop") in granted
    assert ("permissions", "", "events", "create") in granted
    accounts = {
        e["serviceAccountName"] for place in ("permissions", "clusterPermissions") for e in spec[place]
    }
    assert accounts == {"handloop"}


def test_nothing_is_asked_at_cluster_scope_without_need() -> None:
    """An empty list of permissions is left out."""
    assert set(cluster_service_version(release())["spec"]["install"]["spec"]) == {
        "deployments",
        "permissions",
    }


def test_every_install_mode_is_supported_unless_a_kind_has_no_namespace() -> None:
    """--namespace takes one, several or none; a Team is in none of them, and shards are for all."""
    setup = Setup(
        name="team",
        kinds=(Team,),
        access=(
            Access(resource=Team.resource, verbs=("list",)),
            Access(resource=MyApp.resource, verbs=("create",)),
            Access(resource=Service.resource, verbs=("create", "list")),
            Access(resource=Event.resource, verbs=("create",)),
        ),
    )
    teams = Operator(
        name="team-operator",
        command="teams",
        set_up=lambda *_: None,
        setups=lambda: (setup,),
        version=lambda: "",
    )
    found = release(options=Options(operator=teams), samples=[])
    modes = ("OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces")
    whole = (False, False, False, True)
    for one, supported in ((release(), (True,) * 4), (found, whole), (release("--shards=16"), whole)):
        told = cluster_service_version(one)["spec"]["installModes"]
        assert told == [{"type": m, "supported": s} for m, s in zip(modes, supported, strict=True)]
    spec = cluster_service_version(found)["spec"]
    assert spec["displayName"] == "Team Operator"
    assert spec["description"] == "The operator team-operator.\n\n* `Team`: A group of people."
    assert spec["customresourcedefinitions"]["owned"] == [
        {
            "name": "teams.example.org",
            "kind": "Team",
            "version": "v1beta1",
            "displayName": "Team",
            "description": "A group of people.",
            "resources": [
                {"name": "myapps.example.com", "kind": "MyApp", "version": "v1"},
                {"name": "", "kind": "Service", "version": "v1"},
            ],
        }
    ]


def test_the_project_names_its_authors_and_purpose() -> None:
    """Maintainers only with name and e-mail address, as OperatorHub wants; unknown parts are left out."""
    people = ({"name": "Ann", "email": "ann@example.org"}, {"name": "Bob"})
    project = ProjectTable(authors=people, urls={"Source": "https://example.org"}, keywords=("a",))
    told = cluster_service_version(release(project=project))["spec"]
    assert told["maintainers"] == [people[0]]
    assert told["provider"] == {"name": "Ann"}
    assert told["links"] == [{"name": "Source", "url": "https://example.org"}]
    assert told["keywords"] == ["a"]
    plain = cluster_service_version(release())["spec"]
    assert plain["provider"] == {"name": "handloop"}
    assert plain["keywords"] == ["handloop"]
    assert not {"maintainers", "links", "icon", "replaces"} & set(plain)


@pytest.mark.parametrize(
    ("version", "replaces", "maturity"),
    [("0.2.0", "0.1.0", "alpha"), ("1.0.0-rc.1", "", "alpha"), ("1.0.0", "1.0.0-rc.1", "stable")],
)
def test_the_version_makes_name_maturity_and_upgrade_edge(version: str, replaces: str, maturity: str) -> None:
    """`handloop.v0.2.0` replaces `handloop.v0.1.0`."""
    made = cluster_service_version(release(version=version, replaces=replaces))
    assert made["metadata"]["name"] == f"handloop.v{version}"
    assert (made["spec"]["version"], made["spec"]["maturity"]) == (version, maturity)
    assert made["spec"].get("replaces", "") == (f"handloop.v{replaces}" if replaces else "")


def test_the_examples_are_the_samples_without_their_namespace() -> None:
    """Whoever creates one chooses where; the image of the release is named."""
    placed = read("samples/foo.yaml")
    placed["metadata"]["namespace"] = "default"
    made = cluster_service_version(release(samples=[placed]))
    annotations = made["metadata"]["annotations"]
    assert json.loads(annotations["alm-examples"]) == [read("samples/foo.yaml")]
    assert annotations["containerImage"] == "example.org/handloop:1"
    assert made["spec"]["relatedImages"] == [{"name": "controller", "image": "example.org/handloop:1"}]


@pytest.fixture
def olm() -> Iterator[RealCluster]:
    """A namespace on the real server, which has OLM's CRD while the test runs."""
    kubeconfig, crds = os.environ.get("TEST_KUBECONFIG"), os.environ.get("OLM_CRDS")
    if not kubeconfig or not crds:
        pytest.skip("TEST_KUBECONFIG names no cluster, or OLM_CRDS no folder with the CRDs of OLM")
    path = Path(crds) / "operators.coreos.com_clusterserviceversions.yaml"
    definition = yaml.safe_load(path.read_text(encoding="utf-8"))
    name = definition["metadata"]["name"]
    with closing(RealCluster(Path(kubeconfig))) as cluster:
        if name in cluster.list(CRDS):
            pytest.skip("OLM's CRDs are in the cluster: they may be somebody's")
        cluster.create(CRDS, definition)
        try:
            until(lambda: serves(cluster), "served", seconds=cluster.seconds)
            yield cluster
        finally:
            cluster.delete(CRDS, name)


def serves(cluster: RealCluster) -> bool:
    """Whether ClusterServiceVersions are served."""
    with suppress(RequestRefusedError):
        cluster.list(VERSIONS.format(cluster.namespace))
        return True
    return False


@pytest.mark.real
def test_a_server_with_the_crds_of_olm_takes_it(olm: RealCluster) -> None:
    """A dry run with strict validation, of a first version and of the next: no unknown or missing field."""
    query = {"dryRun": "All", "fieldManager": "tests", "fieldValidation": "Strict"}
    for version, replaces in (("0.1.0", ""), ("0.2.0", "0.1.0")):
        made = cluster_service_version(release("--leader-elect", version=version, replaces=replaces))
        made["metadata"]["namespace"] = olm.namespace
        path = f"{VERSIONS.format(olm.namespace)}/{made['metadata']['name']}"
        stored = olm.call("PATCH", path, made, query=query, content_type="application/apply-patch+yaml")
        assert stored["spec"].get("replaces", "") == (f"handloop.v{replaces}" if replaces else "")
        made["spec"]["installMode"] = []
        with pytest.raises(RequestRefusedError, match="installMode"):
            olm.call("PATCH", path, made, query=query, content_type="application/apply-patch+yaml")
