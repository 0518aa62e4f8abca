"""What the manifests promise, read from the files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from handloop.apis.crd import custom_resource_definition
from handloop.controller.bundled import SETUPS
from handloop.controller.cli.declarations import declared_access
from handloop.controller.cli.operator import Setup
from handloop.controller.cli.options import Options
from handloop.controller.runtime.rbac.roles import roles
from handloop.controller.runtime.serving.access import METRICS_AUTH_ACCESS
from support.builders.options import parse_options

MANIFESTS = Path(__file__).parents[2] / "manifests"
OPERATING = (MANIFESTS.parent / "docs/how-to/operating.md").read_text(encoding="utf-8")
MADE = (MANIFESTS / "bundle", MANIFESTS / "charts")
"""Applied by the Operator Lifecycle Manager and by helm, and not by kustomize."""
FILES = sorted(path for path in MANIFESTS.glob("*/**/*.yaml") if not {*MADE} & {*path.parents})
"""Without install.yaml, which is made of them."""
OBJECTS = [path for path in FILES if path.name != "kustomization.yaml" and not path.stem.endswith("_patch")]
END_SECONDS = 8.0
"""The time after the drain: 6 s for lease, caches and events, the servers' ends, the interpreter's."""


def read(path: str) -> dict[str, Any]:
    """The one document of a file."""
    document: dict[str, Any] = yaml.safe_load((MANIFESTS / path).read_text(encoding="utf-8"))
    return document


def deployment() -> dict[str, Any]:
    """The manager's."""
    return read("manager/deployment.yaml")


def pod() -> dict[str, Any]:
    """What each replica is."""
    spec: dict[str, Any] = deployment()["spec"]["template"]["spec"]
    return spec


def container() -> dict[str, Any]:
    """The only one."""
    (only,) = pod()["containers"]
    found: dict[str, Any] = only
    return found


def options() -> Options:
    """The Deployment's arguments as the program reads them, in the namespace that it runs in."""
    environment = {"POD_NAMESPACE": deployment()["metadata"]["namespace"]}
    return parse_options(container()["args"], environment)


def test_every_kustomization_names_files_that_exist_and_no_file_is_left_out() -> None:
    """Each resource and each patch is there; each file belongs to a kustomization."""
    used = set()
    for kustomization in MANIFESTS.rglob("kustomization.yaml"):
        document = yaml.safe_load(kustomization.read_text(encoding="utf-8"))
        patches = [patch["path"] for patch in document.get("patches", [])]
        for path in [*document["resources"], *patches]:
            assert (kustomization.parent / path).exists(), f"{kustomization}: {path}"
            used.add((kustomization.parent / path).resolve())
    files = {path.resolve() for path in FILES if path.name != "kustomization.yaml"}
    assert files <= used


@pytest.mark.parametrize("path", OBJECTS, ids=lambda path: str(path.relative_to(MANIFESTS)))
def test_each_file_is_yaml_of_whole_objects(path: Path) -> None:
    """Kind and name everywhere; a namespaced object names its namespace, but for samples."""
    for document in yaml.safe_load_all(path.read_text(encoding="utf-8")):
        assert document["apiVersion"]
        assert document["metadata"]["name"]
        cluster_scoped = document["kind"] in ("Namespace", "CustomResourceDefinition") or document[
            "kind"
        ].startswith("ClusterRole")
        if not cluster_scoped and path.parent.name != "samples":
            everywhere = read(str(path.parent / "kustomization.yaml")).get("namespace")
            assert document["metadata"].get("namespace", everywhere) == "handloop-system"


