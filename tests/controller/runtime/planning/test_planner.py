"""A plan of whole controllers: each name once, and what it does not show."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import msgspec

from handloop import Context, Manager, Result, TerminalError, WaitError, controller_for
from handloop.apis.apps_v1 import Deployment
from handloop.apis.core_v1 import Service
from handloop.apis.meta import ObjectMeta
from handloop.apis.unstructured import json_of
from handloop.client.resource_client import Client
from handloop.controller.foo.runnable import add_foo
from handloop.controller.foo.types import Foo, FooSpec
from handloop.controller.myapp.reconciler import add_myapp
from handloop.controller.myapp.types import MyApp
from handloop.controller.runtime.planning.attempt import MORE, OUTSIDE, PAUSED, PlannedWrite
from handloop.controller.runtime.planning.field_changes import TIME
from handloop.controller.runtime.planning.planner import NOT_RUN, STOPPED, Plan, PlanningManager
from handloop.controller.runtime.reconciling.controller import ControllerOptions
from handloop.informers.keys import ObjectName
from handloop.kinds.core_v1 import ConfigMap
from handloop.testing.eventually import eventually
from handloop.testing.manager_thread import ManagerThread
from support.builders.greetings import Greeting
from support.builders.myapp_builders import new_app
from support.checks.threads import Background
from support.rigs.managed_sandbox import ManagedSandbox

PAUSE = {"example.com/paused": "true"}
CHANGES: dict[str, Any] = {
    "a": {"spec": {"image": "nginx:2", "env": [{"name": "A", "value": "1"}]}},
    "b": {"spec": {"port": 8081}},
    "c": {"spec": {"image": "x:1"}, "metadata": {"annotations": PAUSE}},
}
STEP = re.compile(r'\.?([\w-]+)|\["(.+?)"\]|\[(\w+)=([^]]*)\]')


def planned(cluster: ManagedSandbox, *set_ups: Callable[[Any], object], **options: Any) -> Plan:
    """The plan of an operator of these controllers."""
    manager = PlanningManager(cluster.client, **options)
    for set_up in set_ups:
        set_up(manager)
    return manager.make(threading.Event())


def of_maps(reconcile: Callable[[ConfigMap, Context], Any], **options: Any) -> Callable[[Manager], object]:
    """A set-up that reconciles ConfigMaps; source = with one."""

    def set_up(manager: Manager) -> None:
        builder = controller_for(manager, "maps").for_(ConfigMap).writes(ConfigMap, "patch", "create")
        if options.pop("source", False):
            builder.source("queue", lambda _wake, _stop: None)
        builder.with_options(**options).complete(reconcile)

    return set_up


def told(plan: Plan) -> list[tuple[str, str, str]]:
    """The names of which not all is shown: name, what, why."""
    return [(each.name, each.what, each.why) for each in plan.unshown()]


def with_maps(*names: str) -> ManagedSandbox:
    """A cluster with ConfigMaps."""
    cluster = ManagedSandbox()
    for name in names:
        cluster.post("/api/v1/namespaces/default/configmaps", {"metadata": {"name": name}})
    return cluster


def value_at(obj: Any, path: str) -> Any:
    """What an object as JSON has at a printed path; None = nothing."""
    for name, quoted, key, value in STEP.findall(path):
        if obj is None:
            return None
        obj = (
            next((each for each in obj if str(each.get(key)) == value), None)
            if key
            else obj.get(name or quoted)
        )
    return obj


@contextmanager
def running(cluster: ManagedSandbox, *set_ups: Callable[[Any], object]) -> Iterator[Manager]:
    """An operator of these controllers."""
    manager = Manager(Client(cluster.transport()))
    for set_up in set_ups:
        set_up(manager)
    thread = ManagerThread(manager, "manager", threading.Event())
    thread.start()
    try:
        yield manager
    finally:
        thread.end()


def test_a_plan_is_what_a_run_writes() -> None:
    """Field by field, for Foos by hand and MyApps, of which one is paused; and nothing else is written."""
    cluster = ManagedSandbox(Foo, MyApp)
    apps, foos = cluster.client.resource(MyApp), cluster.client.resource(Foo)
    set_ups = (add_myapp, partial(add_foo, workers=1))
    for name in "abcd":
        apps.create(new_app(name), namespace="default")
    metadata = ObjectMeta(name="f", namespace="default")
    foos.create(Foo(metadata=metadata, spec=FooSpec(deployment_name="f", replicas=1)))
    with running(cluster, *set_ups):
        eventually(lambda: not [*planned(cluster, *set_ups).writes()], "settled")
    for name, fields in CHANGES.items():
        apps.patch(name, fields, namespace="default")
    foos.patch("f", {"spec": {"replicas": 2}}, namespace="default")
    plan = planned(cluster, *set_ups)
    writes = [*plan.writes()]
    assert {f"{each.verb} {each.kind} {each.name} {each.subresource}".strip() for each in writes} == {
        "patch Deployment a",
        "patch MyApp a status",
        "patch Deployment b",
        "patch Service b",
        "patch MyApp b status",
        "patch MyApp c status",
        "patch Deployment f",
    }
    assert [each.restarts_for for each in writes if each.restarts] == [("env", "image"), ("ports",)]
    assert plan.owned == {"Deployment": 5}
    assert ("c", PAUSED, "") in told(plan)
    kinds = {each.resource.kind: each for each in (Deployment, Service, MyApp, Foo)}

    def is_done(write: PlannedWrite) -> bool:
        obj = cluster.client.resource(kinds[write.kind]).get(write.name, namespace="default")
        there = msgspec.json.decode(json_of(obj))
        return all(value_at(there, each.path) == each.new for each in write.fields if each.new != TIME)

    assert not any(map(is_done, writes))
    with running(cluster, *set_ups):
        eventually(lambda: all(map(is_done, writes)), "as planned")
    assert [*planned(cluster, *set_ups).writes()] == []


def test_what_a_name_does_not_show() -> None:
    """A failure, a wait and a requeue, each of the name's own; the others are planned all the same."""

    def reconcile(obj: ConfigMap, context: Context) -> Result | None:
        assert context.dry_run
        context.event(obj, "Seen", "it was")
        if obj.metadata.name == "waits":
            raise WaitError("for a friend")
        if obj.metadata.name == "fails":
            raise TerminalError("no such thing")
        if obj.metadata.name == "breaks":
            raise RuntimeError("a bug")
        context.client.resource(ConfigMap).patch(obj.metadata.name, {"data": {"a": "1"}}, namespace="default")
        return Result(requeue_after=1.0) if obj.metadata.name == "again" else None

    cluster = with_maps("again", "breaks", "fails", "plain", "waits")
    plan = planned(cluster, of_maps(reconcile))
    assert [each.owner for each in plan.writes()] == ["ConfigMap default/again", "ConfigMap default/plain"]
    assert told(plan) == [
        ("again", MORE, "it is reconciled again"),
        ("breaks", "failed", "RuntimeError('a bug')"),
        ("fails", "failed", "no such thing"),
        ("waits", MORE, "for a friend"),
    ]
    assert cluster.client.resource(ConfigMap).get("plain", namespace="default").data == {}
    only = planned(cluster, of_maps(reconcile), only=ObjectName("default", "waits"))
    assert ([*only.writes()], told(only)) == ([], [("waits", MORE, "for a friend")])


