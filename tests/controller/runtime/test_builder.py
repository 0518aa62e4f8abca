"""A controller in a few words, on a sandbox without sockets."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable
from functools import reduce
from typing import Any, cast

import pytest

from handloop.apis.apps_v1 import Deployment
from handloop.apis.core_v1 import Event, Service, ServicePort, ServiceSpec
from handloop.apis.meta import Kind, ObjectMeta, new_controller_ref
from handloop.client.decoding.pages import Undecodable
from handloop.client.errors import NotFound
from handloop.controller.foo.types import Foo
from handloop.controller.runtime.builder import BuilderError, controller_for
from handloop.controller.runtime.children.owner_references import with_owner
from handloop.controller.runtime.events.fake_recorder import FakeRecorder
from handloop.controller.runtime.manager import Manager
from handloop.controller.runtime.reconcile import Result
from handloop.controller.runtime.reconciling.context import Context
from handloop.controller.runtime.reconciling.controller import ControllerOptions
from handloop.controller.runtime.sources.informer_source import InformerSource, own_name
from handloop.controller.runtime.sources.predicates import GenerationChanged
from handloop.controller.runtime.sources.reconcile_queue import ReconcileQueue
from handloop.informers.keys import ObjectName
from handloop.seams.seams import Seams
from handloop.testing.eventually import eventually
from handloop.testing.fake_clock import FakeClock
from handloop.workqueue.queue import QueueOptions
from support.checks.captured_logs import captured_logs
from support.rigs.foo_cluster import create_foo, foo_cluster
from support.rigs.managed_sandbox import ManagedSandbox


class ConfigMap(Kind, group="", version="v1"):
    """A user's own type."""


class Exposer:
    """Gives every Foo a Service of its name, and remembers why it was called."""

    def __init__(self, manager: Manager) -> None:
        self._foos = manager.lister_for(Foo)
        self._cached = manager.lister_for(Service)
        self.lock = threading.Lock()
        self.causes: list[tuple[str, tuple[str, ...]]] = []

    def reconcile(self, name: ObjectName, context: Context) -> Result | None:
        with self.lock:
            self.causes.append((name.name, context.causes))
        foo = self._foos.get(name)
        if foo is not None and name not in self._cached:
            owner = (new_controller_ref(foo),)
            metadata = ObjectMeta(name=name.name, namespace=name.namespace, owner_references=owner)
            wanted = Service(metadata=metadata, spec=ServiceSpec(ports=(ServicePort(port=80),)))
            context.client.resource(Service).create(wanted)
        return None

    def told(self, name: str) -> list[str]:
        """All causes of a name so far."""
        with self.lock:
            return [cause for called, causes in self.causes if called == name for cause in causes]


@pytest.fixture
def cluster() -> ManagedSandbox:
    """A sandbox in which Foos can be made."""
    return foo_cluster()


def exists(cluster: ManagedSandbox, name: str, *, namespace: str = "default") -> bool:
    """Whether the Service is there."""
    try:
        cluster.client.resource(Service).get(name, namespace=namespace)
    except NotFound:
        return False
    return True


def test_a_controller_makes_and_repairs_what_it_owns(cluster: ManagedSandbox) -> None:
    """for_ brings the object, owns its child: one that is deleted is there again."""
    manager = cluster.manager()
    exposer = Exposer(manager)
    controller_for(manager, "exposer").for_(Foo).owns(Service).complete_by_name(exposer)
    create_foo(cluster, "listed")
    with cluster.running(manager):
        eventually(lambda: exists(cluster, "listed"), "made for what was there before")
        create_foo(cluster, "fresh")
        eventually(lambda: exists(cluster, "fresh"), "made for what came later")
        eventually(lambda: "Service default/fresh added" in exposer.told("fresh"), "seen")
        cluster.client.resource(Service).delete("fresh", namespace="default")
        eventually(lambda: "Service default/fresh deleted" in exposer.told("fresh"), "noticed")
        eventually(lambda: exists(cluster, "fresh"), "repaired")
    assert exposer.told("listed")[0] == "Foo default/listed listed"
    assert exposer.told("fresh")[0] == "Foo default/fresh added"


