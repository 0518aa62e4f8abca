"""From events of a kind to names to reconcile."""

from __future__ import annotations

from collections.abc import Iterable
from traceback import format_exception

import pytest
from msgspec.structs import replace

from handloop.apis.apps_v1 import Deployment
from handloop.apis.meta import FrozenMap, Kind, ObjectMeta, OwnerReference
from handloop.controller.foo.types import Foo, FooSpec
from handloop.controller.runtime.caching.multi_namespace_informer import MultiNamespaceInformer
from handloop.controller.runtime.children.owner_references import with_owner
from handloop.controller.runtime.sources.informer_source import InformerSource, MapFunc, OwnerNames, own_name
from handloop.controller.runtime.sources.predicates import (
    GenerationChanged,
    Predicate,
    PredicateFuncs,
    ResourceVersionChanged,
)
from handloop.controller.runtime.sources.reconcile_queue import Cause
from handloop.informers.keys import DeletedFinalStateUnknown, ObjectName
from handloop.informers.shared_informer import SharedIndexInformer
from handloop.workqueue.priority_queue import DEFAULT_PRIORITY, LOW_PRIORITY
from support.builders.deployments import deployment
from support.checks.captured_logs import captured_logs
from support.doubles.fake_lister_watcher import FakeListerWatcher
from support.doubles.unspeakable import UNSPEAKABLE
from support.rigs.reconcile_rig import FakeMirror
from support.rigs.traced import OTHERS, THEIRS, traced

A = ObjectName("default", "a")


class Queue:
    """A sink that remembers."""

    def __init__(self) -> None:
        self.added: list[tuple[ObjectName, Cause, int]] = []
        self.observed: list[ObjectName] = []
        self.panics = 0
        self.dropped: list[tuple[str, str, tuple[ObjectName, ...]]] = []
        self.gone: list[tuple[str, int, int]] = []

    def add(
        self, name: ObjectName, cause: Cause, *, priority: int = DEFAULT_PRIORITY, version: str = ""
    ) -> None:
        self.added.append((name, cause, priority))

    def names(self) -> list[ObjectName]:
        return [name for name, _, _ in self.added]

    def source(
        self, names_of: MapFunc[Deployment] = own_name, *predicates: Predicate
    ) -> InformerSource[Deployment]:
        informer = SharedIndexInformer(FakeListerWatcher(), Deployment)
        return InformerSource(
            MultiNamespaceInformer(Deployment, {"": informer}),
            names_of,
            sink=self,
            predicates=predicates,
            observed=lambda _kind, name: self.observed.append(name),
            gone=self.note_gone,
            panicked=self.panic,
            dropped=lambda cause, by, names: self.dropped.append((cause.label, by, tuple(names))),
        )

    def note_gone(self, obj: Kind) -> None:
        """With how much has been observed and queued by then."""
        self.gone.append((obj.metadata.uid, len(self.observed), len(self.added)))

    def panic(self) -> None:
        self.panics += 1

    def told(self) -> list[tuple[str, int]]:
        return [(str(cause), priority) for _, cause, priority in self.added]


def test_each_event_has_its_change_and_its_priority() -> None:
    """The first list and resyncs wait behind fresh events."""
    queue = Queue()
    source = queue.source()
    source.on_add(deployment("a", 1), True)
    source.on_add(deployment("a", 1), False)
    source.on_update(deployment("a", 1), deployment("a", 2))
    source.on_update(deployment("a", 2), deployment("a", 2))
    source.on_delete(deployment("a", 3))
    assert queue.told() == [
        ("Deployment default/a listed", LOW_PRIORITY),
        ("Deployment default/a added", DEFAULT_PRIORITY),
        ("Deployment default/a updated", DEFAULT_PRIORITY),
        ("Deployment default/a resynced", LOW_PRIORITY),
        ("Deployment default/a deleted", DEFAULT_PRIORITY),
    ]
    assert [cause.is_resync for _, cause, _ in queue.added] == [False, False, False, True, False]


def test_a_deletion_is_delivered_first_of_all() -> None:
    """Before anything is queued or woken, with any predicates; of a replaced object as well."""
    queue = Queue()
    source = queue.source(
        own_name, PredicateFuncs(delete=lambda _obj: False, update=lambda _old, _new: False)
    )
    one, two = deployment("a", 1), deployment("a", 2)
    two = replace(two, metadata=replace(two.metadata, uid="two"))
    source.on_update(one, one)
    source.on_update(one, two)
    source.on_delete(DeletedFinalStateUnknown("default/a", two))
    source.on_delete(DeletedFinalStateUnknown("default/a", None))
    assert queue.gone == [(one.metadata.uid, 1, 0), ("two", 2, 1)]


