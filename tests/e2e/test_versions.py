"""The operator of docs/how-to/versions.md gets its second version, while somebody works with its objects."""

from __future__ import annotations

import importlib.util
import secrets
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import pytest

from handloop.apis.crd import WebhookService, custom_resource_definition
from handloop.testing.eventually import eventually
from support.checks.docs_page import blocks_of
from support.rigs.program import ON_FREE_PORTS, Program, running
from support.servers.cluster import CRDS, MERGE, Cluster, Object, RequestRefusedError

GROUP: Final = f"v{secrets.token_hex(4)}.e2e.example.com"
COUNT: Final = 12


@pytest.fixture
def operator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The page's program, in a group of its own."""
    source = blocks_of("how-to/versions.md")["conversion.py"].replace("example.com", GROUP)
    (tmp_path / "conversion.py").write_text(source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("conversion", tmp_path / "conversion.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "conversion", module)
    spec.loader.exec_module(module)
    return module


class Apps:
    """The objects of the page, of either version."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def at(self, version: str) -> str:
        """Where they are."""
        return f"/apis/{GROUP}/{version}/namespaces/{self._cluster.namespace}/myapps"

    def create(self, version: str, name: str, **spec: Any) -> Object:
        """A new one."""
        head = {"apiVersion": f"{GROUP}/{version}", "kind": "MyApp", "metadata": {"name": name}}
        return self._cluster.create(self.at(version), {**head, "spec": spec})

    def spec(self, version: str, name: str) -> Object:
        """As that version has it, once it is served."""

        def served() -> Object | None:
            found = _found(self._cluster, f"{self.at(version)}/{name}")
            return None if found is None else found["spec"]

        found = eventually(served, "served")
        assert found is not None
        return found

    def change(self, version: str, name: str, **spec: Any) -> None:
        """By a merge patch."""
        path = f"{self.at(version)}/{name}"
        self._cluster.call("PATCH", path, {"spec": spec}, content_type=MERGE)


@contextmanager
def traffic(apps: Apps) -> Iterator[list[str]]:
    """Somebody changes objects in both versions. Yields: what was refused, or is not as it was."""
    refused: list[str] = []
    stop = threading.Event()

    def work() -> None:
        turn = 0
        while not stop.wait(0.01):
            name, instances = f"app{turn % COUNT}", 1 + turn % 7
            try:
                apps.change("v1beta1", name, instances=instances)
                if (seen := apps.spec("v1", name))["replicas"] != instances:
                    refused.append(f"{name} has {seen}, not {instances}")
                apps.change("v1", name, env=[{"name": "TURN", "value": str(turn)}])
                if apps.spec("v1beta1", name)["instances"] != instances:
                    refused.append(f"{name} has lost its instances")
            except RequestRefusedError as error:
                refused.append(str(error))
            turn += 1

    worker = threading.Thread(target=work)
    worker.start()
    try:
        yield refused
    finally:
        stop.set()
        worker.join()


def _define(cluster: Cluster, definition: Object) -> None:
    path = f"{CRDS}/{definition['metadata']['name']}"
    version = cluster.call("GET", path)["metadata"]["resourceVersion"]
    cluster.call(
        "PUT", path, definition | {"metadata": definition["metadata"] | {"resourceVersion": version}}
    )


def _stored(cluster: Cluster, name: str) -> list[str]:
    found: list[str] = cluster.call("GET", f"{CRDS}/{name}")["status"]["storedVersions"]
    return found


def test_a_kind_gets_its_second_version(cluster: Cluster, operator: ModuleType, tmp_path: Path) -> None:
    """From stored old objects to the end of the old version; no request is refused, and nothing is lost."""
    old, apps = custom_resource_definition(operator.MyAppV1Beta1), Apps(cluster)
    name = old["metadata"]["name"]
    cluster.create(CRDS, old)
    try:
        eventually(lambda: _found(cluster, apps.at("v1beta1")), "served")
        for number in range(COUNT):
            apps.create("v1beta1", f"app{number}", image="nginx:1.27", expose="8080/NodePort")
        with _operator(cluster, tmp_path) as program:
            port = program.wait_line(r'"Serving conversions" port=(\d+)')[1]
            eventually(lambda: program.page("health", "/readyz")[0] == 200, "ready before the new definition")
            service = WebhookService(url=f"https://127.0.0.1:{port}")
            _define(cluster, custom_resource_definition(operator.MyAppV1, service))
            assert apps.spec("v1", "app0") == {
                "image": "nginx:1.27", "replicas": 2, "port": 8080, "serviceType": "NodePort"
            }  # fmt: skip
            with traffic(apps) as refused:
                program.wait_line('"wanted".*replicas=7')
                assert set(_stored(cluster, name)) == {"v1beta1", "v1"}
                migration = _command(cluster, tmp_path, "migrate-storage")
                assert f"{COUNT} objects" in migration[-1], migration
            assert refused == []
            assert _stored(cluster, name) == ["v1"]
            # the annotation has kept what v1beta1 has no place for
            specs = [apps.spec("v1", f"app{number}") for number in range(COUNT)]
            assert all(spec["env"] for spec in specs)
            assert all(spec["serviceType"] == "NodePort" for spec in specs)
            doctor = _command(cluster, tmp_path, "doctor")
            assert [line for line in doctor if "conversion " in line and "an object is v1beta1 in" in line]
            assert program.stop() == 0
        _define(cluster, _without_the_old(operator))
    finally:
        # a definition whose objects nobody converts holds up every namespace that goes
        ended = {"spec": {"conversion": {"strategy": "None", "webhook": None}}}
        cluster.call("PATCH", f"{CRDS}/{name}", ended, content_type=MERGE)
        cluster.delete(CRDS, name)


def _found(cluster: Cluster, path: str) -> Object | None:
    """What is there, None while the server refuses it."""
    try:
        return cluster.call("GET", path)
    except RequestRefusedError:
        return None


def _without_the_old(operator: ModuleType) -> Object:
    made = custom_resource_definition(operator.MyAppV1)
    made["spec"]["versions"] = made["spec"]["versions"][:1]
    return {**made, "spec": made["spec"] | {"conversion": {"strategy": "None"}}}


@contextmanager
def _operator(cluster: Cluster, folder: Path) -> Iterator[Program]:
    """The page's program, which converts on a free port."""
    listening = ("--webhook-bind-address=127.0.0.1:0", "--webhook-url=https://127.0.0.1:0")
    secret = f"--leader-elect-resource-namespace={cluster.namespace}"
    arguments = ("--kubeconfig", str(cluster.kubeconfig), *ON_FREE_PORTS, *listening, secret)
    home = folder / "home"
    home.mkdir(exist_ok=True)
    environment = {"PYTHONPATH": f"{Path(__file__).parents[2]}:{folder}"}
    with running(*arguments, folder=home, environment=environment, module="conversion") as program:
        yield program


def _command(cluster: Cluster, folder: Path, command: str) -> list[str]:
    """What a command of the operator prints."""
    home = folder / command
    home.mkdir()
    environment = {"PYTHONPATH": f"{Path(__file__).parents[2]}:{folder}"}
    arguments = (command, "--kubeconfig", str(cluster.kubeconfig))
    with running(*arguments, folder=home, environment=environment, module="conversion") as program:
        assert program.wait() == 0, [*program.log, *program.printed]
        return program.printed
