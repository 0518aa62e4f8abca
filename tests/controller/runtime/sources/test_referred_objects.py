"""Objects held by reference, on a sandbox without sockets."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from handloop.apis.meta import FrozenMap, ObjectMeta
from handloop.client.resource_client import Client
from handloop.controller.foo.types import Foo
from handloop.controller.runtime.builder import BuilderError, controller_for
from handloop.controller.runtime.caching.cache_wait import READER
from handloop.controller.runtime.election.leader_election import StopTimeoutError
from handloop.controller.runtime.manager import Manager
from handloop.controller.runtime.rbac.roles import roles
from handloop.controller.runtime.reconcile import CacheNotFilledError, ReconcileError, TerminalError
from handloop.controller.runtime.reconciling.context import Context
from handloop.controller.runtime.reconciling.controller import ControllerOptions
from handloop.controller.runtime.sources.referred_objects import NotReferredError, referred_name
from handloop.informers.keys import ObjectName
from handloop.kinds.core_v1 import Namespace, Secret
from handloop.testing.eventually import eventually
from support.checks.captured_logs import captured_logs
from support.rigs.managed_sandbox import AsAlice, ManagedSandbox, allow_foos


def secrets_of(foo: Foo) -> Iterable[str]:
    """A Foo refers to the Secrets in the name of its Deployment: `a+b`."""
    return foo.spec.deployment_name.split("+")


class Reader:
    """Reads the Secrets of each Foo, and remembers what it got."""

    def __init__(self, manager: Manager, *, allowed: tuple[str, ...] | None = None) -> None:
        self.manager = manager
        self.read: dict[str, list[tuple[str, ...]]] = {}
        self.causes: list[str] = []
        self.failures: list[Exception] = []
        self.watched: dict[str, list[Any]] = {}
        self._watch, self._watch_object = manager.watch, manager.watch_object
        # to see what is watched
        manager.watch, manager.watch_object = self.watch, self.watch_object  # type: ignore[method-assign]
        builder = controller_for(manager, "reader").for_(Foo).refers_to(Secret, secrets_of, allowed=allowed)
        self.controller = builder.complete(self.reconcile)

    def reconcile(self, foo: Foo, context: Context) -> None:
        self.causes += context.causes
        try:
            found = [context.referred(Secret, name) for name in secrets_of(foo) if name]
        except ReconcileError as error:
            self.failures.append(error)
            raise
        texts = tuple("none" if each is None else each.data["text"] for each in found)
        self.read.setdefault(foo.metadata.name, []).append(texts)

    def watch(self, kind: type[Any], namespace: str) -> Any:
        """As the manager's."""
        made = self._watch(kind, namespace)
        self.watched.setdefault(kind.__name__, []).extend([made] if made else [])
        return made

    def watch_object(self, kind: type[Any], name: ObjectName, changed: Any) -> Any:
        """As the manager's."""
        made = self._watch_object(kind, name, changed)
        self.watched.setdefault(name.name, []).extend([made] if made else [])
        return made

    def held(self) -> set[str]:
        """The names of the Secrets that are watched now."""
        return {name for name, made in self.watched.items() if not all(one.has_ended for one in made)}

    def now(self, name: str) -> tuple[str, ...] | None:
        """What the last reconcile of a Foo read."""
        return self.read[name][-1] if name in self.read else None


def secret(cluster: ManagedSandbox, name: str, text: str) -> None:
    """Create a Secret."""
    metadata = ObjectMeta(name=name, namespace="default")
    cluster.client.resource(Secret).create(Secret(metadata=metadata, data=FrozenMap({"text": text})))


def refer(cluster: ManagedSandbox, foo: str, secrets: str) -> None:
    """Another client changes the references of a Foo."""
    patch = {"spec": {"deploymentName": secrets}}
    cluster.client.resource(Foo).patch(foo, patch, namespace="default")