def test_a_tombstone_is_a_deletion() -> None:
    """With the last known state, or with nothing but a name."""
    queue = Queue()
    source = queue.source()
    source.on_delete(DeletedFinalStateUnknown("default/a", deployment("a")))
    source.on_delete(DeletedFinalStateUnknown("default/a", None))
    assert queue.names() == [A, A]
    assert queue.observed == [A, A]


def test_a_map_function_gets_no_tombstone_without_a_state() -> None:
    """There is no owner to be read from nothing, and no error either."""
    queue = Queue()
    queue.source(lambda _obj: [A]).on_delete(DeletedFinalStateUnknown("default/x", None))
    assert queue.names() == []


def test_another_object_of_the_name_is_a_deletion_and_a_creation() -> None:
    """Of what happens while no watch is open a list shows the outcome alone, and both have generation 1."""
    queue = Queue()
    old, new = deployment("a", 1, uid="one"), deployment("a", 9, uid="two")
    queue.source(own_name, GenerationChanged()).on_update(old, new)
    assert queue.told() == [("Deployment default/a updated", DEFAULT_PRIORITY)]
    asked: list[str] = []

    def hears(what: str) -> bool:
        asked.append(what)
        return False

    deaf = PredicateFuncs(
        create=lambda obj: hears(f"create {obj.metadata.uid}"),
        update=lambda _old, _new: hears("update"),
        delete=lambda obj: hears(f"delete {obj.metadata.uid}"),
    )
    queue.source(own_name, deaf).on_update(old, new)
    assert asked == ["delete one", "create two"]
    assert len(queue.added) == 1


def test_every_predicate_must_agree() -> None:
    """Several are joined by and."""
    queue = Queue()
    source = queue.source(own_name, ResourceVersionChanged(), GenerationChanged())
    source.on_update(deployment("a", 1), deployment("a", 2))
    assert queue.names() == []


def test_a_map_is_asked_for_both_states_of_an_update() -> None:
    """The former name of an object is queued, too; each name once."""
    queue = Queue()

    def by_label(obj: Deployment) -> Iterable[ObjectName]:
        return [ObjectName("default", value) for value in obj.metadata.labels.values()]

    old = deployment("x", 1, labels={"a": "one", "b": "both"})
    new = deployment("x", 2, labels={"a": "two", "b": "both"})
    queue.source(by_label).on_update(old, new)
    assert [name.name for name in queue.names()] == ["one", "both", "two"]


def test_a_predicate_that_raises_lets_its_event_through() -> None:
    """It is counted and logged with the object; a lost event would be worse than a needless reconcile."""
    queue = Queue()

    def odd(*_states: Deployment) -> bool:
        raise ZeroDivisionError("odd")

    source = queue.source(own_name, PredicateFuncs(create=odd, update=odd, delete=odd))
    with captured_logs() as logs:
        source.on_add(deployment("a"), True)
        source.on_update(deployment("a", 1), deployment("a", 2))
        source.on_delete(deployment("a"))
    assert [text for text, _ in queue.told()] == [
        "Deployment default/a listed",
        "Deployment default/a updated",
        "Deployment default/a deleted",
    ]
    assert queue.panics == 3
    errors = [entry for entry in logs if entry["log_level"] == "error"]
    assert [(entry["kind"], entry["object"]) for entry in errors] == [("Deployment", A)] * 3
    assert all("in odd" in "".join(format_exception(entry["exc_info"])) for entry in errors)


def test_a_map_function_that_raises_loses_one_state_only() -> None:
    """The names of the other state of an update, and those of further objects, are still made."""
    queue = Queue()

    def by_label(obj: Deployment) -> list[ObjectName]:
        return [ObjectName("default", obj.metadata.labels["for"])]

    source = queue.source(by_label)
    with captured_logs():
        source.on_add(deployment("x"), True)
        source.on_update(deployment("x", 1), deployment("x", 2, labels={"for": "a"}))
        source.on_update(deployment("x", 2, labels={"for": "a"}), deployment("x", 3))
    assert queue.names() == [A, A]
    assert queue.panics == 3


@pytest.mark.parametrize("error", UNSPEAKABLE, ids=lambda error: type(error).__name__)
def test_an_error_without_words_loses_no_more(error: BaseException) -> None:
    """Of a predicate, and of a map function, here on the first state of an update."""
    queue = Queue()

    def odd(*states: Deployment) -> list[ObjectName]:
        if states[0].metadata.resource_version == "1":
            raise error
        return [A]

    with captured_logs() as logs:
        queue.source(odd, PredicateFuncs(update=odd)).on_update(deployment("a", 1), deployment("a", 2))  # type: ignore[arg-type]
    assert queue.names() == [A]
    assert [line["event"] for line in logs] == [
        "Predicate failed, so the event triggers a reconcile",
        "Map function failed",
    ]


