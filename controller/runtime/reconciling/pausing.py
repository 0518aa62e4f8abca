"""
Pause the reconciles of an object that has an annotation, or whose namespace has it.

A reconcile that is in progress continues. The next one only writes the condition Paused, if the status has
conditions. Events that arrive during the pause are dropped, because the reconcile after the pause reads the
current state. The annotation is read from the cache, so the pause starts when the watch event of the
annotation arrives.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from handloop.apis.meta import Kind
from handloop.controller.runtime.caching.namespace_annotations import NamespaceAnnotations
from handloop.controller.runtime.children.finalizers import is_being_deleted
from handloop.controller.runtime.guards.name_table import NameTable
from handloop.controller.runtime.reconcile import LEFT_ALONE, Result
from handloop.controller.runtime.reconciling.context import Context
from handloop.controller.runtime.reconciling.reconciler import ReconcileFunc
from handloop.controller.runtime.reconciling.stalled import PAUSED, tell_condition
from handloop.controller.runtime.sources.commands import Commands
from handloop.informers.keys import ObjectName
from handloop.seams.locks import new_lock


class Pausing:
    """
    Calls a reconcile, unless its object is paused. Implements Reconciler[ObjectName].

    State: _held, under _lock, paused name -> why it was paused at its last reconcile; _odd, under its own
    lock, name -> a value of the annotation that does not pause the name, and has been reported.
    Threads: each worker calls reconcile for the name that it works on; any thread can call the other methods.
    """

    def __init__(
        self,
        commands: Commands,
        cached: Callable[[ObjectName], Kind | None],
        namespaces: NamespaceAnnotations,
        reconcile: ReconcileFunc[ObjectName],
        *,
        deletions: bool,
        tells: bool,
    ) -> None:
        """Args: deletions is True to pause deletions, too; tells is True to write the condition Paused."""
        self._commands = commands
        self._cached = cached
        self._namespaces = namespaces
        self._reconcile = reconcile
        self._deletions = deletions
        self._tells = tells
        self._lock = new_lock("Pausing._lock", 95)
        self._held: dict[ObjectName, str] = {}
        self._odd: NameTable[str] = NameTable()

    def reconcile(self, name: ObjectName, context: Context) -> Result | None:
        """
        Call the reconcile, unless the object is paused.

        Raises: any error that the reconcile raises; ClientError if the condition cannot be written.
        """
        seen = self._cached(name)
        why = self._why(name, seen, context)
        with self._lock:
            before = self._held.pop(name, "")
            if why:
                self._held[name] = why
        if not why:
            if before:
                context.log.info("Paused no longer", object=name)
            return self._reconcile(name, context)
        if why != before:
            context.log.info("Paused", object=name, why=why)
        if self._tells:
            tell_condition(seen, context, (PAUSED, why))
        return LEFT_ALONE

    def _why(self, name: ObjectName, seen: Any, context: Context) -> str:
        """Return why an object is paused, or "" if it is not paused or does not exist."""
        if seen is None or (is_being_deleted(seen) and not self._deletions):
            return ""
        key = self._commands.paused
        if self._commands.are_to_pause(seen.metadata.annotations):
            return f"by its annotation {key}"
        there = self._namespaces.get(name.namespace, key)
        if there is not None and self._commands.are_to_pause({key: there}):
            return f"by the annotation {key} of its namespace"
        self._tell_of_odd(name, seen.metadata.annotations.get(key, there), context)
        return ""

    def _tell_of_odd(self, name: ObjectName, value: str | None, context: Context) -> None:
        """Report that the value of the annotation does not pause the object, once per name and value."""
        if value is None:
            self._odd.pop(name)
        elif self._odd.get(name) != value:
            self._odd.put(name, value)
            key = self._commands.paused
            context.log.warning(
                "Not paused: the value of the annotation is not true",
                object=name,
                annotation=f"{key}={value[:64]!r}",
                fix=f"set {key}=true to pause the object, or remove the annotation to reconcile it",
                once=True,
            )

    def why(self, name: ObjectName) -> str:
        """Return why a name was paused at its last reconcile, or "" if it was not paused."""
        with self._lock:
            return self._held.get(name, "")

    def count(self) -> int:
        """
        Return the number of paused objects.

        Deleted objects are first removed, because a predicate may have dropped their deletion events.
        """
        self.forget_names(lambda name: self._cached(name) is None)
        with self._lock:
            return len(self._held)

    def forget_names(self, gone: Callable[[ObjectName], bool]) -> None:
        """See NameMemory."""
        with self._lock:
            held = tuple(self._held)
        leaving = [name for name in held if gone(name)]
        with self._lock:
            for name in leaving:
                self._held.pop(name, None)
        self._odd.forget_names(gone)
