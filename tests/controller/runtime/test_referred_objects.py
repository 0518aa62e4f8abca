"""Objects held by reference, on a sandbox without sockets."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

import pytest

from handloop.apis.meta import FrozenMap, ObjectMeta
from handloop.controller.foo.types import Foo
from handloop.controller.runtime.builder import BuilderError, controller_for
from handloop.controller.runtime.cache_wait import READER
from handloop.controller.runtime.context import Context
from handloop.controller.runtime.manager import Manager
from handloop.controller.runtime.multi_namespace_informer import MultiNamespaceInformer
from handloop.controller.runtime.rbac.roles import roles
from handloop.controller.runtime.reconcile import ReconcileError, TerminalError
from handloop.controller.runtime.referred_objects import NotReferredError, referred_name
from handloop.informers.keys import ObjectName
from handloop.kinds.core_v1 import Namespace, Secret
from handloop.testing.eventually import eventually
from support.checks.captured_logs import captured_logs
from support.rigs.managed_sandbox import ManagedSandbox


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
        self.watched: dict[str, list[MultiNamespaceInformer[Any]]] = {}
        self._watch = manager.watch
        manager.watch = self.watch  # type: ignore[method-assign] # to see what is watched
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

    def watch(self, kind: type[Any], namespace: str, *, name: str = "") -> MultiNamespaceInformer[Any]:
        """As the manager's."""
        made = self._watch(kind, namespace, name=name)
        self.watched.setdefault(name or kind.__name__, []).append(made)
        return made

    def held(self) -> set[str]:
        """The names of the Secrets that are watched now."""
        parts = {
            name: [one for each in made for one in each.informers] for name, made in self.watched.items()
        }
        return {name for name, made in parts.items() if not all(one.is_stopped() for one in made)}

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


def test_references_that_appear_and_go_begin_and_end_watches() -> None:
    """The last reference ends the watch, and so does the end of the object that refers."""
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
    assert failures[1] == "the set-up names no references: .refers_to(Foo, names)"


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
    with pytest.raises(TypeError, match=r"in which namespace is the Secret a\?"):
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
    began, watch = threading.Event(), manager.watch

    def troubles(_namespace: str = "") -> list[str]:
        if READER.get() == "reconcile":
            began.set()
        return ["a list without an end"]

    def slow(kind: type[Any], namespace: str, *, name: str = "") -> Any:
        made: Any = watch(kind, namespace, name=name)
        if name == "first":
            made.has_synced, made.troubles = lambda _namespace="": False, troubles
            made.is_failing = lambda _namespace="": READER.get() != "reconcile"  # the start does not wait
        return made

    manager.watch = slow  # type: ignore[method-assign]
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
    with pytest.raises(TypeError, match=r"a function takes an object|allowed is a sequence"):
        builder.refers_to(Secret, names, allowed=allowed)  # type: ignore[arg-type]


def test_of_many_names_the_metadata_is_watched_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each read then asks the server; a change wakes exactly those that refer. Fewer are as before."""
    monkeypatch.setattr("handloop.controller.runtime.referred_objects.MOST_WATCHES", 4)
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
