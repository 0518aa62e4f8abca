"""MyApp and its controller get the second version of docs/how-to/versions.md, with traffic all the time."""

from __future__ import annotations

import importlib.util
import secrets
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import pytest

from handloop.apis.autoscaling_v2 import HorizontalPodAutoscaler
from handloop.apis.crd import WebhookService, custom_resource_definition
from handloop.testing.eventually import eventually
from support.checks.docs_page import blocks_of
from support.rigs.myapp_story import READY, statuses
from support.rigs.program import ON_FREE_PORTS, Program, running
from support.servers.cluster import CRDS, MERGE, Cluster, Object, RequestRefusedError

GROUP: Final = f"v{secrets.token_hex(4)}.e2e.example.com"
COUNT: Final = 4
QUIET: Final = ("quiet0", "quiet1")
"""Nobody changes these, so nothing of theirs may change."""
FOLDER: Final = Path(__file__).parents[2] / "controller/myapp"

NEWER: Final = """\
from conversion import MyAppV1 as MyApp
from handloop.controller.myapp.types import AutoScaling, MyAppStatus, problems
"""
"""The kind of the second release: the page's."""
OLDER: Final = """\
from conversion import MyAppSpecV1Beta1, MyAppV1Beta1
from handloop.controller.myapp.types import AppResources, AutoScaling, MyAppStatus


class Spec(MyAppSpecV1Beta1):
    env, resources, scaling = (), AppResources(), None
    replicas = property(lambda self: self.instances)
    port = property(lambda self: int(self.expose.partition("/")[0]))
    service_type = property(lambda self: self.expose.partition("/")[2])


class MyApp(MyAppV1Beta1, group=%r, version="v1beta1", kind="MyApp"):
    spec: Spec


def problems(app):
    return ()
"""
"""The kind of the first release, by the words that the reconciler has for its fields."""
CONVERTS: Final = ("--webhook-bind-address=127.0.0.1:0", "--webhook-url=https://127.0.0.1:0")
MAIN: Final = """\
from handloop import main

from {release}.reconciler import add_myapp

main(add_myapp, name="apps")
"""


@pytest.fixture
def operator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The page's kinds, in a group of its own, and two releases of MyApp's controller: first and second."""
    source = blocks_of("how-to/versions.md")["conversion.py"].replace("example.com", GROUP)
    (tmp_path / "conversion.py").write_text(source, encoding="utf-8")
    for release, types in (("first", OLDER % GROUP), ("second", NEWER)):
        (tmp_path / release).mkdir()
        for path in FOLDER.glob("*.py"):
            text = path.read_text(encoding="utf-8").replace("handloop.controller.myapp", release)
            (tmp_path / release / path.name).write_text(text, encoding="utf-8")
        (tmp_path / release / "types.py").write_text(types, encoding="utf-8")
        (tmp_path / release / "__main__.py").write_text(MAIN.format(release=release), encoding="utf-8")
    spec = importlib.util.spec_from_file_location("conversion", tmp_path / "conversion.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "conversion", module)
    spec.loader.exec_module(module)
    return module


class Apps:
    """The objects of the page, of either version, and their children."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        core = f"/api/v1/namespaces/{cluster.namespace}"
        self.services, self.pods = f"{core}/services", f"{core}/pods"
        self.autoscalers = HorizontalPodAutoscaler.resource.path(namespace=cluster.namespace)

    def at(self, version: str) -> str:
        """Where they are."""
        return f"/apis/{GROUP}/{version}/namespaces/{self._cluster.namespace}/myapps"

    def create(self, version: str, name: str, **spec: Any) -> Object:
        """A new one."""
        head = {"apiVersion": f"{GROUP}/{version}", "kind": "MyApp", "metadata": {"name": name}}
        return self._cluster.create(self.at(version), {**head, "spec": spec})

    def get(self, version: str, name: str) -> Object:
        """As that version has it."""
        return self._cluster.get(self.at(version), name)

    def change(self, version: str, name: str, **spec: Any) -> None:
        """By a merge patch."""
        self._cluster.change(self.at(version), name, {"spec": spec})

    def wait_ready(self, version: str, name: str) -> Object:
        """Wait until its status says so. Returns: the status."""

        def ready() -> Object:
            found = self.get(version, name)
            status: Object = found.get("status", {})
            current = status.get("observedGeneration") == found["metadata"]["generation"]
            return status if current and statuses(status) == READY else {}

        return eventually(ready, f"{name} ready", seconds=self._cluster.seconds)

    def children(self, name: str) -> list[Object]:
        """Deployment, Service, and the autoscaler if there is one."""
        places = (self._cluster.deployments, self.services, self.autoscalers)
        return [found[name] for found in map(self._cluster.list, places) if name in found]

    def running(self, name: str) -> tuple[object, ...]:
        """What a restart or a replacement of a child would change: which they are, their specs, the pods."""
        children = [(child["metadata"]["uid"], child["spec"]) for child in self.children(name)]
        of_it = (self._cluster.replica_sets, self.pods)
        found = ({uid(one) for one in self._cluster.list(at).values() if is_of(one, name)} for at in of_it)
        return (*children, *found)


