"""
The charts as helm renders and installs them, beside what kubectl builds for the same choices.

Helm is at hand where $HELM names it, or the PATH has it: it is built from its Go module.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
import yaml

from handloop.apis.grammar.yaml_text import to_yaml
from handloop.controller.cli.chart_command import run_chart
from handloop.controller.cli.declarations import declared_access
from handloop.controller.program import PROGRAM
from handloop.controller.runtime.rbac.roles import roles
from support.builders.options import parse_options
from support.builders.shop import HOSTILE, shop, write_project
from support.servers.kubectl import kubectl_binary
from support.servers.turns import real_kubeconfig, turn

MANIFESTS: Final = Path(__file__).parents[2] / "manifests"
SYSTEM: Final = "handloop-system"
OF_HELM: Final = ("helm.sh/chart", "app.kubernetes.io/instance", "app.kubernetes.io/managed-by")
CONTAINER: Final = "/spec/template/spec/containers/0"
POD: Final = "/spec/template/spec"
PLACE: Final = "charted"
FOO: Final = "foo.samplecontroller.k8s.io/example-foo"
FLAGS: Final = ("--leader-elect", "--metrics-auth", f"--leader-elect-resource-namespace={SYSTEM}")


class Choice(NamedTuple):
    """The same choice twice: values of the chart, and a kustomization of the manifests."""

    values: Mapping[str, Any]
    resources: tuple[str, ...] = ("default",)
    patch: tuple[Mapping[str, Any], ...] = ()
    images: tuple[Mapping[str, Any], ...] = ({"name": "handloop", "newTag": "latest"},)
    without: tuple[str, ...] = ()
    namespaces: str = ""


def add(path: str, value: object) -> dict[str, Any]:
    """An operation of a JSON patch of the Deployment."""
    return {"op": "add", "path": path, "value": value}


TOLERATIONS: Final = [{"key": "infra", "operator": "Exists"}]
SPREAD: Final = {"topologyKey": "kubernetes.io/hostname", "maxSkew": 2, "whenUnsatisfiable": "DoNotSchedule"}
SELECTED: Final = {**SPREAD, "labelSelector": {"matchLabels": {"app.kubernetes.io/name": "handloop"}}}
ENV: Final = [{"name": "HTTPS_PROXY", "value": "http://proxy:3128"}]
CHOICES: Final = {
    "the defaults": Choice({}),
    "shards": Choice({"shards": 16, "replicas": 4}, ("shards",)),
    "a certificate": Choice({"metrics": {"certificateSecret": "handloop-metrics-cert"}}, ("metrics-cert",)),
    "network policy": Choice({"networkPolicy": {"enabled": True}}, ("default", "network-policy")),
    "monitoring": Choice({"monitoring": {"enabled": True}}, ("default", "prometheus")),
    "no user roles": Choice({"userRoles": {"enabled": False}}, without=("-viewer", "-editor")),
    "no disruption budget": Choice(
        {"podDisruptionBudget": {"enabled": False}}, without=("PodDisruptionBudget",)
    ),
    "two namespaces": Choice(
        {"namespaces": ["a", "b"]}, patch=(add(f"{CONTAINER}/args/-", "--namespace=a,b"),), namespaces="a,b"
    ),
    "resources": Choice(
        {"resources": {"limits": {"memory": "1Gi"}, "requests": None}, "replicas": 3},
        patch=(
            add(f"{CONTAINER}/resources", {"limits": {"memory": "1Gi"}}),
            add("/spec/replicas", 3),
        ),
    ),
    "where it runs": Choice(
        {
            "priorityClassName": "system-cluster-critical",
            "nodeSelector": {"disk": "ssd"},
            "tolerations": TOLERATIONS,
            "topologySpreadConstraints": [SPREAD],
            "affinity": {"nodeAffinity": {}},
        },
        patch=(
            add(f"{POD}/priorityClassName", "system-cluster-critical"),
            add(f"{POD}/nodeSelector", {"disk": "ssd"}),
            add(f"{POD}/tolerations", TOLERATIONS),
            add(f"{POD}/topologySpreadConstraints", [SELECTED]),
            add(f"{POD}/affinity", {"nodeAffinity": {}}),
        ),
    ),
    "an image by its digest": Choice(
        {"image": {"repository": "registry.example:5000/h", "digest": f"sha256:{'0' * 64}"}},
        images=({"name": "handloop", "newName": "registry.example:5000/h", "digest": f"sha256:{'0' * 64}"},),
    ),
    "words of one's own": Choice(
        {
            "args": ["-v=4", 'a "b" {{ c }}'],
            "env": ENV,
            "podAnnotations": {"a": "{{ b }}"},
            "podLabels": {"team": "yes"},
            "imagePullSecrets": [{"name": "pull"}],
            "serviceAccount": {"annotations": {"role": "arn:aws:iam::1:role/a"}},
        },
        patch=(
            add(f"{CONTAINER}/args/-", "-v=4"),
            add(f"{CONTAINER}/args/-", 'a "b" {{ c }}'),
            add(f"{CONTAINER}/env", ENV),
            add("/spec/template/metadata/annotations/a", "{{ b }}"),
            add("/spec/template/metadata/labels/team", "yes"),
            add(f"{POD}/imagePullSecrets", [{"name": "pull"}]),
        ),
    ),
    "no election": Choice(
        {"leaderElection": False, "replicas": 1},
        patch=(
            {"op": "remove", "path": f"{CONTAINER}/args/0"},
            add("/spec/replicas", 1),
        ),
    ),
    "all at once": Choice(
        {
            "shards": 16,
            "replicas": 4,
            "monitoring": {"enabled": True},
            "networkPolicy": {"enabled": True},
            "metrics": {"certificateSecret": "handloop-metrics-cert"},
        },
        ("shards", "network-policy", "prometheus"),
        patch=(
            add(f"{CONTAINER}/args/-", "--metrics-cert-dir=/metrics-cert"),
            add(
                f"{CONTAINER}/volumeMounts/-",
                {"name": "metrics-cert", "mountPath": "/metrics-cert", "readOnly": True},
            ),
            add(
                f"{POD}/volumes/-",
                {"name": "metrics-cert", "secret": {"secretName": "handloop-metrics-cert"}},
            ),
        ),
    ),
}


@pytest.fixture(scope="module")
def helm() -> str:
    """The stock helm."""
    found = os.environ.get("HELM") or shutil.which("helm")
    if not found:
        pytest.skip("no helm: set HELM or install it in PATH")
    return found


@pytest.fixture(scope="module")
def kubectl() -> str:
    """The stock kubectl."""
    return kubectl_binary()


@pytest.fixture(scope="module")
def charts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with both charts of this repository."""
    folder = tmp_path_factory.mktemp("charts")
    words = [f"--output={folder}", f"--manifests={MANIFESTS}", "--version=1.2.3"]
    assert run_chart(PROGRAM, words) == 0
    return folder


