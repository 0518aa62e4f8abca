"""Namespaces by label come and go. One that leaves is no deletion: nothing in it is taken for gone."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import pytest

from handloop.apis.core_v1 import Event
from handloop.apis.grammar.labels import SelectorError
from handloop.apis.meta import APIStruct, Kind
from handloop.client.http.response import Stream
from handloop.client.resource_client import Client
from handloop.client.transport import ForwardingTransport
from handloop.controller.runtime.builder import controller_for
from handloop.controller.runtime.caching.caches import Caches
from handloop.controller.runtime.caching.multi_namespace_informer import MultiNamespaceInformer
from handloop.controller.runtime.manager import Manager
from handloop.controller.runtime.rbac.roles import roles
from handloop.controller.runtime.reconcile import Result
from handloop.controller.runtime.reconciling.context import Context
from handloop.controller.runtime.reconciling.controller import Controller
from handloop.informers.handlers import ResourceEventHandlerFuncs
from handloop.informers.indexer import IndexerConflict
from handloop.informers.keys import ObjectName, deletion_handling_object_to_name
from handloop.informers.lister import NamespaceNotWatched
from handloop.kinds.core_v1 import ConfigMap, Namespace
from handloop.testing.eventually import eventually
from support.checks.captured_logs import captured_logs
from support.checks.threads import Background
from support.rigs.greeter import Greeting
from support.rigs.managed_sandbox import ManagedSandbox


class TeamSpec(APIStruct):
    """Nothing is wanted of a team."""


class Team(Kind, group="m.example.com", version="v1", scope="Cluster"):
    """A cluster-scoped owner of objects in namespaces."""

    spec: TeamSpec = TeamSpec()


class World:
    """A sandbox with the namespaces a and b, which match team=x, and a manager of those that match."""

    def __init__(self) -> None:
        self.cluster = ManagedSandbox(Greeting, Team)
        self.admin = self.cluster.client
        self.manager = self.cluster.manager(namespaces="team=x")
        for name in ("a", "b"):
            self.cluster.namespace(name)
            self.label(name, "x")

    def label(self, namespace: str, team: str | None) -> None:
        """Put a namespace into another team."""
        self.admin.resource(Namespace).patch(namespace, {"metadata": {"labels": {"team": team}}})

    def leave(self, namespace: str) -> None:
        """Take a namespace out of the team, and wait until the manager knows."""
        self.label(namespace, "other")
        eventually(lambda: self.manager.informer_for(Greeting).has_left(namespace), "left")

    def greet(self, name: str, namespace: str = "a", **metadata: Any) -> None:
        """Create a Greeting."""
        greeting = Greeting.named(name, namespace=namespace)
        self.admin.resource(Greeting).create(greeting)

    def maps(self, namespace: str) -> list[str]:
        """The names of the ConfigMaps of a namespace."""
        return sorted(each.metadata.name for each in self.admin.resource(ConfigMap).list(namespace).items)


@pytest.fixture
def world() -> World:
    """A fresh one."""
    return World()


class Served:
    """Gives each Greeting its ConfigMap; takes away that of a Greeting that is gone."""

    def __init__(self, world: World) -> None:
        self.names: list[str] = []
        self.writing = threading.Event()
        self.go_on = threading.Event()
        self.go_on.set()
        builder = controller_for(world.manager, "greeter").for_(Greeting).owns(ConfigMap)
        builder.writes(ConfigMap, "create", "patch", "delete")
        self.controller: Controller = builder.complete_by_name(self.reconcile)

    def reconcile(self, name: ObjectName, context: Context) -> Result:
        self.names.append(str(name))
        greeting = context.lister_for(Greeting).get(name)
        if greeting is None:
            context.client.resource(ConfigMap).delete(name.name, namespace=name.namespace)
            return Result()
        self.writing.set()
        self.go_on.wait(30)
        context.apply(ConfigMap.named(greeting, data={"text": "hello"}), owner=greeting)
        return Result(requeue_after=0.01)


def test_a_namespace_that_leaves_is_left_alone_until_it_comes_back(world: World) -> None:
    """No timer, retry or queued name leads to a reconcile there; then everything is looked at again."""
    served = Served(world)
    world.greet("one")
    with captured_logs() as logs, world.cluster.running(world.manager):
        eventually(lambda: world.maps("a") == ["one"], "served")
        world.leave("a")
        world.admin.resource(Greeting).delete("one", namespace="a")
        world.greet("two")
        world.greet("three", "b")
        eventually(lambda: world.maps("b") == ["three"], "the other one is served")
        count = served.names.count("a/one")
        served.controller.enqueue(ObjectName("a", "one"), "test")
        again = served.names.count("b/three") + 3
        eventually(lambda: served.names.count("b/three") >= again, "timers go on")
        assert served.names.count("a/one") == count
        assert world.maps("a") == ["one"]
        world.label("a", "x")
        eventually(lambda: "two" in world.maps("a"), "served again")
    assert [line for line in logs if line["log_level"] in ("warning", "error")] == []


def test_a_reconcile_that_is_under_way_writes_nothing_more_there(world: World) -> None:
    """It is dropped without an alarm, whether it reads or writes next."""
    served = Served(world)
    with captured_logs() as logs, world.cluster.running(world.manager):
        served.go_on.clear()
        world.greet("one")
        eventually(served.writing.is_set, "in the middle of it")
        world.leave("a")
        served.go_on.set()
        world.greet("two", "b")
        eventually(lambda: world.maps("b") == ["two"], "the worker is free")
    assert world.maps("a") == []
    assert [line for line in logs if line["log_level"] in ("warning", "error")] == []


def test_nothing_is_written_until_all_informers_watch_a_namespace_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reconcile from its earlier time may still be under way."""
    served, closed, join = Served(world), list[bool](), MultiNamespaceInformer.join
    caches = world.manager._caches

    def joins(view: MultiNamespaceInformer[Any], namespace: str, informer: Any) -> None:
        join(view, namespace, informer)
        closed.append(caches.has_left(namespace))

    with world.cluster.running(world.manager):
        world.greet("one", "b")
        eventually(lambda: served.names, "at work")
        world.leave("a")
        monkeypatch.setattr(MultiNamespaceInformer, "join", joins)
        world.label("a", "x")
        eventually(lambda: not caches.has_left("a"), "back")
    assert closed == [True, True]


