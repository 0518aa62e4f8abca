"""docs/how-to: the program of each page works as the page claims, on the sandbox."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

import handloop
from examples.memcached import reconciler as memcached
from examples.memcached.types import Memcached
from handloop import Context, FrozenMap, ObjectMeta, evolve, format_time, with_controller
from handloop.apis.crd import custom_resource_definition
from handloop.apis.meta import LAST_APPLIED
from handloop.apis.partial_metadata import PartialObjectMetadata
from handloop.client.errors import NotFound
from handloop.client.options import ListOptions
from handloop.client.resource_client import ResourceClient
from handloop.client.transport import HTTPTransport
from handloop.controller.cli.dry_set_up import DrySetUp, has_own_definition
from handloop.controller.cli.fit_check import looked_at
from handloop.controller.cli.flags import parse_options
from handloop.controller.cli.main import run_command
from handloop.controller.cli.operator import Operator
from handloop.controller.cli.options import FLAGS, spelling
from handloop.controller.myapp.reconciler import add_myapp
from handloop.controller.myapp.types import MyApp, MyAppSpec
from handloop.controller.program import PROGRAM
from handloop.controller.runtime.manager import Manager
from handloop.controller.runtime.reconciling.controller import Controller, ReconcileStatistics
from handloop.controller.runtime.reconciling.why_page import lines
from handloop.controller.runtime.sharding.members import GROUP_LABEL
from handloop.informers.keys import ObjectName
from handloop.kinds.apps_v1 import Deployment, DeploymentSpec
from handloop.kinds.batch_v1 import Job
from handloop.kinds.coordination_v1 import Lease
from handloop.kinds.core_v1 import (
    ConfigMap,
    Container,
    Event,
    Namespace,
    PodSpec,
    PodTemplateSpec,
    ResourceQuota,
    Secret,
)
from handloop.kinds.meta_v1 import LabelSelector
from handloop.kinds.networking_v1 import NetworkPolicy, NetworkPolicySpec
from handloop.seams.tracing import TRACING
from handloop.testing import FakeClock, RecordedWrites, caches
from handloop.testing.eventually import eventually
from handloop.testing.running_operator import running_operator
from handloop.testing.running_sandbox import running_sandbox
from handloop_sandbox.server import Sandbox
from support.checks.captured_logs import captured_logs
from support.checks.docs_page import DOCS, assert_tests_pass, blocks_of, module_of, run_tests
from support.checks.metric_table import TABLE
from support.checks.signals import terminate
from support.checks.threads import Background
from support.rigs.managed_sandbox import ManagedSandbox, post
from support.rigs.traced import THEIRS, own, parent, traced
from support.servers.cluster import CRDS

Load = Callable[[str, str], ModuleType]
# the last is a page of explore/
NO_PROGRAMS = ("index", "testing", "exploring", "conversions")
PAGES = sorted(path.stem for path in (DOCS / "how-to").glob("*.md") if path.stem not in NO_PROGRAMS)

OUR_LEASES = f"{GROUP_LABEL}=greeter"


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
        """How many reconciles ended with an unexpected error."""
        return sum(each.unexpected for each in self.counts())


@contextmanager
def running(
    module: ModuleType, *, bugs: bool = False, lifelike: bool = True, definitions: Sequence[Any] = ()
) -> Iterator[Running]:
    """
    Set up and run. At the end no reconcile has met a bug, or with bugs some have.

    Args: definitions are CRDs of other programs.
    """
    cluster = ManagedSandbox(lifelike=lifelike)
    manager = cluster.manager()
    for definition in definitions:
        cluster.post(CRDS, definition)
    module.set_up(manager)
    cluster.install(*filter(has_own_definition, manager.reconciled_kinds()))
    with cluster.running(manager):
        program = Running(module, cluster, manager)
        yield program
    assert (program.bugs() > 0) == bugs


def test_the_status_shows_when_the_replicas_are_ready(load: Load) -> None:
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
        slow = {"metadata": {"finalizers": ["example.org/slow"]}}
        program.of(Deployment).patch("example", slow, namespace="default")
        program.of(Deployment).delete("example", namespace="default")
        eventually(lambda: ready(2, "False"), "waits for a Deployment that goes")


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


def test_a_bucket_that_only_a_cache_has_gets_no_folder(load: Load, tmp_path: Path) -> None:
    """It is gone on the server, and the cache shows it with its finalizer."""
    module = load("finalizers", "buckets.py")
    metadata = ObjectMeta(name="photos", namespace="default", uid="1", finalizers=(module.FINALIZER,))
    gone = module.Bucket(metadata=metadata)
    context = Context(client=RecordedWrites().client(), listers=caches(gone))
    module.BucketReconciler(tmp_path / "buckets").reconcile(gone, context)
    assert not (tmp_path / "buckets").exists()


def test_the_schedule_of_a_kind_without_a_type_is_kept(load: Load) -> None:
    """In a ConfigMap; a CronTab whose schedule is no text waits for a change."""
    names = {"kind": "CronTab", "plural": "crontabs", "singular": "crontab", "listKind": "CronTabList"}
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "crontabs.stable.example.com"},
        "spec": {"group": "stable.example.com", "scope": "Namespaced", "names": names, "versions": [version]},
    }
    module = load("foreign-kinds", "crontabs.py")
    with running(module, lifelike=False, definitions=[definition]) as program, captured_logs() as logs:

        def crontab(name: str, schedule: object) -> None:
            metadata = {"name": name, "namespace": "default"}
            kind = {"apiVersion": "stable.example.com/v1", "kind": "CronTab"}
            body = {**kind, "metadata": metadata, "spec": {"cronSpec": schedule}}
            program.cluster.post("/apis/stable.example.com/v1/namespaces/default/crontabs", body)

        crontab("a", "0 3 * * *")
        eventually(lambda: not program.gone(ConfigMap, "a"), "kept")
        assert program.of(ConfigMap).get("a", namespace="default").data["schedule"] == "0 3 * * *"
        crontab("b", 3)
        refused = "spec.cronSpec is not a string"
        eventually(lambda: any(entry.get("err") == refused for entry in logs), "refused")
        assert program.gone(ConfigMap, "b")


def test_a_user_that_only_a_cache_has_is_not_made(load: Load, tmp_path: Path) -> None:
    """Its object is gone on the server, and the cache shows it with its finalizer."""
    module = load("external-systems", "database_users.py")
    metadata = ObjectMeta(name="ann", namespace="default", uid="1", finalizers=(module.FINALIZER,))
    gone = module.DatabaseUser(metadata=metadata, spec=module.DatabaseUserSpec(role="reader"))
    server = module.Server(str(tmp_path / "users.db"))
    context = Context(client=RecordedWrites().client(), listers=caches(gone))
    assert module.DatabaseUsers(server).reconcile(gone, context) is None
    assert server.role_of("1") is None


def test_a_user_outside_of_the_cluster_follows_its_object(
    load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Made, changed, repaired by the next poll, dropped at the end; an older leader changes nothing."""
    module = load("external-systems", "database_users.py")
    monkeypatch.setattr(module, "POLL_SECONDS", 0.05)
    server = module.Server(str(tmp_path / "users.db"))
    with running(module) as program:
        user = program.module.DatabaseUser
        uid = program.make(user, "ann", role="reader").metadata.uid
        eventually(lambda: server.role_of(uid) == "reader", "made")
        program.of(user).patch("ann", {"spec": {"role": "writer"}}, namespace="default")
        eventually(lambda: server.role_of(uid) == "writer", "changed")
        server.put(uid, "reader", 1)
        assert server.role_of(uid) == "writer"
        server.put(uid, "owner", 2)
        eventually(lambda: server.role_of(uid) == "writer", "repaired")
        server.drop(uid)
        eventually(lambda: server.role_of(uid) == "writer", "made again")
        program.of(user).delete("ann", namespace="default")
        eventually(lambda: program.gone(user, "ann"), "gone")
    assert server.role_of(uid) is None


