"""
The objects that a controller's objects refer to by name, each held by a watch of its own.

    Site default/a --names(site)--> Secret default/tls --list and watch of that name--> one cached Secret
    Secret default/tls updated --> Site default/a is queued

A watch of one name needs a right for that name alone, and memory for one object. It begins with the first
reference, and ends with the last. In a namespace with more than MOST_WATCHES names a single watch of the
metadata of all its objects takes their place, and each read asks the server.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

import msgspec

from handloop.apis.meta import Kind
from handloop.apis.partial_metadata import metadata_of
from handloop.client.errors import NotFound
from handloop.client.resource_client import Client
from handloop.controller.runtime.informer_source import ADDED, DELETED, LISTED, UPDATED, Sink
from handloop.controller.runtime.multi_namespace_informer import MultiNamespaceInformer, Synced
from handloop.controller.runtime.reconcile import ReconcileError, TerminalError, WaitError
from handloop.controller.runtime.reconcile_queue import Cause
from handloop.informers.handlers import ResourceEventHandlerFuncs
from handloop.informers.informer_errors import InformerStopped
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
K = TypeVar("K", bound=Kind)

MOST_WATCHES: Final = 50
"""How many names of a namespace are watched one by one; at half as many they are again."""

NamesFunc: TypeAlias = Callable[[Any], Iterable[str | ObjectName]]
"""From an object to the names that it refers to: in its own namespace, or ObjectNames; "" is none. Pure."""


class NotReferredError(ReconcileError):
    """A reconcile read a name that its object does not refer to: no change of it would wake the object."""


class Watcher(Protocol):
    """Makes informers for one user: a Manager."""

    client: Client

    def watch(self, kind: type[T], namespace: str, *, name: str = "") -> MultiNamespaceInformer[T]:
        """A started informer of a namespace, or of one object; `stop` ends it."""


class _Change(NamedTuple):
    """The informers to end, and the names that are watched in another way from here on."""

    ended: list[MultiNamespaceInformer[Any]]
    moved: frozenset[ObjectName]


def referred_name(kind: type[Kind], name: Any, namespace: str) -> ObjectName:
    """
    The full name of an object of a kind, as an object in a namespace refers to it.

    Raises: TypeError for what is no name, and for a name alone where the namespace is not known.
    """
    if isinstance(name, ObjectName):
        return name
    if not isinstance(name, str):
        raise TypeError(f"the function of .refers_to(...) returns names, not {name!r}")
    if not kind.resource.namespaced:
        return ObjectName("", name)
    if not namespace:
        raise TypeError(f"in which namespace is the {kind.resource.kind} {name}? Give an ObjectName")
    return ObjectName(namespace, name)


class ReferredObjects(Generic[T]):
    """
    One `refers_to` of a controller. Implements handloop.controller.runtime.controller.Watch, and as far as
    objects are held handloop.controller.runtime.own_writes.Mirror.

    State, under _lock (2): _of = owner -> the names that it refers to; _by = name -> the owners that refer to
    it; _in = namespace -> the names in it that are in _by. For each of these _held, by namespace and name,
    has an informer, or _all has one of its namespace. _registration is None before start. References are read
    from the owners' cache under the lock: of threads that look at one owner at once none can put an older
    answer in place of a newer one.
    Threads: the listeners of the owners and of the referred objects; workers read.
    """

    def __init__(
        self,
        kind: type[T],
        names: NamesFunc,
        *,
        owners: MultiNamespaceInformer[Any],
        watcher: Watcher,
        sink: Sink,
        observed: Callable[[str, ObjectName], None] = lambda _resource, _name: None,
        allowed: Collection[str] | None = None,
    ) -> None:
        """
        Args: observed is called for each watch event with `plural.group` and the object's name. allowed = the
        only names that may be referred to, None = any.
        """
        self.kind = kind
        self._names = names
        self._owners = owners
        self._watcher = watcher
        self._sink = sink
        self._observed = observed
        self._allowed = None if allowed is None else frozenset(allowed)
        self._lock = new_lock("ReferredObjects._lock", 2)
        self._of: dict[ObjectName, frozenset[ObjectName]] = {}
        self._by: dict[ObjectName, set[ObjectName]] = {}
        self._in: dict[str, set[ObjectName]] = {}
        self._held: dict[str, dict[ObjectName, MultiNamespaceInformer[T]]] = {}
        self._all: dict[str, MultiNamespaceInformer[Any]] = {}
        self._registration: Synced | None = None

    def __repr__(self) -> str:
        with self._lock:
            held = sum(map(len, self._held.values()))
            return f"<ReferredObjects of {self.kind.resource}: {held} held, {len(self._by)} named>"

    def start(self) -> None:
        """Follow the owners from here on, beginning with those in the cache."""
        look = self._look_at
        handler = ResourceEventHandlerFuncs[Any](
            add_func=lambda obj: look(object_name(obj)),
            update_func=lambda _old, new: look(object_name(new)),
            delete_func=lambda obj: look(deletion_handling_object_to_name(obj)),
        )
        self._owners.on_left(lambda _namespace: self.keep_cached())
        self._registration = self._owners.add_event_handler(handler)

    def troubles(self) -> list[str]:
        """Why the first lists are not complete yet; one that fails keeps nobody but its owners waiting."""
        if self._registration is not None and not self._registration.has_synced():
            return [f"{self.kind.resource.group_resource}: its references are not known yet"]
        with self._lock:
            held = [*(one for there in self._held.values() for one in there.values()), *self._all.values()]
        return [text for each in held if not each.is_failing() for text in each.troubles()]

    def get(self, owner: ObjectName, name: ObjectName) -> T | None:
        """
        A referred object from its cache, or from the server where too many are referred to; None without one.

        Raises: NotReferredError; TerminalError for a name that is not allowed; WaitError while its first list
        fails, and for an object that does not fit its type; as ResourceClient.get.
        Blocks: until its first list is there, or for one request.
        """
        if not self._refers(owner, name):
            # its event may not have reached our listener yet
            self._look_at(owner)
            if not self._refers(owner, name):
                raise self._why_not(owner, name)
        while (held := self._informer(name)) is not None:
            try:
                found = held.get(name)
            except WaitError:
                if not held.has_ended:
                    raise
                continue  # its namespace is watched in another way by now, or the reference has gone
            if found is None and held.is_quarantined(name):
                raise WaitError(f"{self.kind.resource.kind} {name} does not fit its type")
            return found
        try:
            return self._watcher.client.resource(self.kind).get(name.name, namespace=name.namespace)
        except NotFound:
            return None

    def _informer(self, name: ObjectName) -> MultiNamespaceInformer[T] | None:
        with self._lock:
            return self._held.get(name.namespace, {}).get(name)

    def _refers(self, owner: ObjectName, name: ObjectName) -> bool:
        with self._lock:
            return name in self._of.get(owner, ())

    def _why_not(self, owner: ObjectName, name: ObjectName) -> ReconcileError:
        what = f"{self.kind.resource.kind} {name}"
        if self._allowed is not None and name.name not in self._allowed:
            allowed = ", ".join(sorted(self._allowed)) or "none"
            return TerminalError(f"{what} is not read: .refers_to(...) allows only {allowed}")
        with self._lock:
            there = ", ".join(map(str, sorted(self._of.get(owner, ())))) or "nothing"
        text = f"{owner} does not refer to {what}: the function of .refers_to(...) returns {there}"
        return NotReferredError(text)

    # as a mirror of own writes

    def get_by_key(self, key: str) -> Kind | None:
        """The cached object with that store key, if it is held."""
        namespace, _, name = key.rpartition("/")
        informer = self._informer(ObjectName(namespace, name))
        return None if informer is None else informer.get_by_key(key)

    def has_seen(self, namespace: str, resource_version: str) -> bool:
        """Whether all informers of a namespace have all changes up to a version."""
        with self._lock:
            held = list(self._held.get(namespace, {}).values())
        return all(informer.has_seen(namespace, resource_version) for informer in held)

    def would_hold(self, body: bytes) -> bool:
        """Whether an object, as the server sent it, is held."""
        metadata = msgspec.json.decode(body).get("metadata") or {}
        return self._informer(ObjectName(metadata.get("namespace", ""), metadata.get("name", ""))) is not None

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
                self._in.setdefault(name.namespace, set()).add(name)
            for name in before - names:
                self._forget_locked(name, owner)
            changed = {name.namespace for name in names ^ before}
            changes = [self._arrange_locked(namespace) for namespace in changed]
        for ended, moved in changes:
            for informer in ended:
                informer.stop()
            # nobody hears of what comes between the last event of the old watch and the list of the new one
            for name in moved:
                self._wake(name, LISTED)

    def _forget_locked(self, name: ObjectName, owner: ObjectName) -> None:
        owners = self._by[name]
        owners.discard(owner)
        if not owners:
            del self._by[name]
            self._in[name.namespace].discard(name)

    def _arrange_locked(self, namespace: str) -> _Change:
        """Watch the names of a namespace, one by one or together."""
        names, held = self._in.get(namespace, set()), self._held.setdefault(namespace, {})
        was_together = namespace in self._all
        most = MOST_WATCHES // 2 if was_together else MOST_WATCHES
        together = self._allowed is None and len(names) > most
        if together and not was_together:
            self._all[namespace] = self._begin(metadata_of(self.kind), namespace)
        one_by_one = set() if together else names
        for name in one_by_one - held.keys():
            held[name] = self._begin(self.kind, namespace, name.name)
        ended: list[MultiNamespaceInformer[Any]] = [held.pop(name) for name in held.keys() - one_by_one]
        if was_together and not together:
            ended.append(self._all.pop(namespace))
        if not names:
            del self._held[namespace]
            self._in.pop(namespace, None)
        return _Change(ended, frozenset(names) if together != was_together else frozenset())

    def keep_cached(self) -> None:
        """End the watches for owners that the cache lacks: their namespace or slot is watched no longer."""
        with self._lock:
            owners = list(self._of)
        for owner in owners:
            if self._owners.get_by_key(str(owner)) is None:
                self._look_at(owner)

    def _read_locked(self, owner: ObjectName, before: frozenset[ObjectName]) -> frozenset[ObjectName]:
        obj = self._owners.get_by_key(str(owner))
        if obj is None:
            return frozenset()
        try:
            named = self._full_names(self._names(obj), owner.namespace)
        except Exception:
            # one odd object ends no watch
            log.exception("References of an object failed", object=owner)
            return before
        return frozenset(each for each in named if self._allowed is None or each.name in self._allowed)

    def _full_names(self, names: Iterable[Any], namespace: str) -> list[ObjectName]:
        """Raises: TypeError for a text, whose letters would be taken for names, and for what is no name."""
        if isinstance(names, str):
            raise TypeError(f"the function of .refers_to(...) returns a list of names, such as [{names!r}]")
        return [referred_name(self.kind, name, namespace) for name in names if name != ""]

    def _begin(self, kind: type[K], namespace: str, name: str = "") -> MultiNamespaceInformer[K]:
        informer = self._watcher.watch(kind, namespace, name=name)
        with suppress(InformerStopped):  # everything stops
            informer.add_event_handler(_Wakes(self._wake))
        return informer

    def _wake(self, name: ObjectName, verb: str) -> None:
        """Queue the objects that refer to a name."""
        self._observed(self.kind.resource.group_resource, name)
        with self._lock:
            owners = list(self._by.get(name, ()))
        cause = Cause(self.kind.resource.kind, verb, str(name))
        priority = LOW_PRIORITY if verb == LISTED else DEFAULT_PRIORITY
        for owner in owners:
            self._sink.add(owner, cause, priority=priority)


class _Wakes:
    """Implements handloop.informers.handlers.ResourceEventHandler; a resync wakes nobody."""

    def __init__(self, wake: Callable[[ObjectName, str], None]) -> None:
        self._wake = wake

    def on_add(self, obj: Kind, is_in_initial_list: bool) -> None:  # noqa: FBT001 - client-go's signature
        self._wake(object_name(obj), LISTED if is_in_initial_list else ADDED)

    def on_update(self, old: Kind, new: Kind) -> None:
        if old.metadata.resource_version != new.metadata.resource_version:
            self._wake(object_name(new), UPDATED)

    def on_delete(self, obj: Kind | DeletedFinalStateUnknown[Any]) -> None:
        self._wake(deletion_handling_object_to_name(obj), DELETED)
