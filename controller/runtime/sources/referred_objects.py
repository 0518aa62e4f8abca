"""
Follow the objects to which a controller's objects refer by name, usually with one watch per object.

    Site default/a --names(site)--> Secret default/tls --list and watch of that name--> one cached Secret
    Secret default/tls updated --> Site default/a is queued

A watch of one name needs permission for only that name, and memory for one object. It starts with the first
reference. It ends a few seconds after the last reference is removed, so that a reference that is soon added
again does not need a new list. A name is followed in one of three ways:

    watched     a watch of the name. The number of watches is limited: each needs a thread and a connection
    together    a single watch of the metadata of all objects in a namespace, if it has more than MOST_WATCHES
                names and the role allows that watch
    polled      one thread requests the metadata of all other names in turn, at most POLLS a second

A name without a watch of its own is read from the server.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from functools import partial
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

import msgspec

from handloop.apis.meta import Kind
from handloop.apis.partial_metadata import metadata_of
from handloop.apis.resource import path_segment_errors
from handloop.client.errors import APIError, ClientError, NotFound, TooManyRequests
from handloop.client.resource_client import Client
from handloop.controller.runtime.caching.multi_namespace_informer import (
    MultiNamespaceInformer,
    Synced,
    is_refused,
)
from handloop.controller.runtime.reconcile import ReconcileError, TerminalError, WaitError
from handloop.controller.runtime.sources.informer_source import ADDED, DELETED, LISTED, UPDATED, Sink
from handloop.controller.runtime.sources.reconcile_queue import Cause
from handloop.informers.handlers import ResourceEventHandlerFuncs
from handloop.informers.informer_errors import InformerStopped
from handloop.informers.keys import (
    DeletedFinalStateUnknown,
    ObjectName,
    deletion_handling_object_to_name,
    namespace_of_key,
    object_name,
)
from handloop.informers.object_watch import Changed, ObjectWatch
from handloop.seams.locks import new_lock
from handloop.seams.logs import get_logger
from handloop.seams.seams import Seams
from handloop.workqueue.priority_queue import DEFAULT_PRIORITY, LOW_PRIORITY

log = get_logger("source")

T = TypeVar("T", bound=Kind)
K = TypeVar("K", bound=Kind)

MOST_WATCHES: Final = 50
"""If a namespace has more names than this, one watch covers them all, until only half as many remain."""

POLLS: Final = 20.0
"""The maximum number of names that are polled per second."""
ROUND_SECONDS: Final = 10.0
"""The time between two polls of a name, unless POLLS requires a longer time."""
IDLE_SECONDS: Final = 10.0
"""How long a watch without references continues, unless another name needs its thread."""
LOOK_SECONDS: Final = 0.5
"""How often to check whether a new watch of all objects is ready to replace those of single names."""
REFUSED_SECONDS: Final = 600.0
"""How long to wait, after the server refused a watch of all objects in a namespace, before the next try."""

_SERVER_ERROR: Final = 500
_LONGEST_NAME: Final = 253

NamesFunc: TypeAlias = Callable[[Any], Iterable[str | ObjectName]]
"""Returns the names to which an object refers. A str is in the same namespace; "" is ignored. Pure."""


class NotReferredError(ReconcileError):
    """A reconcile read an object to which its own object does not refer. Later changes would go unnoticed."""


class Watcher(Protocol):
    """Starts watches, up to a maximum number; a Manager implements it."""

    client: Client
    seams: Seams

    def watch(self, kind: type[T], namespace: str) -> MultiNamespaceInformer[T] | None:
        """Start an informer for a namespace. Its stop() ends it. Return None if too many are running."""

    def watch_object(self, kind: type[T], name: ObjectName, changed: Changed[T]) -> ObjectWatch[T] | None:
        """Start a watch of one object. Return None if too many are running."""

    def run_beside(self, name: str, run: Callable[[threading.Event], None]) -> bool:
        """Run a function in a thread until the caches stop. Return False if no thread is available."""


class _Change(NamedTuple):
    """The watches to end, and the names that are now followed in another of the three ways."""

    ended: list[Stoppable]
    moved: frozenset[ObjectName]


class Stoppable(Protocol):
    """A watch that can be ended."""

    def stop(self) -> None:
        """End the watch, without waiting."""


def may_exist(name: ObjectName) -> bool:
    """Return whether an object with that name could exist on a server. Users can refer to invalid names."""
    return len(name.name) <= _LONGEST_NAME and not (
        path_segment_errors(name.name) or path_segment_errors(name.namespace)
    )


def referred_name(kind: type[Kind], name: Any, namespace: str) -> ObjectName:
    """
    Return the full name of an object of a kind. A str is a name in the given namespace.

    Raises: TypeError if name is not a name, or if its namespace is unknown.
    """
    if isinstance(name, ObjectName):
        if kind.resource.namespaced and not name.namespace:
            raise TypeError(f"the namespace of the {kind.resource.kind} {name.name} must not be empty")
        return name if kind.resource.namespaced else ObjectName("", name.name)
    if not isinstance(name, str):
        raise TypeError(f"the function of .refers_to(...) must return names, not {name!r}")
    if not kind.resource.namespaced:
        return ObjectName("", name)
    if not namespace:
        raise TypeError(f"the {kind.resource.kind} {name} has no namespace here: use an ObjectName")
    return ObjectName(namespace, name)


class ReferredObjects(Generic[T]):
    """
    One `refers_to` of a controller. Implements handloop.controller.runtime.reconciling.controller.Watch and,
    for the objects in _held, handloop.controller.runtime.guards.own_writes.Mirror.

    State, under _lock (2): An owner is an object that refers to others. _of maps each owner to the names to
    which it refers, and _by maps each of these names to its owners. _in maps each namespace to the names in
    it that are in _by and that may exist. Each name in _in is followed in one of three ways: _held, by
    namespace and name, contains its watch; or _all contains a synced informer for its namespace; or the name
    is polled, and _polled contains the result of the last poll, or None before the first poll. If the server
    refused a namespace's informer, _refused contains the time when another one may be started. _idle contains
    the names that are in _held although they have no owners any more, each with the time when that began.
    _polls is true while the polling thread runs. _registration is None before start. An owner's references
    are read from the owners' cache under the lock. Otherwise, a slow thread could replace another thread's
    newer result.
    Threads: used by the listeners of the owners and of the referred objects, by the threads of watches, by
    `references-<plural>`, and by workers, which call get.
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
        Args: observed is called for each watch event with `plural.group` and the object's name. allowed
        contains the names to which objects can refer; None means any name.
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
        self._held: dict[str, dict[ObjectName, ObjectWatch[T]]] = {}
        self._all: dict[str, MultiNamespaceInformer[Any]] = {}
        self._idle: dict[ObjectName, float] = {}
        self._polled: dict[ObjectName, str | None] = {}
        self._polls = False
        self._refused: dict[str, float] = {}
        self._clock = watcher.seams.clock
        self._registration: Synced | None = None

    def __repr__(self) -> str:
        with self._lock:
            held, polled = sum(map(len, self._held.values())), len(self._polled)
            counts = f"{held} held, {polled} polled, {len(self._by)} named"
            return f"<ReferredObjects of {self.kind.resource}: {counts}>"

    def start(self) -> None:
        """Start to follow the owners' references, starting with the owners in the cache."""
        look = self._look_at
        handler = ResourceEventHandlerFuncs[Any](
            add_func=lambda obj: look(object_name(obj)),
            update_func=lambda _old, new: look(object_name(new)),
            delete_func=lambda obj: look(deletion_handling_object_to_name(obj)),
        )
        self._owners.on_left(lambda _namespace: self.keep_cached())
        self._registration = self._owners.add_event_handler(handler)

    def troubles(self) -> list[str]:
        """
        Return why the first lists are not complete.

        Failing lists are not included, because they delay only the owners that refer to their objects.
        """
        if self._registration is not None and not self._registration.has_synced():
            return [f"{self.kind.resource.group_resource}: its references are not known yet"]
        with self._lock:
            held = [one for there in self._held.values() for one in there.values()]
        return [text for each in held if not each.is_failing() for text in each.troubles()]

    def get(self, owner: ObjectName, name: ObjectName) -> T | None:
        """
        Return a referred object from its watch's cache, or from the server if it has no watch of its own.

        Returns: the object, or None if it does not exist.
        Raises: NotReferredError if owner does not refer to the object; TerminalError if the name is not
        allowed; WaitError while the first list of the object's watch fails, or if the object does not fit its
        type; any error that ResourceClient.get raises.
        Blocks: until the first list of the object's watch has arrived or, without a watch, for one request.
        """
        if not self._refers(owner, name):
            # The owner's watch event may not have reached our listener yet.
            self._look_at(owner)
            if not self._refers(owner, name):
                raise self._why_not(owner, name)
        while (watch := self._watch(name)) is not None:
            try:
                found = watch.read()
            except WaitError:
                if not watch.has_ended or self._watch(name) is watch:  # the latter if the caches have stopped
                    raise
                continue  # the name is now followed in a different way, or has no references
            if found is None and watch.quarantine.is_quarantined(str(name)):
                raise WaitError(f"{self.kind.resource.kind} {name} does not fit its type")
            return found
        if not may_exist(name):
            return None
        try:
            return self._watcher.client.resource(self.kind).get(name.name, namespace=name.namespace)
        except NotFound:
            return None

    def _watch(self, name: ObjectName) -> ObjectWatch[T] | None:
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

    # the methods of a mirror, for own writes

    def get_by_key(self, key: str) -> Kind | None:
        """Return the cached object with that key, or None if that object has no watch of its own."""
        namespace = namespace_of_key(key)
        held = self._watch(ObjectName(namespace, key.removeprefix(f"{namespace}/")))
        return None if held is None else held.get()

    def has_seen(self, namespace: str, resource_version: str) -> bool:
        """Return whether each watch of one object in a namespace has received all changes up to a version."""
        with self._lock:
            held = list(self._held.get(namespace, {}).values())
        return all(watch.has_seen(resource_version) for watch in held)

    def would_hold(self, body: bytes) -> bool:
        """Return whether an object has a watch of its own. Args: body is the server's JSON of the object."""
        metadata = msgspec.json.decode(body).get("metadata") or {}
        return self._watch(ObjectName(metadata.get("namespace", ""), metadata.get("name", ""))) is not None

    def _look_at(self, owner: ObjectName) -> None:
        """Start and end watches so that they match the references of the cached owner."""
        with self._lock:
            before = self._of.get(owner, frozenset())
            names = self._read_locked(owner, before)
            if names:
                self._of[owner] = names
            else:
                self._of.pop(owner, None)
            for name in names - before:
                self._by.setdefault(name, set()).add(owner)
                if may_exist(name):
                    self._in.setdefault(name.namespace, set()).add(name)
            for name in before - names:
                self._forget_locked(name, owner)
            changed = {name.namespace for name in names ^ before}
            changes = [self._arrange_locked(namespace) for namespace in changed]
            self._keep_up_locked()
        self._carry_out(changes)

    def _carry_out(self, changes: Iterable[_Change]) -> None:
        for ended, moved in changes:
            for watch in ended:
                watch.stop()
            # Wake the owners, because events between the end of the old watch and the new one are lost.
            for name in moved:
                self._wake(name, LISTED)

    def _forget_locked(self, name: ObjectName, owner: ObjectName) -> None:
        owners = self._by[name]
        owners.discard(owner)
        if not owners:
            del self._by[name]
            self._in.get(name.namespace, set()).discard(name)

    def _arrange_locked(self, namespace: str) -> _Change:
        """
        Decide anew in which of the three ways to follow each name in a namespace, and start what is needed.

        Returns: the watches that the caller must end, and the names whose owners it must wake.
        """
        names, held = self._in.get(namespace, set()), self._held.setdefault(namespace, {})
        ended: list[Stoppable] = []
        together = self._together_locked(namespace, len(names), ended)
        alone = set() if together else names
        before = {name: self._way_locked(name) for name in names}
        self._idle = {name: since for name, since in self._idle.items() if name not in names}
        over = [name for name in held.keys() - alone if together or not self._may_idle_locked(name)]
        ended += map(held.pop, over)
        for name in over:
            self._idle.pop(name, None)
        for name in alone - held.keys():
            watch = self._watcher.watch_object(self.kind, name, partial(self._changed, name))
            if watch is not None:
                held[name] = watch
                self._polled.pop(name, None)
            else:
                self._polled.setdefault(name, None)
        for name in [one for one in self._polled if one.namespace == namespace and one not in alone]:
            del self._polled[name]
        if not held:
            del self._held[namespace]
        if not names:
            self._in.pop(namespace, None)
        moved = (name for name in names if before[name] not in ("", self._way_locked(name)))
        return _Change(ended, frozenset(moved))

    def _may_idle_locked(self, name: ObjectName) -> bool:
        """
        Return whether the watch of a name without references may continue for now.

        If other names are polled, it ends at once, because one of them can use a watch in its place.
        """
        return (
            not self._polled
            and self._clock.now() < self._idle.setdefault(name, self._clock.now()) + IDLE_SECONDS
        )

    def _way_locked(self, name: ObjectName) -> str:
        if name in self._held.get(name.namespace, ()):
            return "watched"
        if name in self._polled:
            return "polled"
        return "together" if name.namespace in self._all else ""

    def _together_locked(self, namespace: str, count: int, ended: list[Stoppable]) -> bool:
        """
        Start or stop the informer for all objects in a namespace.

        Returns: whether an informer is running there and has synced.
        """
        informer = self._all.get(namespace)
        most = MOST_WATCHES if informer is None else MOST_WATCHES // 2
        now = self._clock.now()
        if informer is not None and any(map(is_refused, informer.informers)):
            # The role allows only single names and not a watch of all objects, so poll the names.
            self._refused[namespace] = now + REFUSED_SECONDS
            where = f"{self.kind.resource.plural} of {namespace or 'all namespaces'}"
            log.info("Referred objects are polled, because no role allows a watch of all", what=where)
        wanted = self._allowed is None and count > most and now >= self._refused.get(namespace, 0.0)
        if informer is None and wanted:
            informer = self._watcher.watch(metadata_of(self.kind), namespace)
            if informer is not None:
                self._all[namespace] = informer
                with suppress(InformerStopped):  # the program is stopping
                    informer.add_event_handler(_Wakes(self._wake))
        elif informer is not None and not wanted:
            ended.append(self._all.pop(namespace))
            return False
        return informer is not None and informer.has_synced()

    # names that are polled

    def _has_upkeep_locked(self) -> bool:
        """Return whether the polling thread has work: polled names, idle watches, or unsynced informers."""
        return bool(self._polled or self._idle) or any(not each.has_synced() for each in self._all.values())

    def _keep_up_locked(self) -> None:
        """Start the polling thread if needed. If no thread is available, retry on an owner's next event."""
        if self._has_upkeep_locked() and not self._polls:
            self._polls = self._watcher.run_beside(f"references-{self.kind.resource.plural}", self._poll)

    def _poll(self, stop: threading.Event) -> None:
        """Poll the polled names in turn until there are none. Runs on the thread `references-<plural>`."""
        while True:
            with self._lock:
                names = list(self._polled)
                self._polls = self._has_upkeep_locked()
                if not self._polls:
                    return
            pause = max(ROUND_SECONDS / len(names), 1 / POLLS) if names else LOOK_SECONDS
            for name in names:
                self._ask(name)
                if self._clock.sleep(pause, stop):
                    return
            if not names and self._clock.sleep(pause, stop):
                return
            with self._lock:
                namespaces = {one.namespace for one in (*self._polled, *self._idle)} | self._all.keys()
                changes = [self._arrange_locked(each) for each in namespaces]
            self._carry_out(changes)

    def _ask(self, name: ObjectName) -> None:
        """Poll a name. Wake its owners if the object has changed since the last poll."""
        try:
            found = self._watcher.client.resource(metadata_of(self.kind)).get(
                name.name, namespace=name.namespace
            )
            seen = f"{found.metadata.uid} {found.metadata.resource_version}"
        except NotFound:
            seen = ""
        except ClientError as error:
            if not isinstance(error, APIError) or isinstance(error, TooManyRequests):
                return
            if error.code >= _SERVER_ERROR:
                return
            seen = str(error.code)
        with self._lock:
            if name not in self._polled or self._polled[name] == seen:
                return
            before, self._polled[name] = self._polled[name], seen
        self._wake(name, LISTED if before is None else ADDED if not before else UPDATED if seen else DELETED)

    def keep_cached(self) -> None:
        """Remove the references of owners that are no longer in the cache, and end their watches."""
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
        except BaseException:
            # A single unusual object must not end the watch of all owners.
            log.exception("References of an object failed", object=owner)
            return before
        return frozenset(each for each in named if self._allowed is None or each.name in self._allowed)

    def _full_names(self, names: Iterable[Any], namespace: str) -> list[ObjectName]:
        """Return the full names. Raises: TypeError if names is a str or contains anything but names."""
        if isinstance(names, str):
            raise TypeError(f"the function of .refers_to(...) must return a list of names, as in [{names!r}]")
        return [referred_name(self.kind, name, namespace) for name in names if name != ""]

    def _changed(self, name: ObjectName, before: T | None, now: T | None, is_first: bool) -> None:  # noqa: FBT001 - a Changed
        if now is None:
            self._wake(name, DELETED)
        elif before is None:
            self._wake(name, LISTED if is_first else ADDED)
        elif before.metadata.resource_version != now.metadata.resource_version:
            self._wake(name, UPDATED)

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
    """
    Wakes the owners of a name when its object changes, but not on a resync.

    Implements handloop.informers.handlers.ResourceEventHandler.
    """

    def __init__(self, wake: Callable[[ObjectName, str], None]) -> None:
        self._wake = wake

    def on_add(self, obj: Kind, is_in_initial_list: bool) -> None:  # noqa: FBT001 - client-go's signature
        self._wake(object_name(obj), LISTED if is_in_initial_list else ADDED)

    def on_update(self, old: Kind, new: Kind) -> None:
        if old.metadata.resource_version != new.metadata.resource_version:
            self._wake(object_name(new), UPDATED)

    def on_delete(self, obj: Kind | DeletedFinalStateUnknown[Any]) -> None:
        self._wake(deletion_handling_object_to_name(obj), DELETED)