def test_the_deployment_starts_a_program_that_elects_a_leader() -> None:
    """Its arguments are understood; several replicas need a leader; the role allows the lease."""
    assert deployment()["spec"]["replicas"] >= 2
    assert options().leader_elect
    roles = list(yaml.safe_load_all((MANIFESTS / "rbac/role.yaml").read_text(encoding="utf-8")))
    allowed = {
        (group, resource, verb)
        for role in roles
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    needed = {
        (entry.resource.group, entry.rule_resource, verb)
        for entry in declared_access(options())
        for verb in entry.verbs
    }
    assert allowed == needed
    (lock,) = [role for role in roles if role["kind"] == "Role"]
    assert lock["metadata"]["namespace"] == options().leader_elect_resource_namespace


def test_grace_period_is_longer_than_the_drain() -> None:
    """The kubelet must not kill a program that is ending: grace period > --shutdown-timeout and a bit."""
    assert pod()["terminationGracePeriodSeconds"] > options().shutdown_timeout + END_SECONDS


def test_the_pod_is_hardened() -> None:
    """Restricted pod security: no root, no privileges, no capabilities, a read-only root."""
    security = pod()["securityContext"]
    assert (security["runAsNonRoot"], security["runAsUser"], security["runAsGroup"]) == (True, 65532, 65532)
    assert security["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container()["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert not any(pod().get(name) for name in ("hostNetwork", "hostPID", "hostIPC"))


def test_the_namespace_enforces_what_the_pod_keeps() -> None:
    """It is labelled restricted, so that nothing laxer can come into it."""
    labels = read("manager/namespace.yaml")["metadata"]["labels"]
    modes = {mode: labels[f"pod-security.kubernetes.io/{mode}"] for mode in ("enforce", "audit", "warn")}
    assert set(modes.values()) == {"restricted"}


def test_only_the_deployment_gets_the_token() -> None:
    """Other pods of the account would have to ask for it."""
    assert read("rbac/service_account.yaml")["automountServiceAccountToken"] is False
    assert pod()["automountServiceAccountToken"] is True
    assert pod()["serviceAccountName"] == read("rbac/service_account.yaml")["metadata"]["name"]


def test_probes_ask_where_the_program_answers(tmp_path: Path) -> None:
    """All three, on the port of the options; the startup probe gives more time than the others."""
    ports = {port["name"]: port["containerPort"] for port in container()["ports"]}
    assert pod()["automountServiceAccountToken"]
    (tmp_path / "token").write_text("as the kubelet mounts it")
    environment = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}
    found = parse_options(
        container()["args"], {**environment, "POD_NAMESPACE": "x"}, service_account=str(tmp_path)
    )
    health, metrics = found.health_probe_bind_address, found.metrics_bind_address
    assert health is not None
    assert metrics is not None
    assert health.host == metrics.host == ""
    assert ports == {"health": health.port, "metrics": metrics.port}
    paths = {
        name: container()[name]["httpGet"]["path"]
        for name in ("startupProbe", "livenessProbe", "readinessProbe")
    }
    assert paths == {"startupProbe": "/healthz", "livenessProbe": "/healthz", "readinessProbe": "/readyz"}
    assert {container()[name]["httpGet"]["port"] for name in paths} == {"health"}
    startup = container()["startupProbe"]
    assert startup["periodSeconds"] * startup["failureThreshold"] >= 60


def test_everything_selects_the_same_pods() -> None:
    """Deployment, disruption budget, spread, network policy and metrics service mean one set of pods."""
    labels = deployment()["spec"]["template"]["metadata"]["labels"]
    selectors = [
        deployment()["spec"]["selector"]["matchLabels"],
        read("manager/pod_disruption_budget.yaml")["spec"]["selector"]["matchLabels"],
        read("network-policy/network_policy.yaml")["spec"]["podSelector"]["matchLabels"],
        read("default/metrics_service.yaml")["spec"]["selector"],
        *(rule["labelSelector"]["matchLabels"] for rule in pod()["topologySpreadConstraints"]),
    ]
    assert all(selector == labels for selector in selectors)


def test_metrics_are_read_over_tls_by_permission() -> None:
    """The Deployment asks for it, the account may ask whose a token is, and no annotation is for scrapes."""
    assert options().metrics_auth
    assert not any("prometheus" in key for key in deployment()["spec"]["template"]["metadata"]["annotations"])
    (made,) = roles(METRICS_AUTH_ACCESS)
    assert made in yaml.safe_load_all((MANIFESTS / "rbac/role.yaml").read_text(encoding="utf-8"))
    assert read("rbac/metrics_auth_role_binding.yaml")["roleRef"]["name"] == made["metadata"]["name"]
    (endpoint,) = read("prometheus/service_monitor.yaml")["spec"]["endpoints"]
    assert endpoint["scheme"] == "https"
    (rule,) = read("rbac/metrics_reader_role.yaml")["rules"]
    assert rule == {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}


def test_the_arguments_follow_the_page_on_operating() -> None:
    """A resync and workers as it advises to begin with."""
    advised = re.findall(r"^python greeter.py (.*)$", OPERATING, re.MULTILINE)[0].split()
    assert {"--leader-elect", "--resync=10m", "--workers=4"} <= {*container()["args"]} & {*advised}


def test_one_replica_at_a_time_may_go() -> None:
    """A rollout starts the next before it ends one; a drained node takes one along, never all."""
    assert deployment()["spec"]["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}
    budget = read("manager/pod_disruption_budget.yaml")["spec"]
    assert budget["maxUnavailable"] == 1 < deployment()["spec"]["replicas"]
    assert budget["unhealthyPodEvictionPolicy"] == "AlwaysAllow"
    keys = {rule["topologyKey"] for rule in pod()["topologySpreadConstraints"]}
    assert keys == {"kubernetes.io/hostname", "topology.kubernetes.io/zone"}


def test_memory_is_bounded_and_cpu_is_not() -> None:
    """A leader that is throttled loses its lease."""
    resources = container()["resources"]
    assert set(resources["limits"]) == {"memory"}
    assert set(resources["requests"]) == {"cpu", "memory"}


@pytest.mark.parametrize("setup", SETUPS, ids=lambda setup: setup.name)
def test_people_get_roles_for_each_kind(setup: Setup) -> None:
    """Who may view or edit gets what the cluster's own roles of that name give, for our kinds too."""
    resource = setup.kinds[0].resource
    text = (MANIFESTS / "rbac/user_roles.yaml").read_text(encoding="utf-8")
    found = {role["metadata"]["name"]: role for role in yaml.safe_load_all(text)}
    viewer, editor = (found[f"handloop-{resource.singular}-{role}"] for role in ("viewer", "editor"))
    for role in (viewer, editor):
        (rule,) = role["rules"]
        assert rule["apiGroups"] == [resource.group]
        assert rule["resources"][0] == resource.plural
    assert "rbac.authorization.k8s.io/aggregate-to-view" in viewer["metadata"]["labels"]
    assert "rbac.authorization.k8s.io/aggregate-to-view" not in editor["metadata"]["labels"]


@pytest.mark.parametrize("setup", SETUPS, ids=lambda setup: setup.name)
def test_each_kind_has_a_sample_and_a_definition(setup: Setup) -> None:
    """Both are named in a kustomization, and the definition is of the type."""
    kind = setup.kinds[0]
    definition = custom_resource_definition(kind)
    assert definition in yaml.safe_load_all((MANIFESTS / "crd/crds.yaml").read_text(encoding="utf-8"))
    sample = read(str(Path(setup.sample).relative_to("manifests")))
    assert (sample["apiVersion"], sample["kind"]) == (kind.resource.api_version, kind.resource.kind)