def test_what_a_map_function_makes_has_to_be_names() -> None:
    """A key would reach the reconciler, and fail there again and again."""
    queue = Queue()
    with captured_logs() as logs:
        queue.source(lambda _obj: ["default/a"]).on_add(deployment("x"), False)  # type: ignore[list-item]
    assert (queue.names(), queue.panics) == ([], 1)
    assert "ObjectNames" in logs[0]["err"]


def owned(by: Kind | None, *, api_version: str = "", uid: str = "", controller: bool = True) -> Deployment:
    """A Deployment with an owner, or a false one."""
    if by is None:
        return deployment("child")
    reference = OwnerReference(
        api_version=api_version or by.resource.api_version,
        kind=by.resource.kind,
        name=by.metadata.name,
        uid=uid or by.metadata.uid,
        controller=controller,
    )
    child = deployment("child")
    return replace(child, metadata=replace(child.metadata, owner_references=(reference,)))


FOO = Foo(metadata=ObjectMeta(name="a", namespace="default", uid="u1"), spec=FooSpec(deployment_name="child"))


def owner_names(*cached: Kind) -> OwnerNames:
    """The owners that are in the cache."""
    mirror = FakeMirror()
    for obj in cached:
        mirror.put(obj)
    return OwnerNames(Foo, mirror)


def test_an_object_leads_to_its_controlling_owner() -> None:
    """By group, kind and name: the end of a former object's child frees its name for the present one's."""
    assert owner_names(FOO)(owned(FOO)) == (A,)
    assert owner_names(FOO)(owned(FOO, uid="former")) == (A,)


def test_every_owner_can_be_enqueued() -> None:
    """Those that do not control it, too; none of them twice."""
    other = replace(FOO, metadata=replace(FOO.metadata, name="b", uid="u2"))
    child = with_owner(with_owner(owned(FOO), other), replace(FOO, metadata=replace(FOO.metadata, uid="u3")))
    mirror = FakeMirror()
    for each in (FOO, other):
        mirror.put(each)
    assert OwnerNames(Foo, mirror, every_owner=True)(child) == (A, ObjectName("default", "b"))
    assert OwnerNames(Foo, mirror)(child) == (A,)


def test_another_version_of_the_group_is_the_same_owner() -> None:
    """A reference keeps the version it was written with."""
    assert owner_names(FOO)(owned(FOO, api_version="samplecontroller.k8s.io/v9")) == (A,)


def test_what_is_not_ours_leads_nowhere() -> None:
    """No owner, another group, a mere owner reference, an owner that is not cached."""
    names = owner_names(FOO)
    assert names(owned(None)) == ()
    assert names(owned(FOO, api_version="other.io/v1alpha1")) == ()
    assert names(owned(FOO, controller=False)) == ()
    assert owner_names()(owned(FOO)) == ()
    assert names(owned(deployment("a", uid="u1"))) == ()


def test_dropped_events_are_counted_and_logged() -> None:
    """A predicate that matches nothing would else be silence. Each is named as the cause that it was not."""
    queue, old = Queue(), deployment("a")
    never = PredicateFuncs(create=lambda _: False, update=lambda *_: False, delete=lambda _: False)
    source = queue.source(own_name, never)
    new = replace(old, metadata=replace(old.metadata, resource_version="2"))
    with captured_logs() as logs:
        source.on_add(old, True)
        source.on_add(old, False)
        source.on_update(old, new)
        source.on_update(new, new)
        source.on_delete(new)
    verbs = ["listed", "added", "updated", "resynced", "deleted"]
    assert queue.dropped == [(f"Deployment {verb}", "PredicateFuncs", (A,)) for verb in verbs]
    assert [(entry["event"], entry["was"], entry["log_level"]) for entry in logs] == [
        ("A predicate dropped a watch event", verb, "debug") for verb in verbs
    ]
    queue.source().on_add(old, False)
    assert (len(queue.dropped), queue.names()) == (5, [A])


def test_an_event_brings_the_trace_that_it_put_on_the_object() -> None:
    """Once: a list, a resync, a later change and a deletion find it there, and tell of no writer."""

    def written_in(trace: object, rv: int) -> Deployment:
        obj, marks = deployment("a", rv), FrozenMap({"traceparent": str(trace)})
        return replace(obj, metadata=replace(obj.metadata, annotations=marks))

    queue = Queue()
    source = queue.source()
    first, second = written_in(THEIRS, 1), written_in(THEIRS, 2)
    with traced():
        source.on_add(first, False)
        source.on_update(first, second)
        source.on_update(second, second)
        source.on_update(second, written_in(OTHERS, 3))
        source.on_update(written_in(OTHERS, 3), written_in("rubbish", 4))
        source.on_delete(second)
        source.on_add(first, True)
    source.on_add(first, False)
    traces = [cause.trace for _, cause, _ in queue.added]
    assert traces == [THEIRS, None, None, OTHERS, None, None, None, None]