def ran(*words: str, text: str = "") -> str:
    """Run a program. Returns: its output."""
    done = subprocess.run(words, input=text, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def rendered(
    helm: str, chart: Path, values: Mapping[str, Any], release: str = "handloop"
) -> list[dict[str, Any]]:
    """What helm makes of a chart: by kind and names, without what only helm has."""
    words = (
        helm,
        "template",
        release,
        str(chart),
        "--kube-version=1.36",
        "--namespace",
        SYSTEM,
        "--values",
        "-",
    )
    return [without_helm(one) for one in documents(ran(*words, text=json.dumps(values)))]


def documents(text: str) -> list[dict[str, Any]]:
    """In an order that does not depend on the maker."""
    found = [one for one in yaml.safe_load_all(text) if one]
    return sorted(found, key=key)


def without_helm(document: dict[str, Any]) -> dict[str, Any]:
    """A document without helm's labels, and without empty labels and annotations."""
    metadata = document["metadata"]
    labels = {name: value for name, value in metadata.get("labels", {}).items() if name not in OF_HELM}
    kept = {name: value for name, value in metadata.items() if name not in ("labels", "annotations")}
    annotations = {
        k: v for k, v in (metadata.get("annotations") or {}).items() if not k.startswith("helm.sh/")
    }
    given = {"labels": labels, "annotations": annotations}
    return {**document, "metadata": kept | {name: fields for name, fields in given.items() if fields}}


def built(kubectl: str, folder: Path, choice: Choice) -> list[dict[str, Any]]:
    """What kustomize makes, but for the namespace and the CRDs, which helm or the other chart brings."""
    shutil.copytree(MANIFESTS, folder / "manifests", ignore=shutil.ignore_patterns("bundle", "charts"))
    (folder / "kustomization.yaml").write_text(
        to_yaml(
            {
                "resources": [f"manifests/{name}" for name in choice.resources],
                "images": list(choice.images),
                "patches": [{"target": {"kind": "Deployment"}, "patch": json.dumps(choice.patch)}]
                if choice.patch
                else [],
            }
        ),
        encoding="utf-8",
    )
    others = ("Namespace", "CustomResourceDefinition")
    return [
        without_helm(one)
        for one in documents(ran(kubectl, "kustomize", str(folder)))
        if one["kind"] not in (*others, *choice.without)
        and not (one["kind"] == "ClusterRole" and one["metadata"]["name"].endswith(choice.without or "?"))
    ]


@pytest.mark.kubectl
@pytest.mark.parametrize("name", CHOICES)
def test_a_choice_is_the_same_by_helm_and_by_kustomize(
    helm: str, kubectl: str, charts: Path, tmp_path: Path, name: str
) -> None:
    """Object by object, field by field; the roles of namespaces are those that `rbac` prints."""
    choice = CHOICES[name]
    values = {"image": {"tag": "latest"}, **choice.values}
    made, expected = rendered(helm, charts / "handloop", values), built(kubectl, tmp_path, choice)
    if choice.namespaces:
        expected = in_namespaces(expected, choice.namespaces)
    if "serviceAccount" in choice.values:
        (account,) = (one for one in expected if one["kind"] == "ServiceAccount")
        account["metadata"]["annotations"] = choice.values["serviceAccount"]["annotations"]
    if name == "no election":
        given_role = ("Role", "RoleBinding")
        expected, made = ([one for one in all_ if one["kind"] not in given_role] for all_ in (expected, made))
    assert {key(one): one for one in made} == {key(one): one for one in expected}


def in_namespaces(objects: list[dict[str, Any]], namespaces: str) -> list[dict[str, Any]]:
    """The same with the roles that `manifests rbac -n` prints, and a binding in each of the namespaces."""
    options = parse_options(["manifests", "rbac", "--namespace", namespaces, *FLAGS])
    printed = roles(declared_access(options), namespaces=options.namespaces)
    of_cluster = ("ClusterRole", "", "handloop")
    (binding,) = (one for one in objects if key(one) == ("ClusterRoleBinding", "", "handloop"))
    others = {key(one): one for one in objects if one is not binding and key(one) != of_cluster}
    for namespace in options.namespaces:
        metadata = {"name": "handloop", "namespace": namespace}
        role = {**binding["roleRef"], "kind": "Role"}
        bound = {**binding, "kind": "RoleBinding", "metadata": metadata, "roleRef": role}
        others[key(bound)] = bound
    return [*({key(one): one for one in printed} | others).values()]


def key(document: Mapping[str, Any]) -> tuple[str, str, str]:
    """What tells objects apart."""
    metadata = document["metadata"]
    return document["kind"], metadata.get("namespace", ""), metadata["name"]


def test_the_definitions_are_those_that_crd_prints(helm: str, charts: Path) -> None:
    """Kept when the chart goes, unless a value says otherwise."""
    words = (helm, "template", "a", str(charts / "handloop-crds"), "--kube-version=1.36")
    printed = documents((MANIFESTS / "crd/crds.yaml").read_text(encoding="utf-8"))
    made = documents(ran(*words))
    assert [without_helm(one) for one in made] == [without_helm(one) for one in printed]
    assert {one["metadata"]["annotations"]["helm.sh/resource-policy"] for one in made} == {"keep"}
    assert "helm.sh" not in ran(*words, "--set=keep=false")


def test_every_object_is_called_as_its_release(helm: str, charts: Path) -> None:
    """So that two of them share a cluster: no name is left, nor the lease's, nor those of alerts' queries."""
    values = {"monitoring": {"enabled": True}, "networkPolicy": {"enabled": True}}
    made = rendered(helm, charts / "handloop", values, "other")
    assert [one["metadata"]["name"] for one in made if not one["metadata"]["name"].startswith("other")] == []
    text = json.dumps(made)
    assert "handloop-metrics" not in text
    (pods,) = (one["spec"]["template"]["spec"] for one in made if one["kind"] == "Deployment")
    assert "--leader-elect-resource-name=other" in pods["containers"][0]["args"]
    (lease,) = (one for one in made if one["kind"] == "Role")
    assert ["other"] in [rule.get("resourceNames") for rule in lease["rules"]]


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"replica": 3}, "replica"),
        ({"replicas": "3"}, "replicas"),
        ({"namespaces": ["a,b"]}, "namespaces"),
        ({"namespaces": ["x\nkind: Pod"]}, "namespaces"),
        ({"namespaces": ["a", "a"]}, "namespaces"),
        ({"image": {"tga": "1"}}, "tga"),
        ({"image": {"digest": "abc"}}, "digest"),
        ({"fullnameOverride": "A_b"}, "fullnameOverride"),
        ({"shards": 4, "namespaces": ["a"]}, "shards require all namespaces: leave namespaces empty"),
    ],
)
def test_a_value_that_does_not_fit_is_named(
    helm: str, charts: Path, values: Mapping[str, Any], told: str
) -> None:
    """By helm, which reads values.schema.json."""
    words = [helm, "template", "a", str(charts / "handloop"), "--kube-version=1.36", "--values", "-"]
    done = subprocess.run(words, input=json.dumps(values), capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert told in done.stderr


def test_a_great_number_is_printed_with_all_its_digits(helm: str, charts: Path) -> None:
    """Helm reads the numbers of a values file as floats."""
    values = {"image": {"tag": 20260101}, "replicas": 1_000_000, "shards": 16_000_000}
    (made,) = (one for one in rendered(helm, charts / "handloop", values) if one["kind"] == "Deployment")
    (container,) = made["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "handloop:20260101"
    assert made["spec"]["replicas"] == 1_000_000
    assert "--shards=16000000" in container["args"]


def test_a_text_is_a_text_and_a_webhook_is_found(
    helm: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A description is no expression; the definition names the Service of the release that converts."""
    write_project(tmp_path / "sites")
    monkeypatch.chdir(tmp_path / "sites")
    assert run_chart(shop(), []) == 0
    charts, release = Path("manifests/charts"), {"operator": {"name": "other", "namespace": "there"}}
    (definition,) = rendered(helm, charts / "sites-crds", release)
    assert HOSTILE in json.dumps(definition)
    service = definition["spec"]["conversion"]["webhook"]["clientConfig"]["service"]
    assert (service["name"], service["namespace"]) == ("other-webhook", "there")
    made = rendered(helm, charts / "sites", {"webhook": {"certificateSecret": "mine"}}, "other")
    assert ("Service", SYSTEM, "other-webhook") in map(key, made)
    (pod,) = (one["spec"]["template"]["spec"] for one in made if one["kind"] == "Deployment")
    words = {"bind-address=:9443", "service=other-webhook", "cert-dir=/webhook-cert"}
    assert {f"--webhook-{word}" for word in words} <= {*pod["containers"][0]["args"]}
    assert "mine" in [volume.get("secret", {}).get("secretName") for volume in pod["volumes"]]
    rules = [rule for one in made if "rules" in one for rule in one["rules"]]
    assert ["sites"] in [rule.get("resources") for rule in rules], (
        "the name of the operator is not the name of a resource"
    )


UMBRELLA: Final = """\
apiVersion: v2
name: shop
version: 1.0.0
dependencies:
  - {name: handloop, version: 1.2.3, repository: "file://./handloop", condition: handloop.enabled}
"""


def test_it_may_be_below_another_chart(helm: str, charts: Path, tmp_path: Path) -> None:
    """With `enabled` and `global` from there; its own name is in those of its objects."""
    shutil.copytree(charts / "handloop", tmp_path / "charts/handloop")
    (tmp_path / "Chart.yaml").write_text(UMBRELLA, encoding="utf-8")
    made = rendered(helm, tmp_path, {"handloop": {"enabled": True}, "global": {"a": 1}}, "other")
    assert {"other-handloop", "other-handloop-metrics"} <= {one["metadata"]["name"] for one in made}
    assert rendered(helm, tmp_path, {"handloop": {"enabled": False}}) == []


def test_older_values_and_numbers_are_no_trouble(helm: str, charts: Path) -> None:
    """`--reuse-values` has none of a newer block; a namespace may be a number."""
    older = {"metrics": None, "monitoring": None, "serviceAccount": None, "image": {"digest": None, "tag": 7}}
    (deployed,) = (one for one in rendered(helm, charts / "handloop", older) if one["kind"] == "Deployment")
    assert deployed["spec"]["template"]["spec"]["containers"][0]["image"] == "handloop:7"
    words = (helm, "template", "handloop", str(charts / "handloop"), "--kube-version=1.36", "--namespace=123")
    assert {one["metadata"].get("namespace", "123") for one in documents(ran(*words))} == {"123"}
    own = {"podLabels": {"app.kubernetes.io/name": "x", "team": "y"}}
    (deployed,) = (one for one in rendered(helm, charts / "handloop", own) if one["kind"] == "Deployment")
    labels = deployed["spec"]["template"]["metadata"]["labels"]
    assert labels == {"app.kubernetes.io/name": "handloop", "team": "y"}


@pytest.mark.parametrize("release", ["123", "my.app"])
def test_a_release_that_no_service_can_be_called_is_refused(helm: str, charts: Path, release: str) -> None:
    """With the value that helps."""
    words = [helm, "template", release, str(charts / "handloop"), "--kube-version=1.36"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert f"{release} is not a valid name for a Service: set fullnameOverride" in done.stderr


def is_ready(pod: Mapping[str, Any]) -> bool:
    """A pod that is not on its way out."""
    conditions = {one["type"]: one["status"] for one in pod["status"].get("conditions", ())}
    return "deletionTimestamp" not in pod["metadata"] and conditions.get("Ready") == "True"


@pytest.mark.real
def test_an_upgrade_restarts_no_more_than_it_must(
    helm: str, kubectl: str, charts: Path, tmp_path: Path
) -> None:
    """
    On the real server: a newer chart of the same image changes no pod, a newer image all of them.

    --wait ends when the pods are ready. Uninstalled, the object and its kind are still there.
    """
    kubeconfig, newer = real_kubeconfig(), tmp_path / "newer"
    at = ("--kubeconfig", str(kubeconfig), "--namespace", PLACE)
    assert run_chart(PROGRAM, [f"--output={newer}", f"--manifests={MANIFESTS}", "--version=1.2.4"]) == 0

    def install(folder: Path, tag: str) -> set[str]:
        """Install or upgrade both. Returns: the pods that are ready then."""
        words = (*at, "--create-namespace", "--wait", "--timeout=120s")
        crds, operator = str(folder / "handloop-crds"), str(folder / "handloop")
        # other tests brought the definitions
        ran(helm, "upgrade", "--install", "charted-crds", crds, *words, "--take-ownership")
        ran(helm, "upgrade", "--install", "charted", operator, *words, f"--set=image.tag={tag}")
        found = json.loads(ran(kubectl, *at, "get", "pods", "-o", "json"))["items"]
        return {pod["metadata"]["name"] for pod in found if is_ready(pod)}

    with turn(kubeconfig, "foos", alone=False):
        try:
            before = install(charts, "1")
            assert len(before) == 2
            ran(kubectl, *at, "apply", "-f", str(MANIFESTS / "samples/foo.yaml"))
            assert install(newer, "1") == before
            after = install(newer, "2")
            assert len(after) == 2
            assert not after & before
            ran(helm, "uninstall", "charted", "charted-crds", "--wait", *at)
            assert ran(kubectl, *at, "get", "foo", "-o", "name") == f"{FOO}\n"
        finally:
            ran(kubectl, *at, "delete", "--ignore-not-found", FOO)
            ran(kubectl, *at, "delete", "--ignore-not-found", "--wait=false", "namespace", PLACE)
