"""docs/how-to: the program of each page does what the page says, on the sandbox."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

import handloop
from handloop.apis.crd import custom_resource_definition
from handloop.client.errors import NotFound
from handloop.client.resource_client import ResourceClient
from handloop.client.transport import HTTPTransport
from handloop.controller.cli.flags import parse_options
from handloop.controller.example_operator import EXAMPLES
from handloop.controller.runtime.controller import Controller, ReconcileStatistics
from handloop.controller.runtime.manager import Manager
from handloop.kinds.apps_v1 import Deployment
from handloop.kinds.coordination_v1 import Lease
from handloop.kinds.core_v1 import ConfigMap, Event, Namespace, ResourceQuota
from handloop.sandbox.server import Sandbox
from handloop.testing.eventually import eventually
from support.captured_logs import captured_logs
from support.docs_page import DOCS, blocks_of, module_of
from support.managed_sandbox import ManagedSandbox
from support.signals import terminate
from support.threads import Background

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
Load = Callable[[str, str], ModuleType]
PAGES = sorted(path.stem for path in (DOCS / "how-to").glob("*.md") if path.stem not in ("index", "testing"))


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Load:
    """Imports a page's block, in a folder of its own, which is the current one."""
    monkeypatch.chdir(tmp_path)
    return lambda page, block: module_of(f"how-to/{page}.md", block, tmp_path, monkeypatch)


class Running:
    """A page's program at work on a cluster that has its CRDs."""

    def __init__(self, module: ModuleType, cluster: ManagedSandbox, manager: Manager) -> None:
        self.module = module
        self.cluster = cluster
        self.manager = manager

    def of(self, kind: type[Any]) -> ResourceClient[Any]:
        """A client of a kind."""
        return self.cluster.client.resource(kind)

    def make(self, kind: type[Any], name: str, namespace: str = "default", /, **spec: Any) -> Any:
        """Create an object of the page's kind."""
        part = kind.__annotations__["spec"]
        return self.of(kind).create(
            kind.named(name, namespace=namespace, spec=getattr(self.module, part.__name__)(**spec))
        )

    def gone(self, kind: type[Any], name: str, namespace: str = "default") -> bool:
        """Whether an object is gone; lets the garbage collector work first."""
        self.cluster.sandbox.tick()
        try:
            self.of(kind).get(name, namespace=namespace)
        except NotFound:
            return True
        return False

    def counts(self) -> list[ReconcileStatistics]:
        """How the reconciles of each controller ended."""
        controllers = self.manager.runnables().values()
        return [each.statistics() for each in controllers if isinstance(each, Controller)]

    def settled(self) -> int:
        """How many reconciles succeeded."""
        return sum(each.succeeded for each in self.counts())

    def bugs(self) -> int:
        """How many reconciles ended with an error that nobody expected."""
        return sum(each.unexpected for each in self.counts())


@contextmanager
def running(module: ModuleType, *, bugs: bool = False, lifelike: bool = True) -> Iterator[Running]:
    """Set up and run. At the end no reconcile has met a bug, or with bugs some have."""
    cluster = ManagedSandbox(lifelike=lifelike)
    manager = cluster.manager()
    module.set_up(manager)
    cluster.install(*manager.reconciled_kinds())
    with cluster.running(manager):
        program = Running(module, cluster, manager)
        yield program
    assert (program.bugs() > 0) == bugs