def test_a_change_wakes_exactly_the_objects_that_refer_to_it() -> None:
    """Also when the object appears and goes; the caches hold nothing else."""
    cluster = ManagedSandbox(Foo)
    reader = Reader(cluster.manager())
    for name in ("one", "other"):
        secret(cluster, name, "TVE9PQ==")
    cluster.foo("a", deployment="one")
    cluster.foo("b", deployment="one+later")
    cluster.foo("c", deployment="third")
    with cluster.running(reader.manager):
        eventually(lambda: reader.now("a") == ("TVE9PQ==",), "read")
        eventually(lambda: reader.now("b") == ("TVE9PQ==", "none"), "read")
        eventually(lambda: reader.now("c") == ("none",), "read")
        secrets = cluster.client.resource(Secret)
        secret(cluster, "later", "TFQ=")
        eventually(lambda: reader.now("b") == ("TVE9PQ==", "TFQ="), "appeared")
        secrets.patch("one", {"data": {"text": "TjI="}}, namespace="default")
        eventually(lambda: (reader.now("a"), reader.now("b")) == (("TjI=",), ("TjI=", "TFQ=")), "changed")
        secrets.delete("later", namespace="default")
        eventually(lambda: reader.now("b") == ("TjI=", "none"), "gone")
        secrets.patch("other", {"data": {"text": "TjI="}}, namespace="default")
    assert len(reader.read["c"]) <= 2
    told = {f"Secret default/{what}" for what in ("later added", "one updated", "later deleted")}
    assert told <= set(reader.causes)
    assert not any("other" in cause for cause in reader.causes)


def test_references_that_appear_and_go_begin_and_end_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    """A watch ends after the last reference, and so it does after the end of the object that refers."""
    monkeypatch.setattr("handloop.controller.runtime.sources.referred_objects.IDLE_SECONDS", 0.1)
    cluster = ManagedSandbox(Foo)
    reader = Reader(cluster.manager())
    cluster.foo("a", deployment="x")
    cluster.foo("b", deployment="x+y")
    with cluster.running(reader.manager):
        eventually(lambda: reader.held() == {"x", "y"}, "begun")
        refer(cluster, "a", "z")
        eventually(lambda: reader.held() == {"x", "y", "z"}, "x is still referred to")
        refer(cluster, "b", "y")
        eventually(lambda: reader.held() == {"y", "z"}, "ended")
        cluster.client.resource(Foo).delete("a", namespace="default")
        eventually(lambda: reader.held() == {"y"}, "gone")


def test_names_that_come_and_go_cost_no_list_each() -> None:
    """A watch goes on for a while: who refers to its name again has what is in the cache."""
    cluster = ManagedSandbox(Foo)
    reader = Reader(cluster.manager())
    for name in "ab":
        secret(cluster, name, name * 4)
    cluster.foo("one", deployment="a")
    with captured_logs() as lines, cluster.running(reader.manager):
        for name in "ab" * 20:
            refer(cluster, "one", name)
            eventually(lambda name=name: reader.now("one") == (name * 4,), "read")  # type: ignore[misc]
        cluster.client.resource(Secret).patch("b", {"data": {"text": "TjI="}}, namespace="default")
        eventually(lambda: reader.now("one") == ("TjI=",), "woken")
    assert {name: len(made) for name, made in reader.watched.items()} == {"a": 1, "b": 1}
    assert [line for line in lines if line["log_level"] in ("warning", "error")] == []


def test_a_name_that_is_not_referred_to_is_an_error_with_the_reason() -> None:
    """No change of it would wake the object."""
    cluster = ManagedSandbox(Foo)
    manager = cluster.manager()
    failures: list[str] = []

    def reconcile(_foo: Foo, context: Context) -> None:
        for kind in (Secret, Foo):
            try:
                context.referred(kind, "other")
            except (NotReferredError, LookupError) as error:
                failures.append(str(error))

    controller_for(manager, "reader").for_(Foo).refers_to(Secret, secrets_of).complete(reconcile)
    cluster.foo("a", deployment="one")
    with cluster.running(manager):
        eventually(lambda: len(failures) >= 2, "refused")
    assert failures[0] == (
        "default/a does not refer to Secret default/other: "
        "the function of .refers_to(...) returns default/one"
    )
    assert failures[1] == "the builder lacks a reference to this kind: .refers_to(Foo, ...)"


