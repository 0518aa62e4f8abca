"""
Handlers, which an informer calls for every object that is added, updated or deleted.

Objects are shared with the cache, and frozen. A handler runs on its own listener thread, one call at a time.
It should put a key into a workqueue and return. A delete may arrive as a tombstone,
`DeletedFinalStateUnknown`. If an object is deleted and recreated between two lists, or while a watch is
closed, the handler receives *one* update with a different UID. docs/internals/threads-and-locks.md says which
changes are not reported.
Follows: client-go tools/cache/controller.go @32ce75a7d (ResourceEventHandler and its adaptors).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from handloop.informers.keys import DeletedFinalStateUnknown

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)

AddFunc: TypeAlias = Callable[[T], None]
UpdateFunc: TypeAlias = Callable[[T, T], None]
DeleteFunc: TypeAlias = Callable[[T | DeletedFinalStateUnknown[T]], None]
FilterFunc: TypeAlias = Callable[[T | DeletedFinalStateUnknown[T]], bool]


class ResourceEventHandler(Protocol[T_contra]):
    """Receives changes in the order in which they were stored. Its return values are ignored."""

    def on_add(self, obj: T_contra, is_in_initial_list: bool) -> None:  # noqa: FBT001 - as in client-go
        """
        Handle an object that is new to the store.

        Args: is_in_initial_list is True for the objects of the first list, and for those that were already
        stored when this handler was added to a running informer.
        """

    def on_update(self, old: T_contra, new: T_contra) -> None:
        """Handle an object that was replaced in the store. A resync passes the same object twice."""

    def on_delete(self, obj: T_contra | DeletedFinalStateUnknown[T_contra]) -> None:
        """Handle a removal from the store. obj is the final state, or a tombstone if none was received."""


class ResourceEventHandlerFuncs(Generic[T]):
    """
    A handler made from up to three functions. If a function is missing, its events are ignored.

    Field: functions contains the functions that were given.
    """

    def __init__(
        self,
        *,
        add_func: AddFunc[T] | None = None,
        update_func: UpdateFunc[T] | None = None,
        delete_func: DeleteFunc[T] | None = None,
    ) -> None:
        self.functions: tuple[Callable[..., Any], ...] = tuple(
            f for f in (add_func, update_func, delete_func) if f is not None
        )
        self._add_func = ignore if add_func is None else add_func
        # Bind these here instead of wrapping them in a method, which saves one call per notification.
        self.on_update: UpdateFunc[T] = ignore if update_func is None else update_func
        self.on_delete: DeleteFunc[T] = ignore if delete_func is None else delete_func

    def on_add(self, obj: T, is_in_initial_list: bool) -> None:  # noqa: ARG002, FBT001 - the Protocol's signature
        """Call add_func."""
        self._add_func(obj)


class FilteringResourceEventHandler(Generic[T]):
    """
    Passes on to a handler only the objects that filter_func accepts.

    If the filter accepts only the new state of an updated object, the handler receives an add; if the filter
    accepts only the old one, the handler receives a delete. filter_func must be pure and accept tombstones.
    """

    def __init__(self, *, filter_func: FilterFunc[T], handler: ResourceEventHandler[T]) -> None:
        self.filter_func = filter_func
        self.handler = handler

    def on_add(self, obj: T, is_in_initial_list: bool) -> None:  # noqa: FBT001 - the Protocol's signature
        """Pass on the object if the filter accepts it."""
        if self.filter_func(obj):
            self.handler.on_add(obj, is_in_initial_list)

    def on_update(self, old: T, new: T) -> None:
        """Pass on an update, an add or a delete, depending on the filter's results for both states."""
        newer, older = self.filter_func(new), self.filter_func(old)
        if newer and older:
            self.handler.on_update(old, new)
        elif newer:
            self.handler.on_add(new, False)
        elif older:
            self.handler.on_delete(old)

    def on_delete(self, obj: T | DeletedFinalStateUnknown[T]) -> None:
        """Pass on the deletion if the filter accepts the final state."""
        if self.filter_func(obj):
            self.handler.on_delete(obj)


def ignore(*_: object) -> None:
    """Do nothing, in place of a function that was not given."""


def handler_name(handler: object) -> str:
    """
    Return a name for logs and thread dumps.

    Returns: for a handler made from functions, the place where they are defined, or their names joined by "+"
             if there are several places; for any other handler, the name of its type.
    """
    if not isinstance(handler, ResourceEventHandlerFuncs):
        return _qualified(type(handler))
    names = [_qualified(function) for function in handler.functions]
    qualifiers = {name.rpartition(".")[0] for name in names}
    if len(qualifiers) == 1 and "" not in qualifiers:
        return qualifiers.pop()
    return "+".join(names) or _qualified(type(handler))


def _qualified(thing: Any) -> str:
    """Return the `module.qualified_name` of a callable, or of its type if it has no name."""
    name = getattr(thing, "__qualname__", None)
    if name is None:
        thing = type(thing)
        name = thing.__qualname__
    return f"{thing.__module__}.{name}"