def test_the_status_tells_when_the_replicas_are_ready(load: Load) -> None:
    """Ready is False, then True, for the generation that was seen; a settled Site is not written again."""
    with running(load("status-and-conditions", "site_status.py"), lifelike=False) as program:
        site = program.module.Site
        program.make(site, "example", image="nginx", replicas=2)

        def ready(generation: int, status: str) -> bool:
            conditions = program.of(site).get("example", namespace="default").status.conditions
            return [(each.observed_generation, each.status) for each in conditions] == [(generation, status)]

        def come_up(replicas: int) -> None:
            patch = {"status": {"replicas": replicas, "readyReplicas": replicas}}
            program.of(Deployment).patch("example", patch, namespace="default", subresource="status")

        eventually(lambda: ready(1, "False"), "waiting")
        come_up(2)
        eventually(lambda: ready(1, "True"), "ready")
        version = program.of(site).get("example", namespace="default").metadata.resource_version
        before = program.settled()
        program.of(Deployment).patch("example", {"metadata": {"labels": {"a": "b"}}}, namespace="default")
        eventually(lambda: program.settled() > before, "reconciled")
        assert program.of(site).get("example", namespace="default").metadata.resource_version == version
        program.of(site).patch("example", {"spec": {"replicas": 3}}, namespace="default")
        eventually(lambda: ready(2, "False"), "waiting again")
        come_up(3)
        eventually(lambda: ready(2, "True"), "ready again")


def test_a_finalizer_waits_for_the_cleanup(load: Load, tmp_path: Path) -> None:
    """The folder is there while the Bucket is, and the Bucket goes only after a cleanup that succeeds."""
    with running(load("finalizers", "buckets.py"), bugs=True) as program:
        bucket = program.module.Bucket
        made = program.make(bucket, "photos", readme="mine")
        folder = tmp_path / "buckets" / made.metadata.uid
        eventually((folder / "README").is_file, "made")
        eventually(lambda: program.of(bucket).get("photos", namespace="default").metadata.finalizers, "held")
        other = folder / "other"
        other.touch()
        with captured_logs():
            program.of(bucket).delete("photos", namespace="default")
            eventually(lambda: program.bugs() > 0, "cleaning in vain")
            assert not (folder / "README").exists()
            assert not program.gone(bucket, "photos")
            other.unlink()
            eventually(lambda: program.gone(bucket, "photos"), "gone")
        assert not folder.exists()


def test_the_older_site_has_the_host(load: Load) -> None:
    """The younger one is told so by an Event, and takes over as soon as the older one is gone."""
    with running(load("indexes", "hosts.py")) as program, captured_logs():
        site = program.module.Site
        program.make(site, "a", host="example.org")
        eventually(lambda: not program.gone(ConfigMap, "a"), "serving")
        program.make(site, "b", host="example.org")
        eventually(lambda: "HostTaken" in [e.reason for e in program.of(Event).list("default").items], "told")
        assert program.gone(ConfigMap, "b")
        program.of(site).delete("a", namespace="default")
        eventually(lambda: not program.gone(ConfigMap, "b"), "serving for the next one")


def test_a_config_map_leads_to_the_sites_that_name_it(load: Load) -> None:
    """Its title is that of the Site, whether it comes later, changes or goes."""
    with running(load("watching-other-kinds", "titles.py")) as program:
        site, config_maps = program.module.Site, program.of(ConfigMap)

        def titled(title: str) -> None:
            eventually(
                lambda: program.of(site).get("a", namespace="default").status.title == title,
                title or "untitled",
            )

        program.make(site, "a", config="shared")
        config_maps.create(ConfigMap.named("shared", namespace="default", data={"title": "First"}))
        titled("First")
        config_maps.patch("shared", {"data": {"title": "Second"}}, namespace="default")
        titled("Second")
        config_maps.delete("shared", namespace="default")
        titled("")