def test_only_allowed_names_are_read_and_the_role_names_them() -> None:
    """Another name is refused here, and never asked for."""
    cluster = ManagedSandbox(Foo)
    reader = Reader(cluster.manager(), allowed=("tls",))
    rules = [rule for role in roles(reader.manager.access()) for rule in role["rules"]]
    assert [rule for rule in rules if rule["resources"] == ["secrets"]] == [
        {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["tls"], "verbs": ["list", "watch"]}
    ]
    secret(cluster, "tls", "TVE9PQ==")
    cluster.foo("a", deployment="tls")
    cluster.foo("b", deployment="root")
    with cluster.running(reader.manager), captured_logs():
        eventually(lambda: reader.now("a") == ("TVE9PQ==",) and bool(reader.failures), "read and refused")
        assert reader.held() == {"tls"}
    assert isinstance(reader.failures[0], TerminalError)
    assert str(reader.failures[0]) == "Secret default/root is not read: .refers_to(...) allows only tls"


@pytest.mark.parametrize("odd", [RuntimeError("odd"), "tls", [5], [["tls"]]], ids=str)
def test_a_function_that_fails_ends_nothing(odd: Any) -> None:
    """Nor one that returns what is no list of names: the references of that object stay as they were."""
    cluster = ManagedSandbox(Foo)
    manager = cluster.manager()
    read: list[Secret | None] = []

    def names(foo: Foo) -> Any:
        if foo.metadata.name != "odd":
            return [ObjectName("default", foo.spec.deployment_name), ""]
        if isinstance(odd, Exception):
            raise odd
        return odd

    def reconcile(foo: Foo, context: Context) -> None:
        if foo.metadata.name != "odd":
            read.extend((context.referred(Secret, "x"), context.referred(Secret, "")))

    controller_for(manager, "reader").for_(Foo).refers_to(Secret, names).complete(reconcile)
    cluster.foo("odd")
    cluster.foo("b", deployment="x")
    with captured_logs() as logs, cluster.running(manager):
        eventually(lambda: read[:2] == [None, None], "read")
        eventually(lambda: any(each["event"] == "References of an object failed" for each in logs), "told")


def test_a_cluster_scoped_kind_is_referred_to_by_name() -> None:
    """Of a namespaced one, a cluster-scoped object has to say the namespace."""
    assert referred_name(Namespace, "a", "default") == ObjectName("", "a")
    assert referred_name(Secret, "a", "default") == ObjectName("default", "a")
    with pytest.raises(TypeError, match="the Secret a has no namespace here"):
        referred_name(Secret, "a", "")


def test_one_kind_has_one_function() -> None:
    """A second one would take the place of the first."""
    builder = controller_for(ManagedSandbox(Foo).manager(), "reader").for_(Foo).refers_to(Secret, secrets_of)
    with pytest.raises(BuilderError, match=r"one refers_to\(Secret, ...\) returns all names"):
        builder.refers_to(Secret, secrets_of)


