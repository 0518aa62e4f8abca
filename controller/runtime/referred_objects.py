"""
The objects that a controller's objects refer to by name, each held by a watch of its own.

    Site default/a --names(site)--> Secret default/tls --list and watch of that name--> one cached Secret
    Secret default/tls updated --> Site default/a is queued

A watch of one name needs a right for that name alone, and memory for one object. It begins with the first
reference, and ends with the last.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import partial
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from handloop.apis.meta import Kind
from handloop.controller.runtime.informer_source import ADDED, DELETED, LISTED, UPDATED, Sink
from handloop.controller.runtime.multi_namespace_informer import MultiNamespaceInformer, Synced
from handloop.controller.runtime.reconcile import ReconcileError
from handloop.controller.runtime.reconcile_queue import Cause
from handloop.informers.handlers import ResourceEventHandlerFuncs
from handloop.informers.keys import (
    DeletedFinalStateUnknown,
    ObjectName,
    deletion_handling_object_to_name,
    object_name,
)
from handloop.seams.locks import new_lock
from handloop.seams.logs import get_logger
from handloop.workqueue.priority_queue import DEFAULT_PRIORITY, LOW_PRIORITY

log = get_logger("source")

T = TypeVar("T", bound=Kind)

NamesFunc: TypeAlias = Callable[[Any], Iterable[str | ObjectName]]
"""From an object to the names that it refers to: in its own namespace, or ObjectNames; "" is none. Pure."""


class NotReferredError(ReconcileError):
    """A reconcile read a name that its object does not, or may not, refer to: no change would wake it."""


class OneObject(Protocol):
    """Makes the informers of single objects: a Caches."""

    def watch_one(self, kind: type[T], name: ObjectName) -> MultiNamespaceInformer[T]:
        """A started informer of that object alone; `stop` ends it."""


class ReferredObjects(Generic[T]):
    """
    One `refers_to` of a controller. Implements handloop.controller.runtime.controller.Watch.

    State, under _lock (2): _of = owner -> the names that it refers to; _by = name -> the owners that refer to
    it; _held = name -> its informer, for each name of _by. _registration is None before start. References are
    read from the owners' cache under the lock: of threads that look at one owner at once none can put an
    older answer in place of a newer one.
    Threads: the listeners of the owners and of the referred objects; workers read.
    """

    def __init__(
        self,
        kind: type[T],
        names: NamesFunc,
        *,
        owners: MultiNamespaceInformer[Any],
        one: OneObject,
        sink: Sink,
        allowed: Collection[str] = (),
    ) -> None:
        """Args: allowed = the only names that may be referred to, () = any."""
        self.kind = kind
        self._names = names
        self._owners = owners
        self._one = one
        self._sink = sink
        self._allowed = frozenset(allowed)
        self._lock = new_lock("ReferredObjects._lock", 2)
        self._of: dict[ObjectName, frozenset[ObjectName]] = {}
        self._by: dict[ObjectName, set[ObjectName]] = {}
        self._held: dict[ObjectName, MultiNamespaceInformer[T]] = {}
        self._registration: Synced | None = None

    def __repr__(self) -> str:
        with self._lock:
            return f"<ReferredObjects of {self.kind.resource}: {len(self._held)} held>"

    def start(self) -> None:
        """Follow the owners from here on, beginning with those in the cache."""
        look = self._look_at
        handler = ResourceEventHandlerFuncs[Any](
            add_func=lambda obj: look(object_name(obj)),
            update_func=lambda _old, new: look(object_name(new)),
            delete_func=lambda obj: look(deletion_handling_object_to_name(obj)),
        )
        self._owners.on_left(self._forget_namespace)
        self._registration = self._owners.add_event_handler(handler)

    def troubles(self) -> list[str]:
        """Why the first lists are not complete yet; one that fails keeps nobody but its owners waiting."""
        if self._registration is not None and not self._registration.has_synced():
            return [f"{self.kind.resource.group_resource}: its references are not known yet"]
        with self._lock:
            held = list(self._held.values())
        return [text for each in held if not each.is_failing() for text in each.troubles()]

    def get(self, owner: ObjectName, name: ObjectName) -> T | None:
        """
        A referred object from its cache; None without one.

        Raises: NotReferredError; WaitError while its first list fails.
        Blocks: until its first list is there.
        """
        with self._lock:
            held = self._held.get(name) if name in self._of.get(owner, ()) else None
        if held is None:
            # its event may not have reached our listener yet
            self._look_at(owner)
            with self._lock:
                refers = name in self._of.get(owner, ())
                held = self._held.get(name) if refers else None
        if held is None:
            raise NotReferredError(self._why_not(owner, name))
        return held.get(name)

    def _why_not(self, owner: ObjectName, name: ObjectName) -> str:
        what = f"{self.kind.resource.kind} {name}"
        if self._allowed and name.name not in self._allowed:
            return f"{what} is not read: .refers_to(...) allows only {', '.join(sorted(self._allowed))}"
        with self._lock:
            there = ", ".join(map(str, sorted(self._of.get(owner, ())))) or "nothing"
        return f"{owner} does not refer to {what}: the function of .refers_to(...) returns {there}"

    def _look_at(self, owner: ObjectName) -> None:
        """Begin and end watches, so that they are those of the cached owner."""
        with self._lock:
            before = self._of.get(owner, frozenset())
            names = self._read_locked(owner, before)
            if names:
                self._of[owner] = names
            else:
                self._of.pop(owner, None)
            for name in names - before:
                self._by.setdefault(name, set()).add(owner)
                if name not in self._held:
                    self._held[name] = self._begin(name)
            ended = [self._held.pop(name) for name in before - names if self._forget_locked(name, owner)]
        for informer in ended:
            informer.stop()

    def _forget_locked(self, name: ObjectName, owner: ObjectName) -> bool:
        """Returns: whether that was the last reference."""
        owners = self._by[name]
        owners.discard(owner)
        if not owners:
            del self._by[name]
        return not owners

    def _forget_namespace(self, namespace: str) -> None:
        """It is watched no longer: its objects count as unknown, and refer to nothing."""
        with self._lock:
            owners = [owner for owner in self._of if owner.namespace == namespace]
        for owner in owners:
            self._look_at(owner)

    def _read_locked(self, owner: ObjectName, before: frozenset[ObjectName]) -> frozenset[ObjectName]:
        obj = self._owners.get_by_key(str(owner))
        if obj is None:
            return frozenset()
        try:
            named = [_full_name(each, owner.namespace) for each in self._names(obj) if each]
        except Exception:
            # one odd object ends no watch
            log.exception("References of an object failed", object=owner)
            return before
        return frozenset(each for each in named if not self._allowed or each.name in self._allowed)

    def _begin(self, name: ObjectName) -> MultiNamespaceInformer[T]:
        informer = self._one.watch_one(self.kind, name)
        informer.add_event_handler(_Wakes(partial(self._wake, name)))
        return informer

    def _wake(self, name: ObjectName, verb: str) -> None:
        """Queue the objects that refer to a name."""
        with self._lock:
            owners = list(self._by.get(name, ()))
        cause = Cause(self.kind.resource.kind, verb, str(name))
        priority = LOW_PRIORITY if verb == LISTED else DEFAULT_PRIORITY
        for owner in owners:
            self._sink.add(owner, cause, priority=priority)


class _Wakes:
    """Implements handloop.informers.handlers.ResourceEventHandler; a resync wakes nobody."""

    def __init__(self, wake: Callable[[str], None]) -> None:
        self._wake = wake

    def on_add(self, _obj: Kind, is_in_initial_list: bool) -> None:  # noqa: FBT001 - client-go's signature
        self._wake(LISTED if is_in_initial_list else ADDED)

    def on_update(self, old: Kind, new: Kind) -> None:
        if old.metadata.resource_version != new.metadata.resource_version:
            self._wake(UPDATED)

    def on_delete(self, _obj: Kind | DeletedFinalStateUnknown[Any]) -> None:
        self._wake(DELETED)


def _full_name(name: str | ObjectName, namespace: str) -> ObjectName:
    return name if isinstance(name, ObjectName) else ObjectName(namespace, name)