def test_no_handler_hears_of_deletions_and_reads_say_why(world: World) -> None:
    """A lister of all namespaces has those that match; the other one is refused by name."""
    seen: list[str] = []
    informer = world.manager.informer_for(Greeting)
    informer.add_event_handler(
        ResourceEventHandlerFuncs(
            add_func=lambda obj: seen.append(f"+{obj.metadata.namespace}"),
            delete_func=lambda obj: seen.append(f"-{deletion_handling_object_to_name(obj).namespace}"),
        )
    )
    informer.add_indexers({"by": lambda obj: [obj.metadata.name]})
    world.greet("one")
    world.greet("one", "b")
    with world.cluster.running(world.manager):
        eventually(lambda: sorted(seen) == ["+a", "+b"], "both")
        assert len(informer.list()) == len(informer.by_index("by", "one")) == 2
        world.leave("a")
        assert [each.metadata.namespace for each in informer.by_index("by", "one")] == ["b"]
        for read in (lambda: informer.get("a/one"), lambda: informer.list(namespace="a")):
            with pytest.raises(NamespaceNotWatched, match=r'"a".* \(watched: those with team=x\)'):
                read()
        world.label("a", "x")
        eventually(lambda: len(informer.by_index("by", "one")) == 2, "back, with its indexes")
        eventually(lambda: len(seen) > 2, "told")
    assert sorted(seen) == ["+a", "+a", "+b"]