def uid(obj: Object) -> str:
    """Which object it is."""
    found: str = obj["metadata"]["uid"]
    return found


def is_of(obj: Object, name: str) -> bool:
    """Whether it is a replica of a MyApp, or a set of them."""
    return bool(obj["metadata"].get("labels", {}).get("app.kubernetes.io/instance") == name)


class Traffic:
    """
    Somebody changes objects, in the older version and from `both` on in the newer one, too.

    State: refused is what was refused, or is not as it was; the thread's until the end.
    """

    def __init__(self, apps: Apps) -> None:
        self.refused: list[str] = []
        self.both = threading.Event()
        self._apps = apps
        self._stop = threading.Event()
        self._worker = threading.Thread(target=self._work, name="traffic")

    def __enter__(self) -> Traffic:
        self._worker.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> list[str]:
        """Stop. Returns: what was refused."""
        self._stop.set()
        self._worker.join()
        return self.refused

    def _work(self) -> None:
        turn = 0
        while not self._stop.wait(0.05):
            name, instances = f"app{turn % COUNT}", 1 + turn // COUNT % 2
            try:
                self._apps.change("v1beta1", name, instances=instances)
                if self.both.is_set():
                    seen = self._apps.get("v1", name)["spec"]
                    if (seen["replicas"], seen["serviceType"]) != (instances, "NodePort"):
                        self.refused.append(f"{name} has {seen}, not {instances}")
                    self._apps.change("v1", name, env=[{"name": "TURN", "value": str(turn // 40)}])
                if self._apps.get("v1beta1", name)["spec"]["instances"] != instances:
                    self.refused.append(f"{name} has lost its instances")
            except RequestRefusedError as error:
                self.refused.append(str(error))
            turn += 1


def _apply(cluster: Cluster, definition: Object) -> None:
    """As `kubectl apply` does: what others have written beside it stays."""
    path = f"{CRDS}/{definition['metadata']['name']}"
    query = {"fieldManager": "kubectl", "force": "true"}
    cluster.call("PATCH", path, definition, query=query, content_type="application/apply-patch+yaml")


def _replace(cluster: Cluster, definition: Object) -> None:
    path = f"{CRDS}/{definition['metadata']['name']}"
    version = cluster.call("GET", path)["metadata"]["resourceVersion"]
    cluster.call(
        "PUT", path, definition | {"metadata": definition["metadata"] | {"resourceVersion": version}}
    )


def _stored(cluster: Cluster, name: str) -> list[str]:
    found: list[str] = cluster.call("GET", f"{CRDS}/{name}")["status"]["storedVersions"]
    return found


def test_a_kind_gets_its_second_version(cluster: Cluster, operator: ModuleType, tmp_path: Path) -> None:
    """
    From stored old objects to the end of the old version, with traffic all the time.

    No request is refused, nothing is lost, and no child is replaced or restarted.
    """
    old, apps = custom_resource_definition(operator.MyAppV1Beta1), Apps(cluster)
    name = old["metadata"]["name"]
    _apply(cluster, old)
    try:
        eventually(lambda: _found(cluster, apps.at("v1beta1")), "served")
        busy = [f"app{number}" for number in range(COUNT)]
        with _operator(cluster, tmp_path, "first") as first:
            for each in (*QUIET, *busy):
                apps.create("v1beta1", each, image="nginx:1.27", expose="8080/NodePort", instances=1)
            told = {each: apps.wait_ready("v1beta1", each) for each in (*QUIET, *busy)}
            before = {each: apps.running(each) for each in QUIET}
            with Traffic(apps) as traffic, _operator(cluster, tmp_path, "second", *CONVERTS) as second:
                port = second.wait_line(r'"Serving conversions" port=(\d+)')[1]
                eventually(
                    lambda: second.page("health", "/readyz")[0] == 200, "ready before the new definition"
                )
                assert first.stop() == 0
                service = WebhookService(url=f"https://127.0.0.1:{port}")
                eventually(lambda: _trusts(cluster, name), "the definition is ready for the next one")
                _apply(cluster, custom_resource_definition(operator.MyAppV1, service))
                eventually(lambda: _found(cluster, f"{apps.at('v1')}/quiet0"), "served")
                traffic.both.set()
                assert apps.get("v1", "quiet0")["spec"] == {
                    "image": "nginx:1.27", "replicas": 1, "port": 8080, "serviceType": "NodePort"
                }  # fmt: skip
                apps.change("v1", "app0", autoScaling={"enabled": True, "maxReplicas": 3})
                eventually(lambda: len(apps.children("app0")) == 3, "an autoscaler", seconds=cluster.seconds)
                eventually(lambda: _owners(apps, (*QUIET, *busy)) == {f"{GROUP}/v1"}, "children of v1")
                assert set(_stored(cluster, name)) == {"v1beta1", "v1"}
                migration = _command(cluster, tmp_path, "migrate-storage")
                assert f"{COUNT + len(QUIET)} objects" in migration[-1], migration
                assert _stored(cluster, name) == ["v1"]
                assert traffic.end() == []
                # the annotation has kept what v1beta1 has no place for
                assert all(apps.get("v1", each)["spec"]["env"] for each in busy)
                assert len(apps.children("app0")) == 3
                assert {each: apps.running(each) for each in QUIET} == before
                assert [
                    apps.get(version, each)["status"] for version in ("v1", "v1beta1") for each in QUIET
                ] == [told[each] for _ in range(2) for each in QUIET]
                doctor = _command(cluster, tmp_path, "doctor")
                assert [
                    line
                    for line in doctor
                    if "conversion " in line and "an object was converted to v1beta1 in" in line
                ]
                assert second.stop() == 0
        _replace(cluster, _without_the_old(operator))
    finally:
        # a definition whose objects nobody converts holds up every namespace that goes
        ended = {"spec": {"conversion": {"strategy": "None", "webhook": None}}}
        cluster.call("PATCH", f"{CRDS}/{name}", ended, content_type=MERGE)
        cluster.delete(CRDS, name)


def _owners(apps: Apps, names: Sequence[str]) -> set[str]:
    """The versions by which the children of some name them."""
    children = [child for name in names for child in apps.children(name)]
    return {owner["apiVersion"] for child in children for owner in child["metadata"]["ownerReferences"]}


def _trusts(cluster: Cluster, name: str) -> bool:
    """Whether a definition has the authorities of a webhook."""
    conversion = cluster.get(CRDS, name)["spec"]["conversion"]
    return bool(conversion.get("webhook", {}).get("clientConfig", {}).get("caBundle"))


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
def _operator(cluster: Cluster, folder: Path, release: str, *flags: str) -> Iterator[Program]:
    """A release of the controller, for the objects of the test."""
    secret = f"--leader-elect-resource-namespace={cluster.namespace}"
    scope = f"--namespace={cluster.namespace}"
    arguments = ("--kubeconfig", str(cluster.kubeconfig), *ON_FREE_PORTS, secret, scope, *flags)
    home = folder / f"{release}-home"
    home.mkdir()
    environment = {"PYTHONPATH": f"{Path(__file__).parents[2]}:{folder}"}
    with running(*arguments, folder=home, environment=environment, module=release) as program:
        yield program


def _command(cluster: Cluster, folder: Path, command: str) -> list[str]:
    """What a command of the operator prints."""
    home = folder / command
    home.mkdir()
    environment = {"PYTHONPATH": f"{Path(__file__).parents[2]}:{folder}"}
    arguments = (command, "--kubeconfig", str(cluster.kubeconfig))
    with running(*arguments, folder=home, environment=environment, module="second") as program:
        assert program.wait() == 0, [*program.log, *program.printed]
        return program.printed