def test_a_read_goes_on_where_its_watch_has_ended() -> None:
    """The reference was changed while the first list was under way: the server answers, and nobody waits."""
    cluster = ManagedSandbox(Foo)
    manager = cluster.manager()
    began, watch = threading.Event(), manager.watch_object

    def troubles(_namespace: str = "") -> list[str]:
        if READER.get() == "reconcile":
            began.set()
        return ["a list without an end"]

    def slow(kind: type[Any], name: ObjectName, changed: Any) -> Any:
        made: Any = watch(kind, name, changed)
        if name.name == "first":
            made.has_synced, made.troubles = lambda _namespace="": False, troubles
            made.is_failing = lambda _namespace="": READER.get() != "reconcile"  # the start does not wait
        return made

    manager.watch_object = slow  # type: ignore[method-assign]
    read: list[Secret | None] = []
    controller = controller_for(manager, "reader").for_(Foo).refers_to(Secret, secrets_of)
    controller.complete(lambda foo, context: read.append(context.referred(Secret, foo.spec.deployment_name)))
    secret(cluster, "first", "TVE9PQ==")
    with cluster.running(manager), captured_logs():
        eventually(lambda: manager.informer_for(Foo).has_synced(), "at work")
        cluster.foo("a", deployment="first")
        eventually(began.is_set, "waiting")
        refer(cluster, "a", "second")
        eventually(lambda: len(read) >= 2, "read twice")
    assert [each.metadata.name if each else None for each in read[:2]] == ["first", None]


def test_a_read_ends_once_the_caches_have_stopped() -> None:
    """A reconcile that was left behind may read what was never listed. It must not look for it forever."""
    cluster = ManagedSandbox(Foo)
    manager = cluster.manager(controller_options=ControllerOptions(shutdown_timeout_seconds=0.1))
    began, go_on, watch, ended = threading.Event(), threading.Event(), manager.watch_object, list[str]()

    def slow(kind: type[Any], name: ObjectName, changed: Any) -> Any:
        made: Any = watch(kind, name, changed)
        made.has_synced, made.is_failing = lambda _namespace="": False, lambda _namespace="": True
        return made

    def read(_foo: Foo, context: Context) -> None:
        began.set()
        go_on.wait(30)
        try:
            context.referred(Secret, "tls")
        except CacheNotFilledError as error:
            ended.append(str(error))

    manager.watch_object = slow  # type: ignore[method-assign]
    controller_for(manager, "reader").for_(Foo).refers_to(Secret, lambda _foo: ["tls"]).complete(read)
    cluster.foo("a")
    try:
        with captured_logs(), pytest.raises(StopTimeoutError), cluster.running(manager):
            eventually(began.is_set, "under way")
    finally:
        go_on.set()
    eventually(lambda: ended, "ended")
    assert ended == ["the cache of secrets[.metadata.name=tls] has been stopped"]


def test_own_writes_of_a_referred_object_are_waited_for() -> None:
    """As of any cache that a reconcile reads."""
    cluster = ManagedSandbox(Foo)
    manager = cluster.manager()
    counts: list[str] = []

    def count(foo: Foo, context: Context) -> None:
        found = context.referred(Secret, "counter")
        assert found is not None
        counts.append(found.metadata.annotations.get("n", "0"))
        if foo.spec.replicas is not None and len(counts) <= int(foo.spec.replicas):
            patch = {"metadata": {"annotations": {"n": str(int(counts[-1]) + 1)}}}
            context.client.resource(Secret).patch("counter", patch, namespace="default")

    builder = controller_for(manager, "counter").for_(Foo).refers_to(Secret, lambda _foo: ["counter"])
    builder.writes(Secret, "patch").complete(count)
    secret(cluster, "counter", "TVE9PQ==")
    cluster.foo("a", replicas=9)
    with cluster.running(manager):
        eventually(lambda: len(counts) > 9, "counted")
    assert counts[:10] == [str(number) for number in range(10)]


@pytest.mark.parametrize(("names", "allowed"), [("tls", None), (secrets_of, "tls")])
def test_what_is_no_function_and_no_sequence_of_names_is_refused(names: object, allowed: object) -> None:
    """Where the builder is called."""
    builder = controller_for(ManagedSandbox(Foo).manager(), "reader").for_(Foo)
    with pytest.raises(TypeError, match=r"must be a function that takes an object|allowed must be"):
        builder.refers_to(Secret, names, allowed=allowed)  # type: ignore[arg-type]


