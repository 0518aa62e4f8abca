"""What a controller remembers of names leaves with their slot: whatever a walk over its objects finds."""

from __future__ import annotations

import gc
import logging
import threading
from collections.abc import Callable, Iterator
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import pytest

from handloop import Client, Context, Manager, ObjectName, Result, TerminalError, WaitError, controller_for
from handloop.apis.grammar.shard_selector import slot_of_namespace
from handloop.apis.meta import FrozenMap, ObjectMeta
from handloop.controller.foo.runnable import add_foo
from handloop.controller.foo.types import Foo, FooSpec
from handloop.controller.runtime.caching.multi_namespace_informer import MultiNamespaceInformer
from handloop.controller.runtime.guards.name_memory import NameMemory
from handloop.controller.runtime.sharding.slot_work import SlotWork
from handloop.informers.shared_informer import SharedIndexInformer
from handloop.kinds.core_v1 import ConfigMap
from handloop.testing.eventually import eventually
from handloop.testing.sharing import SLOTS, sharing
from support.rigs.managed_sandbox import ManagedSandbox

NAMESPACES = [f"ns-{number}" for number in range(12)]
ENDS = 7
# what all controllers share: the caches have rules of their own
_SHARED = (
    Manager,
    Client,
    MultiNamespaceInformer,
    SharedIndexInformer,
    SlotWork,
    threading.Thread,
    logging.Logger,
    ModuleType,
    type,
    BuiltinFunctionType,
)

_IN_LINE = ("PriorityQueue > dict > ObjectName", "PriorityQueue > Schedule > list > tuple > ObjectName")
"""A name that is added for later stays in line until then: a worker that gets it finds nothing to do."""


def remembered(root: object, namespaces: set[str]) -> dict[ObjectName, str]:
    """The names in these namespaces to which an object leads, and the way there."""
    found: dict[ObjectName, str] = {}
    ways: list[tuple[object, str]] = [(root, type(root).__name__)]
    seen = {id(root)}
    while ways:
        here, way = ways.pop()
        if isinstance(here, ObjectName) and here.namespace in namespaces and not way.endswith(_IN_LINE):
            found[here] = way
        for there in _referred(here):
            if id(there) not in seen and not isinstance(there, _SHARED):
                seen.add(id(there))
                ways.append((there, f"{way} > {type(there).__name__}"))
    return found


def _referred(here: object) -> Iterator[object]:
    """Of a function its closure, and not the globals of its module."""
    if isinstance(here, FunctionType):
        yield from here.__closure__ or ()
    elif not isinstance(here, (str, bytes, int, float)):
        yield from gc.get_referents(here)


class Odd:
    """A reconciler whose Foos come to every end that there is, each by its name."""

    def add(self, manager: Manager) -> None:
        builder = controller_for(manager, "odd").for_(Foo).owns(ConfigMap)
        builder.with_options(max_concurrent_reconciles=4).complete(self.reconcile)

    def reconcile(self, foo: Foo, context: Context) -> Result | None:
        metadata = ObjectMeta(name=foo.metadata.name, namespace=foo.metadata.namespace)
        context.apply(ConfigMap(metadata=metadata, data=FrozenMap({"a": "1"})), owner=foo)
        ends: list[Callable[[], Result | None]] = [
            self._nothing,
            lambda: self._raise(ValueError("again")),
            lambda: self._raise(WaitError("later")),
            lambda: self._raise(TerminalError("never")),
            lambda: Result(requeue_after=300),
            lambda: self._refused(foo, context),
            lambda: self._busy(foo, context),
        ]
        return ends[int(foo.metadata.name.removeprefix("f"))]()

    @staticmethod
    def _nothing() -> None:
        return None

    @staticmethod
    def _raise(error: Exception) -> None:
        raise error

    @staticmethod
    def _refused(foo: Foo, context: Context) -> None:
        """The server answers 422."""
        metadata = ObjectMeta(name="Not A Name", namespace=foo.metadata.namespace)
        context.apply(ConfigMap(metadata=metadata), owner=foo)

    @staticmethod
    def _busy(foo: Foo, context: Context) -> Result:
        metadata = ObjectMeta(name="busy", namespace=foo.metadata.namespace)
        context.apply(ConfigMap(metadata=metadata, data=FrozenMap({"a": context.id})), owner=foo)
        return Result(requeue_after=0.05)


def add_odd(manager: Manager) -> None:
    Odd().add(manager)


def add_foos(manager: Manager) -> None:
    add_foo(manager, workers=2)


@pytest.mark.parametrize("set_up", [add_odd, add_foos])
def test_nothing_that_a_controller_holds_names_an_object_of_a_slot_that_left(
    set_up: Callable[[Manager], None],
) -> None:
    """Queue, floors, paces, applied fields, suspects, refusals: whatever there is, and whatever will be."""
    cluster = ManagedSandbox(Foo)
    for namespace in NAMESPACES:
        cluster.namespace(namespace)
        for number in range(ENDS):
            # without the name of a Deployment it cannot work
            spec = FooSpec(deployment_name=f"d{number}" if number else "", replicas=1)
            metadata = ObjectMeta(name=f"f{number}", namespace=namespace)
            cluster.client.resource(Foo).create(Foo(metadata=metadata, spec=spec))
    with sharing(cluster, set_up) as replicas:
        replicas.start("a")
        first = replicas.managers["a"]
        replicas.wait_for(8)
        everything = set(NAMESPACES)
        eventually(lambda: len(remembered(_controller(first), everything)) > len(everything) // 2, "a memory")
        replicas.start("b")
        replicas.wait_for(4, 4)
        held = replicas.held()["a"]
        left = {each for each in NAMESPACES if slot_of_namespace(each, SLOTS) not in held}
        assert left
        eventually(lambda: not remembered(_controller(first), left), "nothing is left")
        assert remembered(_controller(first), everything), "the walk finds what is kept"


def _controller(manager: Manager) -> Any:
    (runnable,) = manager._runnables
    return runnable


def test_each_part_forgets_with_the_others() -> None:
    """And is handed back, so that it registers where it is made."""
    memory, gone = NameMemory(), []

    class Part:
        def forget_names(self, names: Callable[[ObjectName], bool]) -> None:
            gone.append(names(ObjectName("a", "b")))

    part = Part()
    assert memory.keep(part) is part
    memory.keep(Part())
    memory.forget_names(lambda name: name.namespace == "a")
    assert gone == [True, True]