def test_a_change_outside_is_noticed_by_its_source(
    load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Long before the next poll, also before the source's first look and directly after a repair."""
    users = load("external-systems", "database_users.py")
    module = load("external-systems", "drift.py")
    monkeypatch.setattr(module, "LOOK_SECONDS", 0.01)
    server, may_look = module.Server(str(tmp_path / "users.db")), threading.Event()
    counts: Callable[[Any], set[tuple[str, ...]]] = module.Server.counts

    def late_counts(self: Any) -> set[tuple[str, ...]]:
        may_look.wait(30)
        return counts(self)

    monkeypatch.setattr(module.Server, "counts", late_counts)
    with running(module) as program:
        spec = users.DatabaseUserSpec(role="reader")
        ann = users.DatabaseUser.named("ann", namespace="default", spec=spec)
        uid = program.of(users.DatabaseUser).create(ann).metadata.uid
        eventually(lambda: server.role_of(uid) == "reader", "made")
        eventually(lambda: program.settled() > 1, "settled")
        for _ in range(5):
            server.put(uid, "owner", 1)
            may_look.set()
            eventually(lambda: server.role_of(uid) == "reader", "repaired")


def test_a_deployment_restarts_when_the_data_of_its_secret_changes(load: Load) -> None:
    """Not for a change of the Secret's labels, and not without the annotation; no data is in the cache."""
    with running(load("foreign-kinds", "restarter.py"), lifelike=False) as program:
        module, secrets = program.module, program.of(Secret)

        def deploy(name: str, **annotations: str) -> None:
            template = PodTemplateSpec(spec=PodSpec(containers=(Container(name="a", image="a"),)))
            labels = FrozenMap(app=name)
            template = evolve(template, "metadata", ObjectMeta(labels=labels))
            spec = DeploymentSpec(selector=LabelSelector(match_labels=labels), template=template)
            metadata = ObjectMeta(name=name, namespace="default", annotations=FrozenMap(annotations))
            program.of(Deployment).create(Deployment(metadata=metadata, spec=spec))

        def restarted_for(name: str) -> object:
            template = program.of(Deployment).get(name, namespace="default").spec.template
            return template.metadata.annotations.get(module.CHECKSUM)

        first = secrets.create(Secret.named("password", namespace="default", data={"a": "MQ=="}))
        deploy("asks", **{module.SOURCE: "password"})
        deploy("other")
        eventually(lambda: restarted_for("asks") == module.checksum_of(first), "seen")
        secrets.patch("password", {"metadata": {"labels": {"a": "b"}}}, namespace="default")
        second = secrets.patch("password", {"data": {"a": "Mg=="}}, namespace="default")
        eventually(lambda: restarted_for("asks") == module.checksum_of(second), "restarted")
        assert restarted_for("other") is None
        assert program.of(Deployment).get("asks", namespace="default").metadata.generation == 3
        assert "Mg==" not in repr(program.manager.lister_for(PartialObjectMetadata[Secret]).list())


def test_a_password_is_made_rotated_and_repaired_and_is_in_no_cache(load: Load) -> None:
    """The old one stays as the previous one; a foreign Secret is left alone."""
    with running(load("secrets", "passwords.py")) as program, captured_logs() as logs:
        module, secrets = program.module, program.of(Secret)

        def stored() -> dict[str, str]:
            return {} if program.gone(Secret, "a") else dict(secrets.get("a", namespace="default").data)

        program.make(module.Password, "a")
        eventually(stored, "made")
        first = stored()["password"]
        secrets.patch(
            "a", {"metadata": {"annotations": {module.ROTATED: "2020-01-01T00:00:00Z"}}}, namespace="default"
        )
        eventually(lambda: stored()["password"] != first, "rotated")
        assert stored()["previous"] == first
        secrets.patch("a", {"data": {"password": None}}, namespace="default")
        eventually(lambda: stored().get("password"), "made again")
        foreign = Secret.named("b", namespace="default", data={"password": "MQ=="})
        copied = f'metadata.annotations["{LAST_APPLIED}"]'  # as `kubectl apply` leaves it
        secrets.create(evolve(foreign, copied, '{"data":{"password":"MQ=="}}'))
        program.make(module.Password, "b")
        refused = "Secret default/b exists and is not ours"
        eventually(lambda: any(entry.get("err") == refused for entry in logs), "refused")
        assert dict(secrets.get("b", namespace="default").data) == {"password": "MQ=="}
        cached = program.manager.lister_for(PartialObjectMetadata[Secret]).list()
        assert len(cached) == 2
        assert stored()["password"] not in repr(cached)
        assert "MQ==" not in repr(cached)


def test_children_follow_the_namespaces_that_are_selected(load: Load) -> None:
    """One in each, none in others; changed with the owner, repaired, and gone with the label or the owner."""
    with running(load("many-children", "policies.py")) as program:
        module, namespaces, children = program.module, program.of(Namespace), program.of(NetworkPolicy)

        def where() -> set[str]:
            program.cluster.sandbox.tick()
            return {each.metadata.namespace for each in children.list().items}

        for name, team in (("a", "red"), ("b", "red"), ("c", "blue")):
            labels = FrozenMap(team=team)
            namespaces.create(Namespace(metadata=ObjectMeta(name=name, labels=labels)))
        selector = LabelSelector(match_labels=FrozenMap(team="red"))
        policy = NetworkPolicySpec(policy_types=("Ingress",))
        program.make(module.NamespacePolicy, "deny", "", namespaces=selector, policy=policy)
        eventually(lambda: where() == {"a", "b"}, "made")
        theirs = NetworkPolicy.named("theirs", namespace="a", spec=policy)
        children.create(theirs)
        namespaces.patch("c", {"metadata": {"labels": {"team": "red"}}})
        namespaces.patch("b", {"metadata": {"labels": {"team": "blue"}}})
        eventually(lambda: where() == {"a", "c"}, "moved")
        children.delete("deny", namespace="a")
        eventually(lambda: not program.gone(NetworkPolicy, "deny", "a"), "repaired")
        program.of(module.NamespacePolicy).delete("deny")
        eventually(lambda: program.gone(NetworkPolicy, "deny", "c"), "gone with its owner")
        assert not program.gone(NetworkPolicy, "theirs", "a")


def test_a_backup_makes_one_job_for_the_ticks_that_were_missed(load: Load) -> None:
    """None for a tick that had its Job, even if that is gone, and none beside a Job that runs."""
    module, clock = load("clock", "backups.py"), FakeClock()
    made_at = format_time(clock.time())
    metadata = ObjectMeta(name="a", namespace="default", uid="1", creation_timestamp=made_at)
    backup = module.Backup(metadata=metadata, spec=module.BackupSpec(image="backup"))

    def written(last: str, *jobs: Job) -> list[str]:
        told = evolve(backup, "status.last", last)
        writes = RecordedWrites(told, *jobs)
        context = Context(client=writes.client(), listers=caches(told, *jobs), clock=clock)
        assert 0 < module.reconcile(told, context).requeue_after <= 3600
        return [f"{write.verb} {write.path.rpartition('/')[2]}" for write in writes.writes]

    assert written("") == []
    clock.advance(24 * 3600)
    assert written("") == ["patch a-202311152200", "patch status"]
    assert written("2023-11-15T22:00:00Z") == []
    earlier = module.job_of(backup, datetime(2023, 11, 15, 21, tzinfo=UTC))
    assert written("2023-11-15T21:00:00Z", with_controller(earlier, backup)) == []


def test_the_older_site_has_the_host(load: Load) -> None:
    """The younger one gets an Event about it, and takes over as soon as the older one is gone."""
    with running(load("indexes", "hosts.py")) as program, captured_logs():
        site = program.module.Site
        first = program.make(site, "a", host="example.org")
        eventually(lambda: not program.gone(ConfigMap, "a"), "serving")
        clock = program.cluster.sandbox.clock
        eventually(lambda: format_time(clock.time()) > first.metadata.creation_timestamp, "a second later")
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


def test_the_footer_comes_from_one_config_map_and_a_lost_label_comes_back(load: Load) -> None:
    """Of all ConfigMaps of the cluster the caches hold the footer and the labelled ones."""
    with running(load("selections", "footers.py")) as program, captured_logs() as logs:
        site, config_maps = program.module.Site, program.of(ConfigMap)

        def shown() -> tuple[str, dict[str, str]]:
            child = config_maps.get("a", namespace="default")
            return child.data["footer"], dict(child.metadata.labels)

        program.cluster.config_map("unrelated")
        program.make(site, "a", host="example.org")
        eventually(lambda: not program.gone(ConfigMap, "a") and shown()[0] == "", "without a footer")
        config_maps.create(ConfigMap.named("site-footer", namespace="default", data={"text": "Bye"}))
        eventually(lambda: shown() == ("Bye", {"app": "site"}), "with one")
        config_maps.patch("a", {"metadata": {"labels": {"app": None}}}, namespace="default")
        eventually(lambda: shown() == ("Bye", {"app": "site"}), "labelled again")
        held = {each.metadata.name for one in program.manager.informers() for each in one.indexer.list()}
    assert held <= {"a", "site-footer"}
    assert [line["event"] for line in logs if line["log_level"] in {"warning", "error"}] == []


def test_the_predicates_work_as_the_page_claims(load: Load) -> None:
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


def test_a_users_trace_goes_on_to_the_requests_and_the_authors_spans(load: Load) -> None:
    """Of the span that wrote the object, the reconcile is a child; of that, its author's and the write."""
    module = load("traces", "traced.py")
    assert callable(load("traces", "in_code.py").send_spans)
    with traced() as spans, running(module) as program:
        module.tracer = TRACING.tracer._tracer  # type: ignore[attr-defined] # that of the SDK
        eventually(lambda: all(each.workers for each in program.counts()), "the first list handed over")
        marks = FrozenMap({"traceparent": str(THEIRS)})
        metadata = ObjectMeta(name="world", namespace="default", annotations=marks)
        spec = module.GreetingSpec(name="World")
        program.of(module.Greeting).create(module.Greeting(metadata=metadata, spec=spec))
        eventually(lambda: spans.named("reconcile"), "reconciled")
    made = spans.named("reconcile greeter")[0]
    assert (own(made).trace_id, parent(made)) == THEIRS[:2]
    inside = [each.name for each in spans.named("") if parent(each) == own(made).span_id]
    assert inside == ["queue", "find the words", "patch configmaps"]


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
        post(sandbox, CRDS, custom_resource_definition(module.Greeting))

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


def test_a_replica_takes_the_slots_and_releases_them(
    load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page's run(), on a sandbox that KUBECONFIG names, until SIGTERM; the log has the page's lines."""
    module = load("shards", "sharded.py")
    made, places = Manager.from_config, ("default", "kube-public")
    monkeypatch.setattr(Manager, "from_config", lambda **said: made(**said | {"health": "127.0.0.1:0"}))
    with Sandbox(controllers=()) as sandbox:
        monkeypatch.setenv("KUBECONFIG", str(sandbox.write_kubeconfig(tmp_path / "kubeconfig")))
        client = handloop.Client(HTTPTransport(handloop.load_config()))
        post(sandbox, CRDS, custom_resource_definition(module.Greeting))

        def held() -> list[str | None]:
            found = client.resource(Lease).list("default", options=ListOptions(label_selector=OUR_LEASES))
            return [each.spec.holder_identity for each in found.items]

        def use() -> None:
            try:
                for namespace in places:
                    spec = module.GreetingSpec(name="World")
                    client.resource(module.Greeting).create(
                        module.Greeting.named("world", namespace=namespace, spec=spec)
                    )
                texts = client.resource(ConfigMap)
                eventually(lambda: all(texts.list(each).items for each in places), "greeted")
                eventually(
                    lambda: len(held()) == 6 and all(held()), "four slots, a member, and leaders kept out"
                )
                eventually(lambda: "Slots taken" in [entry["event"] for entry in logs], "told")
            finally:
                terminate()

        with captured_logs() as logs:
            using = Background(use)
            module.run(module.Shards(4, lease="default/greeter", retry_period_seconds=0.5))
        using.result()
        assert held() == [""] * 5
    page = (DOCS / "how-to/shards.md").read_text(encoding="utf-8")
    for line in blocks_of("how-to/shards.md")["log"].splitlines():
        event, *words = re.findall(r"^[A-Z][a-z ]+(?= )|\w+(?==)", line)
        (entry,) = [each for each in logs if each["event"] == event][:1]
        assert set(words) == entry.keys() - {"event", "log_level"}
    assert set(re.findall(r"`(handloop_\w+)`", page)) <= TABLE.keys()


def test_the_commands_of_the_page_on_shards_fit_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The Deployment's flags and those of the roles agree; the bindings of the page before fit the roles."""
    greeter = module_of("your-first-controller.md", "greeter.py", tmp_path, monkeypatch)
    page = blocks_of("how-to/shards.md")
    roles = {
        (role["kind"], role["metadata"]["name"]) for role in printed(page["rbac"].strip(), greeter, capsys)
    }
    before = documents(blocks_of("how-to/packaging-and-deploying.md")["deployment.yaml"])
    assert roles == {
        (each["roleRef"]["kind"], each["roleRef"]["name"]) for each in before if "roleRef" in each
    }
    (deployed,) = documents(page["deployment.yaml"])
    args = deployed["spec"]["template"]["spec"]["containers"][0]["args"]
    in_pod = parse_options(args, {"POD_NAMESPACE": "greeter-system"}, operator=PROGRAM)
    outside = parse_options(page["rbac"].split()[2:-2], {}, operator=PROGRAM)
    for name in ("shards", "shards_by", "leader_elect_resource_namespace"):
        assert getattr(in_pod, name) == getattr(outside, name)
    for block, by in (("flags", "namespace"), ("by-uid", "uid"), ("doctor", "uid")):
        options = parse_options(page[block].split()[2:], {}, operator=PROGRAM)
        assert (options.shards, options.shards_by) == (16, by)


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
        parse_options(words, environment, operator=PROGRAM)
        for words, environment in ((rbac.split()[2:-2], {}), (container["args"], in_pod))
    )
    assert here.leader_elect
    assert there.leader_elect
    assert here.leader_elect_resource_namespace == there.leader_elect_resource_namespace
    flags = blocks_of("how-to/leader-election.md")["flags"].split()[2:]
    assert parse_options(flags, operator=PROGRAM).leader_elect_resource_namespace == "default"


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


def test_the_tests_of_the_pages_pass(tmp_path: Path) -> None:
    """Each page's, run by a user who has installed us."""
    pages = {page: blocks_of(f"how-to/{page}.md") for page in PAGES}
    with_tests = {
        page: blocks for page, blocks in pages.items() if any(name.startswith("test_") for name in blocks)
    }
    written = 0
    for page, blocks in with_tests.items():
        (tmp_path / page).mkdir()
        for name, text in blocks.items():
            (tmp_path / page / name).write_text(text, encoding="utf-8")
            written += text.count("def test_")
    assert_tests_pass(tmp_path, written)


def test_the_page_on_operating_names_what_there_is() -> None:
    """Its flags, its metrics, and its alerts."""
    page = (DOCS / "how-to/operating.md").read_text(encoding="utf-8")
    words = blocks_of("how-to/operating.md")["flags"].split()[2:]
    given = parse_options(words, {"POD_NAMESPACE": "there"}, operator=PROGRAM)
    assert (given.resync, given.workers) == (600.0, 4)
    assert set(re.findall(r"`--([a-z-]+)", page)) <= {spelling(name)[2:] for name in FLAGS}
    metrics = set(re.findall(r"`([a-z]+(?:_[a-z]+)+)`", page)) - {"requeue_after", "page_size"}
    assert metrics <= TABLE.keys()
    rules = (DOCS.parent / "manifests/prometheus/prometheus_rule.yaml").read_text(encoding="utf-8")
    (group,) = yaml.safe_load(rules)["spec"]["groups"]
    alerts = set(re.findall(r"`(Handloop\w+)`", page))
    assert alerts
    assert alerts <= {rule["alert"] for rule in group["rules"]}


def test_the_page_on_verifying_names_who_signs() -> None:
    """The workflow in which the signing steps stand: its identity is what cosign compares."""
    page = (DOCS / "how-to/verify.md").read_text(encoding="utf-8")
    workflows = DOCS.parent / ".github/workflows"
    signing = [
        path.name for path in workflows.glob("*.yaml") if "cosign sign" in path.read_text(encoding="utf-8")
    ]
    assert signing == ["publish.yaml"]
    assert page.count("/.github/workflows/publish.yaml@refs/tags/v'") == 2


def test_the_page_on_changing_a_kind_shows_what_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its first example, line by line."""
    old = {
        "tier": {"type": "string", "enum": ["free", "gold"]},
        "title": {"type": "string"},
        "replicas": {"type": "integer", "default": 1},
    }
    new = {
        "tier": {"type": "string", "enum": ["free"]},
        "heading": {"type": "string"},
        "replicas": {"type": "integer", "default": 2},
    }
    for name, fields in (("old", old), ("new", new)):
        schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}}
        version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
        names = {"kind": "Site", "plural": "sites"}
        spec = {"group": "web.example.com", "scope": "Namespaced", "names": names, "versions": [version]}
        metadata = {"name": "sites.web.example.com"}
        definition = {"kind": "CustomResourceDefinition", "metadata": metadata, "spec": spec}
        (tmp_path / f"{name}.json").write_text(json.dumps(definition), encoding="utf-8")
    assert (
        run_command(PROGRAM, ["crd", "diff", *(str(tmp_path / f"{name}.json") for name in ("old", "new"))])
        == 1
    )
    page = (DOCS / "how-to/crd-diff.md").read_text(encoding="utf-8")
    block = re.findall(r"^```text\n\$.*\n((?:.*\n)*?)```", page, re.MULTILINE)[0]
    assert capsys.readouterr().out == block


def test_a_kind_has_a_second_version(load: Load, tmp_path: Path) -> None:
    """An author of the older one is served, and warned; the controller reads the newest."""
    module = load("versions", "versions.py")
    with running_sandbox(tmp_path) as sandbox:
        sandbox.apply(custom_resource_definition(module.Site))
        old = {"apiVersion": "web.example.com/v1beta1", "kind": "Site", "metadata": {"name": "a"}}
        sandbox.apply({**old, "spec": {"message": "m", "replicas": 2}})
        found = sandbox.get(module.Site, "a")
        assert (found.spec.message, found.spec.replicas, found.spec.hosts) == ("m", 2, ())
        version = custom_resource_definition(module.Site)["spec"]["versions"][1]
        page = (DOCS / "how-to/versions.md").read_text(encoding="utf-8")
        assert f"`{version['deprecationWarning']}`" in page
    source = (tmp_path / "versions.py").read_text(encoding="utf-8")
    changed = ModuleType(module.__name__)
    source = source.replace("    replicas: int = 1\n    hosts", "    hosts")
    exec(compile(source, "page", "exec", dont_inherit=True), vars(changed))  # noqa: S102 - the page's
    with pytest.raises(TypeError) as refused:
        custom_resource_definition(changed.Site)
    assert f"TypeError: {refused.value}" in page


def test_an_upgrade_is_warned_as_the_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An older definition of MyApp: what doctor prints, and what the page of readiness says."""
    monkeypatch.setattr("handloop.controller.cli.fit_check.SETTLE_SECONDS", 0.0)
    page = (DOCS / "how-to/upgrading.md").read_text(encoding="utf-8")
    older = custom_resource_definition(MyApp)
    version = older["spec"]["versions"][0]
    fields = version["schema"]["openAPIV3Schema"]["properties"]
    del fields["spec"]["properties"]["port"], fields["status"]["properties"]["selector"]
    del version["subresources"]["scale"]["labelSelectorPath"]
    fields["spec"]["properties"]["replicas"]["maximum"] = 10
    with running_sandbox(tmp_path) as sandbox:
        sandbox.apply(older)
        kubeconfig = f"--kubeconfig={sandbox.kubeconfig}"
        assert run_command(PROGRAM, ["doctor", kubeconfig, "--controllers=myapp"]) == 6
        said = capsys.readouterr().out.splitlines()
        block, shown = re.findall(r"^```text\n((?:.*\n)*?)```", page, re.MULTILINE)
        assert [line for line in block.splitlines()[1:] if line not in said] == []
        (fit, *_) = looked_at(sandbox.client, [MyApp], [], FakeClock(moves_itself=True), threading.Event())
    assert shown == f"[+]definitions: {fit.resource} does not fit: {fit.places} (E20)\n"


def test_a_stuck_object_is_explained_as_the_page_shows() -> None:
    """A Service in the way of a MyApp: the same sentences, with other times."""
    page = (DOCS / "how-to/stuck-objects.md").read_text(encoding="utf-8")
    shown = re.findall(r"^```text\n\$.*\n((?:.*\n)*?)```", page, re.MULTILINE)[0]
    cluster = ManagedSandbox(MyApp)
    metadata = ObjectMeta(name="a", namespace="default")
    service = {"metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}]}}
    cluster.post("/api/v1/namespaces/default/services", service)
    cluster.client.resource(MyApp).create(MyApp(metadata=metadata, spec=MyAppSpec(image="nginx")))
    manager = cluster.manager()
    add_myapp(manager)

    def said() -> str:
        return "".join(f"{line}\n" for line in lines(manager.why(ObjectName("default", "a"))))

    def is_as_shown() -> bool:
        # what of the first reconcile is among the last lines is chance
        sure = {line for line in _told(shown) if " ago" not in line or "times" in line}
        return sure <= _told(said())

    with captured_logs(), cluster.running(manager):
        eventually(is_as_shown, "as the page shows")


def _told(text: str) -> set[str]:
    """Its lines without times and counts, and what a time is in."""
    plain = re.sub(r"\d+(\.\d+)?", "N", text).replace(" and N more:", ":")
    return set(plain.replace("N min", "N s").splitlines())


def test_a_plan_is_as_the_page_shows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Another image in the example, beside its Deployment as the release before has made it."""
    page = (DOCS / "how-to/upgrading.md").read_text(encoding="utf-8")
    ((typed, *shown),) = (
        block.splitlines() for block in re.findall(r"^```console\n((?:.*\n)*?)```", page, re.MULTILINE)
    )
    dry = DrySetUp((memcached.set_up,), None)
    operator = Operator(name="memcached", command=typed, set_up=dry.set_up, setups=dry.setups, version=str)
    manifest = yaml.safe_load((DOCS.parent / "examples/memcached/sample.yaml").read_text(encoding="utf-8"))
    with running_sandbox(tmp_path) as sandbox:
        sandbox.apply(custom_resource_definition(Memcached), manifest)
        with running_operator(sandbox, memcached.set_up):
            sandbox.wait_for(Memcached, "sample", is_available)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(memcached, "Container", partial(another_image, "memcached:1.6.38"))
            assert run_command(operator, ["plan", f"--kubeconfig={sandbox.kubeconfig}"]) == 1
    assert capsys.readouterr().out.splitlines() == shown


def is_available(cache: Memcached) -> bool:
    """Whether its condition says so."""
    return any(each.type == "Available" and each.status == "True" for each in cache.status.conditions)


def another_image(image: str, /, **fields: Any) -> Container:
    """A container with it."""
    return Container(**{**fields, "image": image})


def test_every_page_has_its_test() -> None:
    """A new page of docs/how-to comes with one."""
    source = Path(__file__).read_text(encoding="utf-8")
    assert [page for page in PAGES if f'"{page}"' not in source and f"how-to/{page}.md" not in source] == []


def test_the_proof_of_the_page_on_versions_holds(tmp_path: Path) -> None:
    """For an older version of our own MyApp: another name, a field that is split, another default."""
    for name, text in blocks_of("how-to/versions.md").items():
        if "conversion" in name:
            (tmp_path / name).write_text(text, encoding="utf-8")
    assert_tests_pass(tmp_path, 1)
    # and with a pattern that has no room for each port, it finds what the page says
    module = tmp_path / "conversion.py"
    source = module.read_text(encoding="utf-8")
    module.write_text(
        re.sub(r"PORT: Final = .*", 'PORT: Final = "[1-9][0-9]{0,3}"', source), encoding="utf-8"
    )
    page = (DOCS / "how-to/versions.md").read_text(encoding="utf-8")
    (found,) = re.findall(r"^AssertionError: .*\n  object: .*\n", page, re.MULTILINE)
    said = [line.removeprefix("E").strip() for line in run_tests(tmp_path).stdout.splitlines()]
    assert [line for line in map(str.strip, found.splitlines()) if line not in said] == []
