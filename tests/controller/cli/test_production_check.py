"""`doctor --production`: our own manifests pass, and each thing that is taken away is found."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from handloop.apis.crd import custom_resource_definition
from handloop.controller.cli.main import run_command
from handloop.controller.cli.production_check import Line, production_lines, production_problem
from handloop.controller.foo.types import Foo
from handloop.controller.program import PROGRAM
from handloop.testing.fake_clock import FakeClock
from handloop.testing.running_sandbox import running_sandbox
from support.builders.options import parse_options
from support.checks.api_errors import api_error

ROOT: Final = Path(__file__).parents[3]
SYSTEM: Final = "handloop-system"
PAGE: Final = (ROOT / "docs/production.md").read_text(encoding="utf-8")
NOW: Final = 1_800_000_000.0
LATE: Final = "2027-01-15T07:59:00.000000Z"
PLURALS: Final = {
    "deployments": "Deployment",
    "leases": "Lease",
    "networkpolicies": "NetworkPolicy",
    "poddisruptionbudgets": "PodDisruptionBudget",
    "prometheusrules": "PrometheusRule",
}
PLACES: Final = {
    "deployments": "apps/v1",
    "leases": "coordination.k8s.io/v1",
    "networkpolicies": "networking.k8s.io/v1",
    "poddisruptionbudgets": "policy/v1",
    "prometheusrules": "monitoring.coreos.com/v1",
}


class Answers:
    """A client that reads some objects. Args: codes are those of the answers to lists that fail."""

    def __init__(self, documents: list[dict[str, Any]], codes: dict[str, int]) -> None:
        self._documents = documents
        self._codes = codes

    def get_raw(self, path: str) -> bytes:
        """One object by name, or those of a kind in a namespace."""
        found = re.fullmatch("/apis/(.+)/namespaces/([^/]+)/([^/]+)(?:/(.+))?", path)
        assert found is not None
        group, namespace, plural, name = found.groups()
        if plural in self._codes:
            raise api_error(self._codes[plural], "No")
        assert group == PLACES[plural]
        of_kind = [one for one in self._documents if one["kind"] == PLURALS[plural]]
        there = [one for one in of_kind if one["metadata"]["namespace"] == namespace]
        if name is None:
            return json.dumps({"items": there}).encode()
        for one in there:
            if one["metadata"]["name"] == name:
                return json.dumps(one).encode()
        raise api_error(404, "NotFound")


def manifests() -> list[dict[str, Any]]:
    """All that production has, with an image of a release, rolled out."""
    names = ("manager/*.yaml", "network-policy/network_policy.yaml", "prometheus/prometheus_rule.yaml")
    paths = [path for name in names for path in sorted((ROOT / "manifests").glob(name))]
    documents = [one for path in paths for one in yaml.safe_load_all(path.read_text(encoding="utf-8"))]
    found = [one for one in documents if one.get("kind") not in (None, "Kustomization", "Namespace")]
    for one in found:
        one["metadata"]["namespace"] = SYSTEM
    container(found)["image"] = "registry.example/handloop:1.2.3"
    deployed = deployment(found)
    deployed["metadata"]["generation"] = 7
    deployed["status"] = {"observedGeneration": 7, "updatedReplicas": 2, "availableReplicas": 2}
    lease = {"holderIdentity": "a", "leaseDurationSeconds": 15, "renewTime": "2027-01-15T08:00:00.000000Z"}
    return [*found, {"kind": "Lease", "metadata": {"name": "handloop", "namespace": SYSTEM}, "spec": lease}]


def deployment(documents: list[dict[str, Any]]) -> dict[str, Any]:
    """The one of them."""
    (found,) = (one for one in documents if one["kind"] == "Deployment")
    return found


def checked(documents: list[dict[str, Any]], **codes: int) -> tuple[dict[str, Line], str]:
    """The lines by what they check, and the problem."""
    client: Any = Answers(documents, codes)
    options = parse_options(["doctor", "--production"])
    lines = production_lines(client, options, FakeClock(unix=NOW))
    return {line.what: line for line in lines}, str(production_problem(lines) or "")


def failed(lines: Mapping[str, Line]) -> list[str]:
    """What does not hold."""
    return [what for what, line in lines.items() if not line.ok]


def test_our_own_manifests_pass() -> None:
    """Each of 20 checks and more; the page has each, with its reason; each is spoilt below."""
    lines, problem = checked(manifests())
    assert (problem, failed(lines)) == ("", [])
    assert len(lines) >= 20
    assert re.findall(r"^\| ([a-z][^|]*) \|", PAGE.partition("## The list")[2], re.MULTILINE)[1:] == [*lines]
    assert [*lines] == [*SPOILT]


def container(documents: list[dict[str, Any]]) -> dict[str, Any]:
    """The program's."""
    found: dict[str, Any] = deployment(documents)["spec"]["template"]["spec"]["containers"][0]
    return found


def pod(documents: list[dict[str, Any]]) -> dict[str, Any]:
    """Its spec."""
    found: dict[str, Any] = deployment(documents)["spec"]["template"]["spec"]
    return found


def one_replica(documents: list[dict[str, Any]]) -> None:
    """Rolled out."""
    deployment(documents)["spec"]["replicas"] = 1
    deployment(documents)["status"].update(updatedReplicas=1, availableReplicas=1)