def test_of_many_names_the_metadata_is_watched_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each read then asks the server; a change wakes exactly those that refer. Fewer are as before."""
    monkeypatch.setattr("handloop.controller.runtime.sources.referred_objects.MOST_WATCHES", 4)
    cluster = ManagedSandbox(Foo)
    reader = Reader(cluster.manager())
    rules = [rule for role in roles(reader.manager.access()) for rule in role["rules"]]
    verbs = [rule["verbs"] for rule in rules if rule["resources"] == ["secrets"]]
    assert verbs == [["get", "list", "watch"]]
    for name in "abcd":
        secret(cluster, name, "TVE9PQ==")
    cluster.foo("one", deployment="a+b+c+d+none")
    cluster.foo("two", deployment="d")
    with cluster.running(reader.manager):
        eventually(lambda: reader.now("one") == ("TVE9PQ==",) * 4 + ("none",), "read")
        eventually(lambda: reader.held() == {"PartialObjectMetadata[Secret]"}, "one watch")
        cluster.client.resource(Secret).patch("d", {"data": {"text": "TjI="}}, namespace="default")
        eventually(lambda: reader.now("one") == ("TVE9PQ==",) * 3 + ("TjI=", "none"), "woken")
        eventually(lambda: reader.now("two") == ("TjI=",), "woken")
        refer(cluster, "one", "a")
        eventually(lambda: reader.held() == {"a", "d"}, "one by one again")


@pytest.mark.parametrize("odd", ["a/b", "../x", "..", "", ",", "x=y", "\n", "%2F", "x" * 60_000])
def test_a_text_that_no_object_has_as_its_name_is_none(odd: str) -> None:
    """A user may have written it: it is read as any other that is missing, and nothing is asked for it."""
    cluster = ManagedSandbox(Foo)
    manager, read = cluster.manager(), []
    builder = controller_for(manager, "reader").for_(Foo).refers_to(Secret, lambda _foo: [odd])
    builder.complete(lambda _foo, context: read.append(context.referred(Secret, odd)))
    with captured_logs() as lines, cluster.running(manager):
        cluster.foo("a", deployment="one")
        eventually(lambda: read, "read")
    assert set(read) == {None}
    assert [line["event"] for line in lines if line["log_level"] in ("error", "warning")] == []


def test_a_name_without_its_namespace_is_refused() -> None:
    """It would be watched in all namespaces, with the Secrets of others in memory."""
    with pytest.raises(TypeError, match="the namespace of the Secret a must not be empty"):
        referred_name(Secret, ObjectName("", "a"), "default")
    assert referred_name(Namespace, ObjectName("x", "a"), "") == ObjectName("", "a")


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Room for two watches, and no pause in asking for all other names."""
    monkeypatch.setattr("handloop.controller.runtime.caching.caches.MOST_OBJECTS", 2)
    monkeypatch.setattr("handloop.controller.runtime.sources.referred_objects.ROUND_SECONDS", 0.05)


@pytest.mark.usefixtures("quick")
def test_names_without_a_watch_of_their_own_are_asked_for() -> None:
    """A change of any wakes those that refer to it; the first that goes makes room for another's watch."""
    cluster = ManagedSandbox(Foo)
    reader = Reader(cluster.manager())
    for name in "abcd":
        secret(cluster, name, "TVE9PQ==")
    cluster.foo("one", deployment="a+b+c+d+later")
    secrets = cluster.client.resource(Secret)
    with cluster.running(reader.manager):
        eventually(lambda: reader.now("one") == ("TVE9PQ==",) * 4 + ("none",), "read")
        assert len(reader.held()) == 2
        for name in "abcd":
            secrets.patch(name, {"data": {"text": "TjI="}}, namespace="default")
        secret(cluster, "later", "TFQ=")
        eventually(lambda: reader.now("one") == ("TjI=",) * 4 + ("TFQ=",), "woken")
        secrets.delete("later", namespace="default")
        eventually(lambda: reader.now("one") == ("TjI=",) * 4 + ("none",), "gone")
        left = min({"a", "b", "c", "d"} - reader.held())
        refer(cluster, "one", left)
        eventually(lambda: reader.held() == {left}, "a watch of its own")
    assert [thread.name for thread in threading.enumerate() if thread.name.startswith("references-")] == []