def test_the_predicates_let_through_what_the_page_says(load: Load) -> None:
    """Each wanted change leads to one reconcile; the changes that were made before it, to none."""
    with captured_logs() as logs, running(load("predicates", "quiet.py")) as program:
        site, config_maps = program.module.Site, program.of(ConfigMap)

        def causes() -> list[str]:
            return [cause for entry in logs if entry["event"] == "Woken" for cause in entry["causes"]]

        program.make(site, "a", host="example.org")
        eventually(lambda: len(causes()) == 1, "made")
        program.of(site).patch("a", {"status": {"visits": 1}}, namespace="default", subresource="status")
        program.of(site).patch("a", {"metadata": {"annotations": {"a": "b"}}}, namespace="default")
        eventually(lambda: len(causes()) == 2, "annotated")
        program.cluster.config_map("unlabelled")
        program.cluster.config_map("labelled", labels={program.module.LABEL: "a"})
        eventually(lambda: causes()[2:] == ["ConfigMap default/labelled added"], "labelled")
        config_maps.patch("labelled", {"data": {"other": "x"}}, namespace="default")
        config_maps.patch("labelled", {"data": {"title": "x"}}, namespace="default")
        eventually(lambda: causes()[3:] == ["ConfigMap default/labelled updated"], "titled")
        config_maps.patch(
            "labelled", {"metadata": {"labels": {program.module.LABEL: None}}}, namespace="default"
        )
        program.of(site).patch("a", {"spec": {"host": "example.net"}}, namespace="default")
        eventually(lambda: "Site default/a updated" in causes()[4:], "changed")
    assert len(causes()) == 5


def test_a_team_has_a_namespace_with_a_quota(load: Load) -> None:
    """Both follow the Team, and go with it."""
    with running(load("cluster-scope", "teams.py")) as program:
        team = program.module.Team
        program.make(team, "red", "", pods=3)

        def pods() -> str | None:
            if program.gone(ResourceQuota, "red", "red"):
                return None
            pods: str = program.of(ResourceQuota).get("red", namespace="red").spec.hard["pods"]
            return pods

        eventually(lambda: pods() == "3", "limited")
        program.of(team).patch("red", {"spec": {"pods": 4}})
        eventually(lambda: pods() == "4", "changed")
        program.of(team).delete("red")
        eventually(lambda: program.gone(Namespace, "red", ""), "gone with its owner")


def test_metrics_of_an_author_are_served_with_the_others(load: Load) -> None:
    """Reconciles are counted by namespace, and the gauge is what the cache holds."""
    with running(load("metrics", "counted.py")) as program:
        program.make(program.module.Greeting, "world", name="World")
        eventually(
            lambda: program.cluster.metric("greeter_greeted_total", namespace="default") >= 1, "counted"
        )
        assert program.cluster.metric("greeter_greetings") == 1