def test_owners_that_do_not_control_can_be_asked_for(cluster: ManagedSandbox) -> None:
    """With every_owner, a ConfigMap that two Foos own leads to both of them."""
    manager = cluster.manager()
    exposer = Exposer(manager)
    controller = (
        controller_for(manager, "exposer")
        .for_(Foo)
        .owns(ConfigMap, every_owner=True)
        .complete_by_name(exposer)
    )
    foos = [create_foo(cluster, name) for name in ("a", "b")]
    shared = reduce(with_owner, foos, ConfigMap.named("shared", namespace="default"))
    with cluster.running(manager):
        eventually(lambda: controller.statistics().succeeded >= 2, "working")
        cluster.client.resource(ConfigMap).create(shared)
        for name in ("a", "b"):
            eventually(lambda: "ConfigMap default/shared added" in exposer.told(name), name)  # noqa: B023


def test_what_a_map_function_raises_keeps_no_controller_from_starting(cluster: ManagedSandbox) -> None:
    """One odd object of the first list is counted and logged; the others are reconciled."""
    manager = cluster.manager()
    exposer = Exposer(manager)

    def by_label(obj: ConfigMap) -> Iterable[ObjectName]:
        return [ObjectName(obj.metadata.namespace, obj.metadata.labels["foo"])]

    cluster.config_map("odd")
    cluster.config_map("settings", labels={"foo": "a"})
    builder = controller_for(manager, "exposer").for_(Foo).watches(ConfigMap, by_label)
    builder.complete_by_name(exposer)
    with captured_logs() as logs, cluster.running(manager):
        eventually(lambda: exposer.told("a") == ["ConfigMap default/settings listed"], "mapped")
    assert cluster.metric("controller_runtime_reconcile_panics_total", controller="exposer") >= 1
    assert ObjectName("default", "odd") in [entry.get("object") for entry in logs]


def test_predicates_are_per_watch(cluster: ManagedSandbox) -> None:
    """A label on a Foo is no new generation, a label on its Service counts."""
    manager = cluster.manager()
    exposer = Exposer(manager)
    builder = controller_for(manager, "exposer").for_(Foo, predicates=(GenerationChanged(),)).owns(Service)
    builder.complete_by_name(exposer)
    label = {"metadata": {"labels": {"x": "y"}}}
    with cluster.running(manager):
        create_foo(cluster, "a")
        eventually(lambda: "Service default/a added" in exposer.told("a"), "made")
        cluster.client.resource(Foo).patch("a", label, namespace="default")
        cluster.client.resource(Service).patch("a", label, namespace="default")
        eventually(lambda: "Service default/a updated" in exposer.told("a"), "seen")
    assert "Foo default/a updated" not in exposer.told("a")


@pytest.mark.parametrize("namespaces", [("one",), ("one", "two"), ()])
def test_one_namespace_several_or_all(cluster: ManagedSandbox, namespaces: tuple[str, ...]) -> None:
    """Objects elsewhere are ignored."""
    for namespace in ("one", "two", "three"):
        cluster.namespace(namespace)
        create_foo(cluster, "a", namespace=namespace)
    manager = cluster.manager(namespaces=namespaces)
    controller = controller_for(manager, "exposer").for_(Foo).owns(Service).complete_by_name(Exposer(manager))
    chosen = set(namespaces) or {"one", "two", "three"}
    with cluster.running(manager):
        eventually(lambda: controller.statistics().succeeded >= 2 * len(chosen), "all done")
    made = {each for each in ("one", "two", "three") if exists(cluster, "a", namespace=each)}
    assert made == chosen


def test_misfits_of_the_kind_are_events(cluster: ManagedSandbox) -> None:
    """An object that does not fit its type cannot be reconciled: its owner gets an Event."""
    manager = cluster.manager()
    controller_for(manager, "exposer").for_(Foo).complete_by_name(Exposer(manager))
    misfit = Undecodable("default", "a", "7", b'{"metadata":{"uid":"u"}}', "does not fit")
    informer, events = manager.informer_for(Foo), cluster.client.resource(Event)
    with cluster.running(manager):
        eventually(informer.has_synced, "listed")
        informer.informers[0].quarantine.add(misfit)
        eventually(lambda: [one.message for one in events.list().items] == ["does not fit"], "said")


def test_a_misfit_is_not_cleaned_up_after(cluster: ManagedSandbox) -> None:
    """It leaves the cache as if it were gone; a reconcile by name waits until it fits, or is gone."""
    manager = cluster.manager()
    exposer = Exposer(manager)
    controller = controller_for(manager, "exposer").for_(Foo).complete_by_name(exposer)
    informer = manager.informer_for(Foo)
    with cluster.running(manager):
        create_foo(cluster, "a")
        eventually(lambda: exposer.told("a"), "reconciled")
        informer.informers[0].quarantine.add(Undecodable("default", "a", "7", b"{}", "does not fit"))
        controller.enqueue(ObjectName("default", "a"), "odd")
        controller.enqueue(ObjectName("default", "b"), "next")
        eventually(lambda: exposer.told("b"), "reconciled")
    assert "odd" not in exposer.told("a")