@pytest.mark.usefixtures("quick")
def test_where_no_role_allows_a_watch_of_all_each_name_stays_by_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A role may name the objects: the names are then watched and asked for one by one, and that is said."""
    monkeypatch.setattr("handloop.controller.runtime.sources.referred_objects.MOST_WATCHES", 3)
    monkeypatch.setattr("handloop.controller.runtime.sources.referred_objects.LOOK_SECONDS", 0.05)
    cluster = ManagedSandbox(Foo)
    cluster.client = Client(AsAlice(cluster.transport()), stop=cluster.stop)
    allow_foos(cluster.sandbox, "alice")
    rule = {"apiGroups": [""], "resources": ["secrets"], "resourceNames": [*"abcd"]}
    rules = [{**rule, "verbs": ["get", "list", "watch", "patch"]}]
    rules += [{**rule, "resourceNames": [], "verbs": ["create"]}]
    metadata, rbac = {"name": "by-name"}, "rbac.authorization.k8s.io"
    cluster.post(f"/apis/{rbac}/v1/namespaces/default/roles", {"metadata": metadata, "rules": rules})
    role = {"apiGroup": rbac, "kind": "Role", "name": "by-name"}
    alice = {"apiGroup": rbac, "kind": "User", "name": "alice"}
    binding = {"metadata": metadata, "roleRef": role, "subjects": [alice]}
    cluster.post(f"/apis/{rbac}/v1/namespaces/default/rolebindings", binding)
    reader = Reader(cluster.manager())
    for name in "abcd":
        secret(cluster, name, "TVE9PQ==")
    cluster.foo("one", deployment="a+b+c+d")
    with captured_logs() as lines, cluster.running(reader.manager):
        eventually(lambda: reader.now("one") == ("TVE9PQ==",) * 4, "read")
        eventually(lambda: any("no role allows" in line["event"] for line in lines), "said")
        eventually(lambda: len(reader.held()) == 2, "those that there is room for")
        for name in "abcd":
            cluster.client.resource(Secret).patch(name, {"data": {"text": "TjI="}}, namespace="default")
        eventually(lambda: reader.now("one") == ("TjI=",) * 4, "woken")
    assert [line["event"] for line in lines if line["log_level"] in ("error", "warning")] == []


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("kinds_of_thread", [("watch-",), ("watch-", "references-")])
def test_a_system_without_threads_has_names_that_are_asked_for(
    monkeypatch: pytest.MonkeyPatch, kinds_of_thread: tuple[str, ...]
) -> None:
    """A watch that cannot begin is begun later, and its name is asked for until then; so is who asks."""
    cluster = ManagedSandbox(Foo)
    manager = cluster.manager()
    reader, spawn = Reader(manager), manager.seams.spawn
    has_room = threading.Event()

    def no_watches(name: str, run: Any) -> Any:
        if name.startswith(kinds_of_thread) and not has_room.is_set():
            raise RuntimeError("can't start new thread")
        return spawn(name, run)

    monkeypatch.setattr(manager._caches, "_seams", replace(manager.seams, spawn=no_watches))
    secret(cluster, "a", "TVE9PQ==")
    cluster.foo("one", deployment="a")
    with captured_logs(), cluster.running(manager):
        eventually(lambda: reader.now("one") == ("TVE9PQ==",), "read")
        if "references-" in kinds_of_thread:
            has_room.set()
            cluster.client.resource(Foo).patch("one", {"spec": {"replicas": 2}}, namespace="default")
        cluster.client.resource(Secret).patch("a", {"data": {"text": "TjI="}}, namespace="default")
        eventually(lambda: reader.now("one") == ("TjI=",), "woken")
        has_room.set()
        eventually(lambda: reader.held() == {"a"}, "watched")