def test_a_controller_with_a_source_is_not_planned() -> None:
    """It acts outside, unless its author or the user says that it may; the source never runs."""
    seen: list[str] = []

    def reconcile(obj: ConfigMap, _context: Context) -> None:
        seen.append(obj.metadata.name)

    refused = planned(with_maps("a"), of_maps(reconcile, source=True))
    assert told(refused) == [("", OUTSIDE, "it has a source outside the cluster: queue")]
    planned(with_maps("b"), of_maps(reconcile, source=True, plannable=True))
    planned(with_maps("c"), of_maps(reconcile, source=True), with_outside=True)
    assert seen == ["b", "c"]


def test_another_runnable_is_not_run() -> None:
    """What it would write is not planned, and that is told."""

    class Sweeper:
        name = "sweeper"

        def run(self, _stop: threading.Event) -> None:
            raise AssertionError

    plan = planned(with_maps(), of_maps(lambda _obj, _context: None), lambda manager: manager.add(Sweeper()))
    assert [(each.controller, each.what) for each in plan.unshown()] == [("sweeper", NOT_RUN)]


def test_a_plan_that_is_stopped_is_not_taken_for_a_whole_one() -> None:
    """As by a time limit of the CI: it must not end as if nothing would change."""
    stop, begun = threading.Event(), list[str]()

    def reconcile(obj: ConfigMap, _context: Context) -> None:
        begun.append(obj.metadata.name)
        stop.set()

    manager = PlanningManager(with_maps("a", "b").client)
    of_maps(reconcile)(manager)
    assert told(manager.make(stop)) == [("", "failed", STOPPED)]
    assert len(begun) == 1


def test_a_plan_that_is_stopped_before_the_caches_are_filled() -> None:
    """The same, for a handwritten controller, too."""
    manager, stop = PlanningManager(ManagedSandbox().client), threading.Event()
    add_foo(manager, workers=1)
    made = Background(lambda: manager.make(stop))
    eventually(lambda: any(each.name == "run-plan" for each in threading.enumerate()), "begun")
    stop.set()
    assert told(made.result()) == [("", "failed", STOPPED)]


def test_a_name_that_no_controller_has() -> None:
    """A slip of the pen must not look like a release that changes nothing."""
    cluster, set_up = with_maps("a"), of_maps(lambda _obj, _context: None)
    assert told(planned(cluster, set_up, only=ObjectName("default", "a"))) == []
    for only in (ObjectName("default", "b"), ObjectName("", "a")):
        assert told(planned(cluster, set_up, only=only)) == [
            (only.name, "failed", "no controller would reconcile it")
        ]


def test_a_kind_that_the_server_lacks() -> None:
    """The plan ends in time, and says which cache is not filled."""

    def set_up(manager: Manager) -> None:
        builder = controller_for(manager, "greeter").for_(Greeting)
        builder.with_options(cache_sync_timeout_seconds=0.3).complete(lambda _obj, _context: None)

    ((_, what, why),) = told(planned(ManagedSandbox(), set_up))
    assert what == "caches"
    assert "greetings" in why


def test_a_kind_that_the_server_lacks_and_a_handwritten_controller() -> None:
    """The same: its plan does not wait for ever."""
    options = ControllerOptions(cache_sync_timeout_seconds=0.3)
    manager, stop = PlanningManager(ManagedSandbox().client, controller_options=options), threading.Event()
    add_foo(manager, workers=1)
    ((_, what, why),) = told(manager.make(stop))
    assert what == "caches"
    assert "foos" in why


def test_a_child_that_starts_pods_is_followed_by_more() -> None:
    """The next step comes when they are ready."""
    cluster = ManagedSandbox(Foo)
    spec = FooSpec(deployment_name="f", replicas=1)
    cluster.client.resource(Foo).create(Foo(metadata=ObjectMeta(name="f", namespace="default"), spec=spec))
    plan = planned(cluster, lambda manager: add_foo(manager, workers=1))
    assert told(plan) == [("f", MORE, "its pods are not ready yet")]
    assert [(each.verb, each.kind) for each in plan.writes()] == [("create", "Deployment"), ("patch", "Foo")]