def test_a_replica_leads_and_works_and_releases_its_lease(
    load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page's run(), on a sandbox that KUBECONFIG names, until SIGTERM."""
    module = load("leader-election", "replicas.py")
    made = Manager.from_config
    # other tests may run beside this one
    monkeypatch.setattr(Manager, "from_config", lambda **said: made(**said | {"health": "127.0.0.1:0"}))
    sandbox = Sandbox(controllers=())
    sandbox.start()
    try:
        monkeypatch.setenv("KUBECONFIG", str(sandbox.write_kubeconfig(tmp_path / "kubeconfig")))
        client = handloop.Client(HTTPTransport(handloop.load_config()))
        body = json.dumps(custom_resource_definition(module.Greeting)).encode()
        headers = {"Content-Type": "application/json"}
        assert sandbox.transport().request("POST", CRDS, headers=headers, body=body).status == 201

        def use() -> None:
            try:
                spec = module.GreetingSpec(name="World")
                client.resource(module.Greeting).create(
                    module.Greeting.named("world", namespace="default", spec=spec)
                )
                eventually(lambda: client.resource(ConfigMap).list("default").items, "greeted")
                eventually(lambda: "Seen" in [entry["event"] for entry in logs], "seen by the other")
                assert client.resource(Lease).get("greeter", namespace="default").spec.holder_identity
            finally:
                terminate()

        with captured_logs() as logs:
            using = Background(use)
            module.run()
        using.result()
        assert not client.resource(Lease).get("greeter", namespace="default").spec.holder_identity
    finally:
        sandbox.stop()


def documents(text: str) -> list[dict[str, Any]]:
    """The documents of a YAML text."""
    return list(yaml.safe_load_all(text))


def printed(words: str, module: ModuleType, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """What the page's command prints."""
    with pytest.raises(SystemExit) as ended:
        handloop.main(module.set_up, name="greeter", argv=words.partition(" >")[0].split()[2:])
    assert ended.value.code == 0
    return documents(capsys.readouterr().out)


def test_the_manifests_of_the_deployment_fit_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A server takes all of them; the bindings name the printed roles; the flags are the program's."""
    greeter = module_of("your-first-controller.md", "greeter.py", tmp_path, monkeypatch)
    page = blocks_of("how-to/packaging-and-deploying.md")
    crd, rbac = page["manifests"].splitlines()
    roles = printed(rbac, greeter, capsys)
    deployed = documents(page["deployment.yaml"])
    cluster = ManagedSandbox(lifelike=True)
    for document in [*deployed, *printed(crd, greeter, capsys), *roles]:
        cluster.post(_collection(document), document)
    bound = [(each["roleRef"]["kind"], each["roleRef"]["name"]) for each in deployed if "roleRef" in each]
    assert sorted(bound) == sorted((role["kind"], role["metadata"]["name"]) for role in roles)
    container = deployed[-1]["spec"]["template"]["spec"]["containers"][0]
    in_pod = {"POD_NAMESPACE": deployed[-1]["metadata"]["namespace"]}
    here, there = (
        parse_options(words, environment, operator=EXAMPLES)
        for words, environment in ((rbac.split()[2:-2], {}), (container["args"], in_pod))
    )
    assert here.leader_elect
    assert there.leader_elect
    assert here.leader_elect_resource_namespace == there.leader_elect_resource_namespace
    flags = blocks_of("how-to/leader-election.md")["flags"].split()[2:]
    assert parse_options(flags, operator=EXAMPLES).leader_elect_resource_namespace == "default"


def test_the_bundle_of_the_page_is_made_of_its_deployment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its command works as it stands, and writes the files of the table, with the page's Deployment."""
    greeter = module_of("your-first-controller.md", "greeter.py", tmp_path, monkeypatch)
    page = blocks_of("how-to/packaging-and-deploying.md")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deployment.yaml").write_text(page["deployment.yaml"], encoding="utf-8")
    command, build = page["bundle"].splitlines()
    with pytest.raises(SystemExit) as ended:
        handloop.main(greeter.set_up, name="greeter", argv=command.split()[2:])
    assert ended.value.code == 0
    wrote = [line.removeprefix("wrote: ") for line in capsys.readouterr().out.splitlines() if ": b" in line]
    csv, definition, *rest = (tmp_path / path for path in wrote)
    assert definition.name == "example.org_greetings.yaml"
    assert [path.name for path in rest] == ["annotations.yaml", "bundle.Dockerfile"]
    assert rest[1] == tmp_path / build.split()[3]
    made = documents(csv.read_text(encoding="utf-8"))[0]
    assert made["metadata"]["name"] == "greeter.v1.0.0"
    (installed,) = made["spec"]["install"]["spec"]["deployments"]
    deployment = documents(page["deployment.yaml"])[-1]["spec"]
    pod = installed["spec"]["template"]["spec"]
    del pod["containers"][0]["env"]
    assert installed == {"name": "greeter", "spec": deployment}


def _collection(document: dict[str, Any]) -> str:
    group, _, version = document["apiVersion"].rpartition("/")
    namespace = document["metadata"].get("namespace")
    place = f"namespaces/{namespace}/" if namespace else ""
    return f"/{f'apis/{group}' if group else 'api'}/{version}/{place}{document['kind'].lower()}s"


def test_every_page_has_its_test() -> None:
    """A new page of docs/how-to comes with one."""
    source = Path(__file__).read_text(encoding="utf-8")
    assert [page for page in PAGES if f'"{page}"' not in source and f"how-to/{page}.md" not in source] == []