def without(kind: str) -> Callable[[list[dict[str, Any]]], None]:
    """Takes the objects of a kind away."""

    def take(documents: list[dict[str, Any]]) -> None:
        documents[:] = [one for one in documents if one["kind"] != kind]

    return take


def lacking(*path: str) -> Callable[[list[dict[str, Any]]], None]:
    """Takes a field of the container away."""

    def take(documents: list[dict[str, Any]]) -> None:
        place = container(documents)
        for name in path[:-1]:
            place = place[name]
        del place[path[-1]]

    return take


SPOILT: Final[dict[str, Callable[[list[dict[str, Any]]], object]]] = {
    "two replicas or more": one_replica,
    "leader election or shards": lambda all_: container(all_)["args"].remove("--leader-elect"),
    "the rollout is complete": lambda all_: deployment(all_)["status"].update(availableReplicas=1),
    "a lease is held and renewed": lambda all_: all_[-1]["spec"].update(
        renewTime="2027-01-15T07:59:00.000000Z"
    ),
    "a disruption budget allows an eviction": without("PodDisruptionBudget"),
    "a startup probe": lacking("startupProbe"),
    "a liveness probe": lacking("livenessProbe"),
    "a readiness probe": lacking("readinessProbe"),
    "a CPU request": lacking("resources", "requests", "cpu"),
    "a memory request": lacking("resources", "requests", "memory"),
    "a memory limit": lacking("resources", "limits", "memory"),
    "no CPU limit": lambda all_: container(all_)["resources"]["limits"].update(cpu="1"),
    "a user other than root": lambda all_: pod(all_)["securityContext"].pop("runAsNonRoot"),
    "a read-only root file system": lacking("securityContext", "readOnlyRootFilesystem"),
    "no privilege escalation, no capabilities": lacking("securityContext", "capabilities"),
    "a seccomp profile": lambda all_: pod(all_)["securityContext"].pop("seccompProfile"),
    "a service account of its own": lambda all_: pod(all_).pop("serviceAccountName"),
    "a fixed image tag or digest": lambda all_: container(all_).update(
        image="registry.example:5000/handloop"
    ),
    "enough time to shut down": lambda all_: pod(all_).update(terminationGracePeriodSeconds=30),
    "protected metrics": lambda all_: container(all_)["args"].remove("--metrics-auth"),
    "pods on different nodes": lambda all_: pod(all_).pop("topologySpreadConstraints"),
    "a network policy": without("NetworkPolicy"),
    "alerts": without("PrometheusRule"),
}


@pytest.mark.parametrize("what", SPOILT)
def test_what_is_missing_is_found(what: str) -> None:
    """That line alone fails, with what to do."""
    documents = manifests()
    SPOILT[what](documents)
    lines, problem = checked(documents)
    assert failed(lines) == [what]
    assert f"  cause: failed check: {what}\n  fix: {lines[what].fix}\n" in problem


def test_what_may_not_be_read_has_no_verdict() -> None:
    """A kind that the server lacks has no objects."""
    lines, _ = checked(manifests(), networkpolicies=403)
    line = lines["a network policy"]
    assert (line.ok, line.subject) == (True, "a network policy (not checked: may not be read)")
    lines, _ = checked(manifests(), networkpolicies=500)
    assert failed(lines) == ["a network policy"], "a server that fails shows nothing"
    lines, _ = checked(manifests(), prometheusrules=404)
    assert failed(lines) == ["alerts"]


def test_the_operators_container_is_the_one_that_is_named() -> None:
    """A sidecar may come first, with flags of its own; a variable in args is the kubelet's to fill in."""
    documents = manifests()
    pod(documents)["containers"].insert(0, {"name": "proxy", "args": ["--upstream=x"]})
    found = pod(documents)["containers"][1]
    found["args"].append("--leader-elect-resource-namespace=$(POD_NAMESPACE)")
    assert failed(checked(documents)[0]) == []


def test_the_lease_is_its_own() -> None:
    """Not that of a neighbour whose name begins alike."""
    documents = manifests()
    documents[-1]["metadata"]["name"] = "handloop-eu"
    assert failed(checked(documents)[0]) == ["a lease is held and renewed"]


def test_a_chart_may_call_it_otherwise() -> None:
    """Helm's label names the chart; args that the program refuses are told."""
    documents = manifests()
    deployment(documents)["metadata"].update(name="other", labels={"helm.sh/chart": "handloop-1.2.3"})
    assert failed(checked(documents)[0]) == []
    container(documents)["args"].append("--wrokers=3")
    assert "the program would refuse the Deployment's args: unknown flag --wrokers" in checked(documents)[1]


def test_without_a_deployment_there_is_no_list(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On a server: doctor says where it looked, and ends with 1."""
    with running_sandbox(tmp_path) as sandbox:
        sandbox.apply(custom_resource_definition(Foo))
        words = ["doctor", "--production", "--kubeconfig", str(sandbox.kubeconfig), "--controllers=foo"]
        assert run_command(PROGRAM, [*words, "--leader-elect-resource-namespace", "elsewhere"]) == 1
    told = capsys.readouterr().out
    assert "✗ production     a Deployment named handloop in the namespace elsewhere  E22\n" in told
    assert "more: handloop errors E22" in told