def test_pruning_leaves_out_a_namespace_that_left(world: World) -> None:
    """A cluster-scoped owner deletes what the cache has, and there it has nothing."""
    pruned: list[str] = []
    go_on = threading.Event()

    def reconcile(team: Team, context: Context) -> None:
        for namespace in () if go_on.is_set() else ("a", "b"):
            context.apply(ConfigMap.named(team, namespace=namespace), owner=team)
        if go_on.is_set():
            pruned.extend(each.metadata.namespace for each in context.prune(ConfigMap, keep=(), owner=team))

    builder = controller_for(world.manager, "teams").for_(Team).owns(ConfigMap)
    builder.writes(ConfigMap, "create", "patch", "delete").complete(reconcile)
    world.admin.resource(Team).create(Team.named("x"))
    with world.cluster.running(world.manager):
        maps = world.manager.lister_for(ConfigMap)
        eventually(lambda: len(maps.list()) == 2, "both")
        world.leave("a")
        go_on.set()
        world.admin.resource(Team).patch("x", {"metadata": {"labels": {"now": "prune"}}})
        eventually(lambda: pruned == ["b"], "pruned")
    assert world.maps("a") == ["x"]


def test_events_and_references_end_with_the_namespace(world: World) -> None:
    """Nothing is recorded there, and the watches for what its objects refer to end."""
    watched: list[Any] = []
    watch = world.manager.watch_object

    def recorded(kind: type[Any], name: Any, changed: Any) -> Any:
        watched.append(watch(kind, name, changed))
        return watched[-1]

    world.manager.watch_object = recorded  # type: ignore[method-assign] # to see what is watched
    contexts: list[tuple[Greeting, Context]] = []
    builder = controller_for(world.manager, "greeter").for_(Greeting)
    builder.refers_to(ConfigMap, lambda greeting: [greeting.metadata.name])
    builder.complete(lambda greeting, context: contexts.append((greeting, context)))
    world.greet("one")
    with world.cluster.running(world.manager):
        eventually(lambda: len(watched) == 1 and bool(contexts), "watched")
        world.leave("a")
        eventually(lambda: all(each.has_ended for each in watched), "ended")
        greeting, context = contexts[0]
        context.event(greeting, "Late", "written too late")
    assert world.admin.resource(Event).list("a").items == []