def test_misfits_are_reported_from_the_start(cluster: ManagedSandbox) -> None:
    """A standby is silent, and misses none: the objects are reported when its watches start."""
    informer, recorder = cluster.manager().informer_for(Foo), FakeRecorder(include_object=True)
    queue = ReconcileQueue(QueueOptions(name="exposer"))
    watch = InformerSource(informer, own_name, sink=queue, observed=lambda *_: None, recorder=recorder)
    misfit = Undecodable("default", "a", "7", b'{"metadata":{"uid":"u"}}', "does not fit")
    informer.informers[0].quarantine.add(misfit)
    assert recorder.take() == []
    watch.start()
    informer.informers[0].quarantine.add(misfit._replace(key_name="b"))
    about = "involvedObject{kind=Foo,apiVersion=samplecontroller.k8s.io/v1alpha1}"
    assert recorder.take() == [f"Warning InvalidObject does not fit {about}"] * 2


def test_options_reach_the_controller(cluster: ManagedSandbox) -> None:
    """Options that are left out are the manager's."""
    manager = cluster.manager(
        controller_options=ControllerOptions(
            cache_sync_timeout_seconds=math.inf, shutdown_timeout_seconds=7, max_retries=2
        )
    )
    builder = (
        controller_for(manager, "exposer").for_(Foo).with_options(max_concurrent_reconciles=4, max_retries=9)
    )
    controller = builder.complete_by_name(Exposer(manager))
    options = controller._options
    assert (options.max_concurrent_reconciles, options.shutdown_timeout_seconds) == (4, 7)
    assert options.max_retries == 9
    assert options.cache_sync_timeout_seconds == math.inf
    assert cluster.metric("controller_runtime_max_concurrent_reconciles", controller="exposer") == 4
    own = controller_for(manager, "own").for_(Foo).with_options(cache_sync_timeout_seconds=3)
    other = own.complete_by_name(Exposer(manager))
    assert other._options.cache_sync_timeout_seconds == 3
    assert other._options.max_retries == 2


def test_mistakes_are_named(cluster: ManagedSandbox) -> None:
    """A controller is about exactly one kind, and has a name of its own."""
    manager = cluster.manager()
    with pytest.raises(BuilderError, match="can only be called once"):
        controller_for(manager, "a").for_(Foo).for_(Foo)
    with pytest.raises(BuilderError, match="call for_"):
        controller_for(manager, "a").owns(Service).complete_by_name(Exposer(manager))
    controller_for(manager, "a").for_(Foo).complete_by_name(Exposer(manager))
    with pytest.raises(ValueError, match="controller with name a already exists"):
        controller_for(manager, "a").for_(Foo).complete_by_name(Exposer(manager))
    with pytest.raises(ValueError, match="needs a name"):
        controller_for(manager, "").for_(Foo).complete_by_name(Exposer(manager))
    for name in ("a\n", "x" * 129):
        with pytest.raises(ValueError, match="it is the field manager of writes"):
            controller_for(manager, name).for_(Foo).complete_by_name(Exposer(manager))
    with pytest.raises(TypeError, match=r"not a class: pass Exposer\(\.\.\.\)"):
        controller_for(manager, "b").for_(Foo).complete_by_name(cast("Any", Exposer))


def test_a_controller_is_complete_before_the_manager_runs(cluster: ManagedSandbox) -> None:
    """Later it would never start, and its caches never fill: it is refused, and nothing of it is left."""
    manager = cluster.manager()
    exposer = Exposer(manager)
    with cluster.running(manager):
        eventually(lambda: not manager.readiness_checks()["informers-synced"](), "running")
        with pytest.raises(RuntimeError, match="controller late would never start"):
            controller_for(manager, "late").for_(Deployment).complete_by_name(exposer)
        assert manager.readiness_checks()["informers-synced"]() is None
    with pytest.raises(RuntimeError, match="controller late would never start"):
        controller_for(manager, "late").for_(Deployment).complete_by_name(exposer)


def _ticked(cluster: ManagedSandbox) -> bool:
    """Let the garbage collector work."""
    cluster.sandbox.tick()
    return True


