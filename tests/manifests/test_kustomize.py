"""The manifests as kubectl builds them, and as a server that stores nothing of it would take them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from handloop.controller.cli.webhook import webhook_address, webhook_service
from handloop.controller.runtime.conversion.conversion import access_for
from handloop.controller.runtime.rbac.roles import roles
from handloop.testing.eventually import eventually as until
from handloop_sandbox.server import Sandbox
from support.builders.converted_sites import Site
from support.builders.options import parse_options
from support.servers.kubectl import Kubectl, kubectl_binary
from support.servers.turns import real_kubeconfig, turn

ROOT = Path(__file__).parents[2]
MANIFESTS = ROOT / "manifests"
FOLDERS = sorted(str(path.parent.relative_to(MANIFESTS)) for path in MANIFESTS.rglob("kustomization.yaml"))
FOREIGN = {"monitoring.coreos.com"}
"""API groups of another operator."""
PREREQUISITES = ("CustomResourceDefinition", "Namespace")
SYSTEM = "handloop-system"
SECONDS = 120.0

pytestmark = pytest.mark.kubectl


@pytest.fixture(scope="module")
def binary() -> str:
    """The stock kubectl."""
    return kubectl_binary()


@pytest.fixture(scope="module")
def offline(binary: str, tmp_path_factory: pytest.TempPathFactory) -> Kubectl:
    """Kubectl without a server."""
    home = tmp_path_factory.mktemp("home")
    return Kubectl(binary, home / "none", home)


@pytest.fixture(scope="module", params=["sandbox", pytest.param("real", marks=pytest.mark.real)])
def server(
    request: pytest.FixtureRequest, binary: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Kubectl]:
    """Kubectl on each of the servers, with our kinds and our namespace there."""
    home = tmp_path_factory.mktemp("server")
    if request.param == "sandbox":
        with Sandbox(seed=1) as sandbox:
            kubectl = Kubectl(binary, sandbox.write_kubeconfig(home / "kubeconfig"), home, SYSTEM)
            _prepare(kubectl, home)
            yield kubectl
        return
    path = real_kubeconfig()
    kubectl = Kubectl(binary, path, home, SYSTEM)
    with turn(path, SYSTEM, alone=True), turn(path, "foos", alone=False):
        _prepare(kubectl, home)
        yield kubectl
        # the definitions stay: other tests share them
        if kubectl.run("get", "deployment", "handloop").code:
            kubectl("delete", "namespace", SYSTEM, "--ignore-not-found", "--wait=false")


_BUILT: dict[str, str] = {}


def documents(kubectl: Kubectl, folder: str) -> list[dict[str, Any]]:
    """What a folder builds to: for every server the same."""
    if folder not in _BUILT:
        _BUILT[folder] = kubectl("kustomize", str(MANIFESTS / folder)).out
    return list(yaml.load_all(_BUILT[folder], Loader=yaml.CSafeLoader))


def _prepare(kubectl: Kubectl, home: Path) -> None:
    """Apply the objects that the others need: definitions and the namespace."""
    until(lambda: not _is_going(kubectl), "rid of the last namespace", seconds=SECONDS)
    first = [one for one in documents(kubectl, "default") if one["kind"] in PREREQUISITES]
    path = home / "first.yaml"
    path.write_text(yaml.safe_dump_all(first), encoding="utf-8")
    kubectl("apply", "-f", str(path))
    kinds = [one["metadata"]["name"] for one in first if one["kind"] == "CustomResourceDefinition"]
    for kind in kinds:
        until(lambda kind=kind: kubectl.run("get", kind).code == 0, f"{kind} served", seconds=SECONDS)  # type: ignore[misc] # a closure over the loop's variable
    account = ("get", "serviceaccount", "default")
    until(lambda: kubectl.run(*account).code == 0, "ready for pods", seconds=SECONDS)


def _is_going(kubectl: Kubectl) -> bool:
    phase = kubectl.run("get", "namespace", SYSTEM, "-o", "jsonpath={.status.phase}").out
    return phase == "Terminating"


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_folder_builds(offline: Kubectl, folder: str) -> None:
    """`kubectl kustomize` understands it, and it holds something."""
    assert documents(offline, folder)


def test_the_whole_is_the_sum_of_its_parts(offline: Kubectl) -> None:
    """manifests/default holds everything of crd, manager and rbac, once."""
    names = [(one["kind"], one["metadata"]["name"]) for one in documents(offline, "default")]
    parts = [
        (one["kind"], one["metadata"]["name"])
        for folder in ("crd", "manager", "rbac")
        for one in documents(offline, folder)
    ]
    assert len(names) == len(set(names))
    assert set(parts) <= set(names)
    assert documents(offline, ".") == documents(offline, "default")


def test_the_overlay_for_a_certificate_is_understood(offline: Kubectl) -> None:
    """Its arguments fit together, and the port is the one they name; all else is as in default."""
    built, plain = (_by_name(iter(documents(offline, folder))) for folder in ("metrics-cert", "default"))
    assert [name for name, one in built.items() if one != plain[name]] == [("Deployment", "handloop")]
    template = built["Deployment", "handloop"]["spec"]["template"]
    (container,) = template["spec"]["containers"]
    options = parse_options(container["args"], {"POD_NAMESPACE": SYSTEM})
    assert options.metrics_auth
    assert options.metrics_bind_address is not None
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert ports["metrics"] == options.metrics_bind_address.port
    mounts = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
    volumes = {volume["name"]: volume for volume in template["spec"]["volumes"]}
    assert "secret" in volumes[mounts[options.metrics_cert_dir]]
    (port,) = built["Service", "handloop-metrics"]["spec"]["ports"]
    assert (port["port"], port["targetPort"]) == (options.metrics_bind_address.port, "metrics")


def test_the_overlay_that_converts_is_understood(offline: Kubectl) -> None:
    """It has no definition; the Service leads to the port that is served, and the program names it."""
    built, plain = (_by_name(iter(documents(offline, folder))) for folder in ("webhook", "default"))
    service = built.pop(("Service", "handloop-webhook"))
    bound = built.pop(("RoleBinding", "handloop-webhook"))["roleRef"]
    converts = access_for([Site], webhook_service(parse_options([], {"POD_NAMESPACE": SYSTEM})), secret=True)
    assert bound["name"] in [role["metadata"]["name"] for role in roles(converts)]
    assert [name for name, one in built.items() if one != plain[name]] == [("Deployment", "handloop")]
    assert "CustomResourceDefinition" not in {kind for kind, _ in built}
    (container,) = built["Deployment", "handloop"]["spec"]["template"]["spec"]["containers"]
    options = parse_options(container["args"], {"POD_NAMESPACE": SYSTEM})
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    (port,) = service["spec"]["ports"]
    assert ports[port["targetPort"]] == webhook_address(options).port
    named = webhook_service(options)
    assert (named.name, named.namespace) == (service["metadata"]["name"], service["metadata"]["namespace"])
    assert port["port"] == named.client_config()["service"]["port"]


def test_the_overlay_for_shards_is_understood(offline: Kubectl) -> None:
    """All else is as in default: the replicas share the slots, and the roles are those that shards need."""
    built, plain = (_by_name(iter(documents(offline, folder))) for folder in ("shards", "default"))
    text = (MANIFESTS / "shards/role.yaml").read_text(encoding="utf-8")
    roles, deployment = _by_name(yaml.safe_load_all(text)), ("Deployment", "handloop")
    changed = {name: one for name, one in built.items() if one != plain[name]}
    spec = changed.pop(deployment)["spec"]
    assert changed.items() <= roles.items() <= built.items()
    options = parse_options(spec["template"]["spec"]["containers"][0]["args"], {"POD_NAMESPACE": SYSTEM})
    assert (options.shards, options.leader_elect, spec["replicas"]) == (16, False, 4)


def test_the_installer_is_what_default_builds_to(offline: Kubectl) -> None:
    """A change of the manifests shows up here: `make build-installer` mends it."""
    text = (ROOT / "manifests/install.yaml").read_text(encoding="utf-8")
    assert _by_name(yaml.safe_load_all(text)) == _by_name(iter(documents(offline, "default")))


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_server_would_take_it(server: Kubectl, folder: str, tmp_path: Path) -> None:
    """`kubectl apply --dry-run=server` of each folder: validated, defaulted, admitted, not stored."""
    ours = [one for one in documents(server, folder) if one["apiVersion"].partition("/")[0] not in FOREIGN]
    if not ours:
        pytest.skip("all of it needs somebody else's operator")
    if len(ours) == len(documents(server, folder)):
        made = server("apply", "--dry-run=server", "-k", str(MANIFESTS / folder))
    else:
        path = tmp_path / "ours.yaml"
        path.write_text(yaml.safe_dump_all(ours), encoding="utf-8")
        made = server("apply", "--dry-run=server", "-f", str(path))
    assert len(made.lines) == len(ours)
    assert all(line.endswith("(server dry run)") for line in made.lines)
    assert "Warning: would violate PodSecurity" not in made.err


def test_a_server_would_take_the_installer(server: Kubectl) -> None:
    """`kubectl apply -f manifests/install.yaml`, the whole in one file."""
    made = server("apply", "--dry-run=server", "-f", str(ROOT / "manifests/install.yaml"))
    assert all(line.endswith("(server dry run)") for line in made.lines)


def pod_of_the_deployment(kubectl: Kubectl) -> dict[str, Any]:
    """One of its pods, without the account, which the server has not stored."""
    (made,) = [one for one in documents(kubectl, "manager") if one["kind"] == "Deployment"]
    spec = {key: value for key, value in made["spec"]["template"]["spec"].items() if "ervice" not in key}
    metadata = {"name": "probe", "namespace": SYSTEM}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def test_the_pods_would_be_admitted(server: Kubectl) -> None:
    """A pod of the Deployment fits into the namespace, which is labelled restricted."""
    server("apply", "--dry-run=server", "-f", "-", stdin=yaml.safe_dump(pod_of_the_deployment(server)))


@pytest.mark.parametrize("server", [pytest.param("real", marks=pytest.mark.real)], indirect=True)
def test_a_laxer_pod_would_not_be_admitted(server: Kubectl) -> None:
    """The label is in force: the same pod as root is refused."""
    pod = pod_of_the_deployment(server)
    pod["spec"]["securityContext"] |= {"runAsNonRoot": False, "runAsUser": 0}
    refused = server("apply", "--dry-run=server", "-f", "-", stdin=yaml.safe_dump(pod), fails=True)
    assert 'violates PodSecurity "restricted' in refused.err


def _by_name(found: Iterator[dict[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
    return {(one["kind"], one["metadata"]["name"]): one for one in found}