def test_a_new_leader_does_not_wait_for_a_namespace_that_left(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its informers have ended, so they never contain what the former leader wrote there."""
    caches, stop = Caches(world.admin, namespaces="team=x"), threading.Event()
    view = caches.informer_for(Greeting)
    with captured_logs():
        caches.start(stop)
        eventually(lambda: view.has_synced() and len(view.informers) == 2, "filled")
        behind = next(each for each in view.informers if each.name.endswith("@a"))
        asked: list[str] = []
        monkeypatch.setattr(behind, "has_seen", asked.append)
        catching = Background(lambda: caches.catch_up(stop))
        eventually(lambda: asked, "waiting")
        world.label("a", "other")
        catching.result()
        caches.shutdown()


class _Refuses(ForwardingTransport):
    """A server that does not let us list in the namespace b."""

    def stream(self, method: str, path: str, **options: Any) -> Stream:
        if "/namespaces/b/" in path:
            path = path.replace("/namespaces/b/", "/namespaces/missing-right/no-such-group/")
        return super().stream(method, path, **options)

    def request(self, method: str, path: str, **options: Any) -> Any:
        if "/namespaces/b/" in path:
            path = path.replace("/namespaces/b/", "/namespaces/missing-right/no-such-group/")
        return super().request(method, path, **options)


def test_a_namespace_whose_role_is_not_bound_keeps_no_other_waiting() -> None:
    """Its own names wait, and are served once it is."""
    world = World()
    client: Client = world.cluster.client.wrap(_Refuses)
    world.manager = Manager(client, namespaces="team=x")
    served = Served(world)
    world.greet("one")
    world.greet("two", "b")
    with captured_logs(), world.cluster.running(world.manager):
        eventually(lambda: world.maps("a") == ["one"], "served")
        assert "b/two" not in served.names


def test_what_it_needs_and_what_is_no_selector() -> None:
    """The list of namespaces is declared; one name is refused, as it would be a selector for a label."""
    client = ManagedSandbox().client
    rules = [rule for role in roles(Manager(client, namespaces="team=x").access()) for rule in role["rules"]]
    assert rules == [{"apiGroups": [""], "resources": ["namespaces"], "verbs": ["list", "watch"]}]
    with pytest.raises(TypeError, match=r"such as \('x',\), or a label selector"):
        Caches(client, namespaces="x")
    with pytest.raises(SelectorError):
        Caches(client, namespaces="team in x")


def test_the_set_up_is_checked_before_any_namespace_is_known(world: World) -> None:
    """As with fixed namespaces: a namespace that joins refuses nothing."""
    informer = world.manager.informer_for(Greeting)
    informer.add_indexers({"by": lambda obj: [obj.metadata.name]})
    with pytest.raises(IndexerConflict):
        informer.add_indexers({"by": lambda obj: [obj.metadata.name]})

    class View(Kind, group="m.example.com", version="v1", kind="Greeting"):
        """Another type of the kind."""

    with pytest.raises(ValueError, match="use that type"):
        world.manager.informer_for(View)


def test_a_reconcile_under_way_sees_no_list_without_its_namespace(world: World) -> None:
    """An empty answer would be taken for the truth."""
    seen: list[int] = []
    reading, go_on = threading.Event(), threading.Event()

    def reconcile(greeting: Greeting, context: Context) -> None:
        maps = context.lister_for(ConfigMap)
        seen.append(len([each for each in maps.list() if each.metadata.name == greeting.metadata.name]))
        reading.set()
        go_on.wait(30)
        seen.append(len([each for each in maps.list() if each.metadata.name == greeting.metadata.name]))

    controller_for(world.manager, "greeter").for_(Greeting).owns(ConfigMap).complete(reconcile)
    world.cluster.config_map("one", namespace="a")
    with captured_logs() as logs, world.cluster.running(world.manager):
        world.greet("one")
        eventually(reading.is_set, "in the middle of it")
        world.leave("a")
        go_on.set()
    assert seen == [1]
    assert [line for line in logs if line["log_level"] in {"warning", "error"}] == []


def test_the_numbers_of_a_namespace_go_with_it(world: World) -> None:
    """Else an alert on them would never end."""
    world.manager.informer_for(Greeting)
    name = f"{Greeting.resource.group_resource}@a"
    with world.cluster.running(world.manager):
        eventually(lambda: shown(world, name) is not None, "shown")
        world.leave("a")
        eventually(lambda: shown(world, name) is None, "gone")


def shown(world: World, name: str) -> float | None:
    """The objects of an informer on the page."""
    return world.cluster.registry.get_sample_value("informer_cached_objects", {"name": name})


def test_a_namespace_whose_watch_cannot_begin_is_served_later(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There may be no thread just then; the next event of the namespace, or a resync, tries again."""
    Served(world)
    world.label("b", None)
    spawn, has_room = world.manager.seams.spawn, threading.Event()

    def no_room(name: str, run: Any) -> Any:
        if name == "informer-configmaps" and not has_room.is_set():
            raise RuntimeError("can't start new thread")
        return spawn(name, run)

    with captured_logs(), world.cluster.running(world.manager):
        eventually(lambda: not world.manager._caches.synced_check(), "synced")
        monkeypatch.setattr(world.manager._caches, "_seams", replace(world.manager.seams, spawn=no_room))
        world.greet("one", "b")
        world.label("b", "x")
        eventually(lambda: "b" in world.manager._caches._factories, "met")
        has_room.set()
        world.admin.resource(Namespace).patch("b", {"metadata": {"annotations": {"x": "y"}}})
        eventually(lambda: world.maps("b") == ["one"], "served")
