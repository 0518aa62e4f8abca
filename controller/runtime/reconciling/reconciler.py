"""
The author's reconcile, which is a function, or an object with a method `reconcile`.

    complete(reconcile)             reconcile(obj, context)    receives the object in the cache
    complete_by_name(reconcile) reconcile(name, context) receives the name, even of a deleted object

Follows: controller-runtime pkg/reconcile (Reconciler, ObjectReconciler).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Final, Generic, Protocol, TypeVar

from handloop.apis.meta import Kind
from handloop.controller.runtime.children.finalizers import is_being_deleted
from handloop.controller.runtime.reconcile import Result
from handloop.controller.runtime.reconciling.context import Context
from handloop.informers.keys import ObjectName

K = TypeVar("K", bound=Kind)
S_contra = TypeVar("S_contra", contravariant=True)
S = TypeVar("S")

MISFIT_SECONDS: Final = 60.0
_OF_THE_GARBAGE_COLLECTOR: Final = frozenset({"foregroundDeletion", "orphan"})


class Reconciler(Protocol[S_contra]):
    """
    Makes the cluster match an object's spec.

    The subject of a Reconciler[Foo] is a Foo. The subject of a Reconciler[ObjectName] is an object's name.
    """

    def reconcile(self, subject: S_contra, context: Context, /) -> Result | None:
        """
        Compare the desired state with the current state, and write the difference.

        There is never more than one running call per object.
        Returns: a Result; None means DONE.
        Raises: TerminalError to wait for a change; any other error to be called again after a back-off.
        """


ReconcileFunc = Callable[[S, Context], Result | None]
"""The type of a reconcile that is a function; see Reconciler.reconcile."""


class ByObject(Generic[K]):
    """
    Calls a reconcile with the cached object of a name. Implements Reconciler[ObjectName].

    The reconcile is not called if the object is not in the cache. It is also not called if the object's
    deletion waits only for the garbage collector, which is deleting the children: they must not be recreated.
    It is called for every other object that is being deleted. The reconcile must then check
    is_being_deleted(obj), and remove its finalizer.
    """

    def __init__(self, cached: Callable[[ObjectName], K | None], reconcile: ReconcileFunc[K]) -> None:
        self._cached = cached
        self._reconcile = reconcile

    def reconcile(self, name: ObjectName, context: Context) -> Result | None:
        """Call the reconcile if the object must be reconciled. Raises: any error that reconcile raises."""
        obj = self._cached(name)
        if obj is None or _is_left_to_the_garbage_collector(obj):
            return None
        return self._reconcile(obj, context)


class ByName:
    """
    Calls a reconcile with a name, even if its object no longer exists. Implements Reconciler[ObjectName].

    The cache does not store an object that does not fit its type. The reconcile is not called for such an
    object, because it would clean up as if the object had been deleted. The name is queued again when the
    object fits. It is also queued every MISFIT_SECONDS, because the deletion of such an object causes no
    watch event.
    """

    def __init__(
        self, is_quarantined: Callable[[ObjectName], bool], reconcile: ReconcileFunc[ObjectName]
    ) -> None:
        self._is_quarantined = is_quarantined
        self._reconcile = reconcile

    def reconcile(self, name: ObjectName, context: Context) -> Result | None:
        """Call the reconcile, unless the object does not fit its type. Raises: any error that it raises."""
        if self._is_quarantined(name):
            return Result(requeue_after=MISFIT_SECONDS)
        return self._reconcile(name, context)


def _is_left_to_the_garbage_collector(obj: Kind) -> bool:
    finalizers = obj.metadata.finalizers
    return is_being_deleted(obj) and bool(finalizers) and _OF_THE_GARBAGE_COLLECTOR.issuperset(finalizers)


def function_of(reconciler: Reconciler[S] | ReconcileFunc[S], subject: str) -> ReconcileFunc[S]:
    """
    Return the reconcile function of a reconciler, which is called with a subject and a context.

    Args: subject is the name of the first argument, for error messages.
    Raises: TypeError if reconciler is a class; if it is a coroutine or generator function, because calling it
    would have no effect; or if it cannot be called with two arguments.
    """
    if isinstance(reconciler, type):
        raise TypeError(f"a reconciler must be an object, not a class: pass {reconciler.__name__}(...)")
    function: Any = getattr(reconciler, "reconcile", reconciler)
    wanted = f"reconcile({subject}, context)"
    if not callable(function):
        raise TypeError(f"a reconciler must be a function {wanted} or have this method: {reconciler!r}")
    name = getattr(function, "__qualname__", repr(function))
    called = function if inspect.isroutine(function) else type(function).__call__
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(called):
        raise TypeError(f"{name} is async, but a reconcile runs on a worker thread: define it with `def`")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(f"{name} is a generator, but a reconcile must return a Result or None")
    try:
        inspect.signature(function).bind(None, None)
    except TypeError as error:
        raise TypeError(f"{name} is not callable as {wanted}: {error}") from None
    except ValueError:  # a C function without a signature
        pass
    return function  # type: ignore[no-any-return] # checked as far as can be
