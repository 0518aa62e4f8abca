"""Functions and objects that reconcile, by object and by name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from handloop.apis.apps_v1 import Deployment
from handloop.controller.runtime.reconcile import DONE, Result
from handloop.controller.runtime.reconciling.context import Context
from handloop.controller.runtime.reconciling.reconciler import MISFIT_SECONDS, ByName, ByObject, function_of
from handloop.informers.keys import ObjectName
from support.builders.deployments import deployment


class AsObject:
    """Reconciles with a method."""

    def reconcile(self, obj: Deployment, context: Context) -> Result:
        return Result(requeue_after=obj.spec.replicas)


def as_function(obj: Deployment, context: Context) -> Result:
    """Reconciles as it is."""
    return Result(requeue_after=obj.spec.replicas)


@pytest.mark.parametrize("reconciler", [AsObject(), as_function], ids=["object", "function"])
def test_a_reconciler_is_a_function_or_has_one(reconciler: Any) -> None:
    """Either is called with the subject and the context."""
    obj = deployment("a")
    assert function_of(reconciler, "obj")(obj, Context()) == as_function(obj, Context())


class Async:
    async def reconcile(self, obj: Deployment, context: Context) -> None:
        """Would make a coroutine that is never awaited."""


class AsyncCallable:
    async def __call__(self, obj: Deployment, context: Context) -> None:
        """The same."""


class TooNarrow:
    def reconcile(self, name: ObjectName) -> None:
        """Lacks the context."""


def generator(_obj: Deployment, _context: Context) -> Iterator[None]:
    """Would do nothing when it is called."""
    yield


@pytest.mark.parametrize(
    ("reconciler", "message"),
    [
        (AsObject, r"not a class: pass AsObject\(\.\.\.\)"),
        (None, r"reconcile\(obj, context\) or have this method: None"),
        (Async(), r"Async\.reconcile is async"),
        (AsyncCallable(), "is async"),
        (generator, "generator is a generator"),
        (TooNarrow(), r"TooNarrow\.reconcile is not callable as reconcile\(obj, context\): too many"),
        (lambda: None, "not callable as"),
    ],
)
def test_what_could_never_reconcile_is_refused_at_set_up(reconciler: Any, message: str) -> None:
    """And not by each reconcile, for ever."""
    with pytest.raises(TypeError, match=message):
        function_of(reconciler, "obj")


def calls_for(obj: Deployment | None) -> list[Deployment]:
    """The calls that a reconcile by object gets for a cached object."""
    calls: list[Deployment] = []

    def note(obj: Deployment, _context: Context) -> Result:
        calls.append(obj)
        return DONE

    ByObject(lambda _name: obj, note).reconcile(ObjectName("default", "a"), Context())
    return calls


def deleted(*finalizers: str) -> Deployment:
    """Being deleted, until these finalizers are gone."""
    obj = deployment("a")
    metadata = replace(obj.metadata, deletion_timestamp="2026-01-01T00:00:00Z", finalizers=tuple(finalizers))
    return replace(obj, metadata=metadata)


@pytest.mark.parametrize("obj", [deployment("a"), deleted(), deleted("example.com/x", "foregroundDeletion")])
def test_it_gets_the_cached_object(obj: Deployment) -> None:
    """Also one that is being deleted, as long as a controller may have to clean up, or it ends by itself."""
    assert calls_for(obj) == [obj]


@pytest.mark.parametrize("obj", [None, deleted("foregroundDeletion"), deleted("orphan")])
def test_what_is_gone_or_only_waits_for_the_garbage_collector_is_skipped(obj: Deployment | None) -> None:
    """A child that was made now would be garbage at once, and made again."""
    assert calls_for(obj) == []


def test_what_does_not_fit_its_type_is_not_taken_for_gone() -> None:
    """A reconcile that cleans up is not called; the name comes back."""
    called: list[ObjectName] = []
    odd, gone = ObjectName("default", "odd"), ObjectName("default", "gone")
    by_name = ByName(odd.__eq__, lambda name, _context: called.append(name))
    assert by_name.reconcile(odd, Context()) == Result(requeue_after=MISFIT_SECONDS)
    assert by_name.reconcile(gone, Context()) is None
    assert called == [gone]