def test_nothing_is_made_for_an_owner_that_is_gone_while_the_cache_has_it() -> None:
    """The watch of owners is silent: children that disappear are not made anew; afterwards all is as ever."""
    cluster = ManagedSandbox(lifelike=True)
    cluster.install(Foo)
    manager = cluster.manager()
    exposer = Exposer(manager)
    controller = controller_for(manager, "exposer").for_(Foo).owns(Service).complete_by_name(exposer)
    create_foo(cluster, "a")
    with captured_logs() as logs, cluster.running(manager):
        eventually(lambda: "Service default/a added" in exposer.told("a"), "made")
        silence = cluster.sandbox.faults.delay_watches(resources=["foos"])
        cluster.client.resource(Foo).delete("a", namespace="default")
        eventually(lambda: _ticked(cluster) and whys(logs), "asked about")
        assert not exists(cluster, "a")
        assert exposer.told("a").count("Service default/a added") == 1
        calls = len(exposer.causes)
        silence.clear()
        eventually(lambda: len(exposer.causes) > calls, "noticed")
        create_foo(cluster, "a")
        eventually(lambda: exists(cluster, "a"), "made for its successor")
    assert whys(logs) == {"Foo default/a is gone from the server, or going: waiting for the cache to know"}
    assert controller.statistics().failed == 0


def whys(logs: list[Any]) -> set[str]:
    """Why reconciles wait."""
    return {entry["why"] for entry in logs if entry["event"] == "Reconcile waits"}


def test_without_the_role_children_are_made_again_ever_more_rarely(cluster: ManagedSandbox) -> None:
    """The first at once, the second after ten seconds: no failure, so that it is no matter of max_retries."""
    clock = FakeClock()
    manager = cluster.manager(seams=Seams(clock=clock))
    exposer = Exposer(manager)
    builder = controller_for(manager, "exposer").for_(Foo).owns(Service).with_options(max_retries=0)
    controller = builder.writes(Service, "create").complete_by_name(exposer)
    cluster.sandbox.faults.deny(verbs=["get"], resources=["foos"])
    create_foo(cluster, "a")
    services = cluster.client.resource(Service)

    def has_seen(number: int) -> bool:
        clock.advance(0.01)  # an object that is not in the cache is looked for again
        return exposer.told("a").count("Service default/a added") == number

    def is_held_back() -> bool:
        return any(5 < at - clock.now() <= 10 for at in clock.deadlines())

    with captured_logs() as logs, cluster.running(manager):
        eventually(lambda: has_seen(1), "made")
        services.delete("a", namespace="default")
        eventually(lambda: has_seen(2), "made again at once")
        services.delete("a", namespace="default")
        eventually(is_held_back, "held back")
        assert not exists(cluster, "a")
        clock.advance(10)
        eventually(lambda: has_seen(3), "made again")
    assert controller.statistics().failed == 0
    assert [entry["event"][:18] for entry in logs if entry["log_level"] == "warning"] == [
        "Children disappear"
    ]


def test_an_object_that_an_index_lacks_gets_an_event(cluster: ManagedSandbox) -> None:
    """It is reconciled all the same; its metric and its Event name the trouble."""
    manager = cluster.manager()
    foos = manager.informer_for(Foo)
    foos.add_indexers({"team": lambda foo: (foo.metadata.labels["team"],)})
    seen: list[str] = []
    controller_for(manager, "a").for_(Foo).complete(lambda foo, _context: seen.append(foo.metadata.name))
    create_foo(cluster, "teamless")
    with cluster.running(manager), captured_logs():
        eventually(lambda: seen == ["teamless"], "reconciled")
        assert foos.by_index("team", "x") == []
        labels = {"name": Foo.resource.group_resource}
        assert cluster.registry.get_sample_value("informer_unindexed_objects", labels) == 1
        events = cluster.client.resource(Event)
        eventually(lambda: events.list("default").items, "told")
        (event,) = events.list("default").items
    assert (event.reason, event.message) == ("NotIndexed", "index \"team\": KeyError('team')")


def test_a_reconciler_of_another_kind_is_a_type_error(cluster: ManagedSandbox) -> None:
    """For mypy, which would call these comments unused if it saw nothing wrong."""

    def of_services(service: Service, _context: Context) -> None:
        assert type(service) is Service

    manager = cluster.manager()
    builder = controller_for(manager, "a").for_(Foo)
    builder.complete(of_services)  # type: ignore[arg-type]
    by_name = controller_for(manager, "b").for_(Foo)
    by_name.complete_by_name(of_services)  # type: ignore[arg-type]
