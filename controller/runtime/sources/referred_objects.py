"""
The objects that a controller's objects refer to by name, each with a separate watch.

    Site default/a --names(site)--> Secret default/tls --list and watch of that name--> one cached Secret
    Secret default/tls updated --> Site default/a is queued

A watch of one name needs permission for only that name, and memory for one object. It begins with the first
reference, and ends a few seconds after the last one, so that names that come and go do not need a list each
time. A name is followed in one of three ways:

    watched     a watch of the name: a thread and a connection each, so a process has at most so many
    together    of a namespace with more than MOST_WATCHES names a single watch of the metadata of all its
                objects, where a role allows that
    polled      one thread asks for the metadata of all other names in turn, at most POLLS a second

Every read of a name without its own watch asks the server.
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
"""If a namespace has more names, one watch covers them all, until only half as many are left."""

POLLS: Final = 20.0
"""The maximum number of names that are polled per second."""
ROUND_SECONDS: Final = 10.0
"""How often each name is polled, if there are not too many names."""
IDLE_SECONDS: Final = 10.0
"""How long a watch without references continues while there is room for all."""
LOOK_SECONDS: Final = 0.5
"""How soon after its start a watch of all objects replaces the watches for single names."""
REFUSED_SECONDS: Final = 600.0
"""How long after a refusal the names of a namespace are not watched together."""

_SERVER_ERROR: Final = 500
_LONGEST_NAME: Final = 253

NamesFunc: TypeAlias = Callable[[Any], Iterable[str | ObjectName]]
"""Returns the names that an object refers to: strings for its namespace, or ObjectNames; "" is none. Pure."""


class NotReferredError(ReconcileError):
    """A reconcile read a name that its object does not refer to, so its changes would not wake the object."""


class Watcher(Protocol):
    """Starts watches for one user, as long as there is room: a Manager."""

    client: Client
    seams: Seams

    def watch(self, kind: type[T], namespace: str) -> MultiNamespaceInformer[T] | None:
        """Start an informer for a namespace; `stop` ends it. None if there are too many."""

    def watch_object(self, kind: type[T], name: ObjectName, changed: Changed[T]) -> ObjectWatch[T] | None:
        """Start a watch of one object; None if there are too many."""

    def run_beside(self, name: str, run: Callable[[threading.Event], None]) -> bool:
        """Run a function in a thread until the caches stop. Returns: False if no thread is available."""


class _Change(NamedTuple):
    """The watches to end, and the names that are followed in a different way from now on."""

    ended: list[Stoppable]
    moved: frozenset[ObjectName]


class Stoppable(Protocol):
    """A watch."""

    def stop(self) -> None:
        """End it; does not wait."""


def may_exist(name: ObjectName) -> bool:
    """Return whether a server can have an object with that name, as a user may have written anything."""
    return len(name.name) <= _LONGEST_NAME and not (
        path_segment_errors(name.name) or path_segment_errors(name.namespace)
    )


def referred_name(kind: type[Kind], name: Any, namespace: str) -> ObjectName:
    """
    Return the full name of an object of a kind that an object in a namespace refers to.

    Raises: TypeError for anything but a name, and for a name without a namespace if none is known.
    """
    if isinstance(name, ObjectName):
        if kind.resource.namespaced and not name.namespace:
            raise TypeError(f'in which namespace is the {kind.resource.kind} {name.name}? "" is not one')
        return name if kind.resource.namespaced else ObjectName("", name.name)
    if not isinstance(name, str):
        raise TypeError(f"the function of .refers_to(...) returns names, not {name!r}")
    if not kind.resource.namespaced:
        return ObjectName("", name)
    if not namespace:
        raise TypeError(f"in which namespace is the {kind.resource.kind} {name}? Give an ObjectName")
    return ObjectName(namespace, name)


class ReferredObjects(Generic[T]):
    """
    One `refers_to` of a controller. Implements handloop.controller.runtime.reconciling.controller.Watch, and
    for the objects that are held handloop.controller.runtime.guards.own_writes.Mirror.

    State, under _lock (2): _of, owner -> the names that it refers to; _by, name -> the owners that refer to
    it; _in, namespace -> the names in it that are in _by and may exist. Each of these is watched, in _held,
    by namespace and name; or by one informer, if _all has a synced one for its namespace; or otherwise
    polled, in _polled, with what was last seen, None if nothing yet. _refused, namespace -> until when its
    names are not watched by one informer. _idle, a name in _held that nobody refers to -> since when. _polls,
    whether the thread is running. _registration is None before start. References are read from the owners'
    cache under the lock, so that threads that look at the same owner cannot replace a newer result with an
    older one.
    Threads: the listeners of the owners and of the referred objects, watches, `references-<plural>`; workers
    read.
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
        Args: observed is called for each watch event with `plural.group` and the object's name. allowed has
        the only names that may be referred to; None means any.
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
        """Follow the owners from now on, starting with those in the cache."""
        look = self._look_at
        handler = ResourceEventHandlerFuncs[Any](
            add_func=lambda obj: look(object_name(obj)),
            update_func=lambda _old, new: look(object_name(new)),
            delete_func=lambda obj: look(deletion_handling_object_to_name(obj)),
        )
        self._owners.on_left(lambda _namespace: self.keep_cached())
        self._registration = self._owners.add_event_handler(handler)

    def troubles(self) -> list[str]:
        """Return why the first lists are not complete. A list that fails delays only its owners."""
        if self._registration is not None and not self._registration.has_synced():
            return [f"{self.kind.resource.group_resource}: its references are not known yet"]
        with self._lock:
            held = [one for there in self._held.values() for one in there.values()]
        return [text for each in held if not each.is_failing() for text in each.troubles()]

    def get(self, owner: ObjectName, name: ObjectName) -> T | None:
        """
        Return a referred object from its cache, or from the server if there are too many; None if it is gone.

        Raises: NotReferredError; TerminalError for a name that is not allowed; WaitError while its first list
        fails, and for an object that does not fit its type; as ResourceClient.get.
        Blocks: until its first list has arrived, or for one request.
        """
        if not self._refers(owner, name):
            # The owner's event may not have reached our listener yet.
            self._look_at(owner)
            if not self._refers(owner, name):
                raise self._why_not(owner, name)
        while (watch := self._watch(name)) is not None:
            try:
                found = watch.read()
            except WaitError:
                if not watch.has_ended:
                    raise
                continue  # by now it is followed in a different way, or nothing refers to it any more
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
        """Return the cached object with that store key, if it is held."""
        namespace = namespace_of_key(key)
        held = self._watch(ObjectName(namespace, key.removeprefix(f"{namespace}/")))
        return None if held is None else held.get()

    def has_seen(self, namespace: str, resource_version: str) -> bool:
        """Return whether all watches in a namespace have all changes up to a version."""
        with self._lock:
            held = list(self._held.get(namespace, {}).values())
        return all(watch.has_seen(resource_version) for watch in held)

    def would_hold(self, body: bytes) -> bool:
        """Return whether an object, as the server sent it, is one that is held."""
        metadata = msgspec.json.decode(body).get("metadata") or {}
        return self._watch(ObjectName(metadata.get("namespace", ""), metadata.get("name", ""))) is not None

    def _look_at(self, owner: ObjectName) -> None:
        """Start and end watches so that they match the cached owner."""
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
            # Events between the old watch's last one and the new watch's first one are lost.
            for name in moved:
                self._wake(name, LISTED)

    def _forget_locked(self, name: ObjectName, owner: ObjectName) -> None:
        owners = self._by[name]
        owners.discard(owner)
        if not owners:
            del self._by[name]
            self._in.get(name.namespace, set()).discard(name)

    def _arrange_locked(self, namespace: str) -> _Change:
        """Make sure that each name in a namespace is followed in one of the three ways."""
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
        """Return whether a watch without references continues. It ends if another name needs room."""
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
        """Return whether one informer reports all names in a namespace. Start or stop it as needed."""
        informer = self._all.get(namespace)
        most = MOST_WATCHES if informer is None else MOST_WATCHES // 2
        now = self._clock.now()
        if informer is not None and any(map(is_refused, informer.informers)):
            # A role for single names does not allow watching all of them, so they are polled.
            self._refused[namespace] = now + REFUSED_SECONDS
            where = f"{self.kind.resource.plural} of {namespace or 'all namespaces'}"
            log.info("Polled one by one, because no role allows a watch of all", what=where)
        wanted = self._allowed is None and count > most and now >= self._refused.get(namespace, 0.0)
        if informer is None and wanted:
            informer = self._watcher.watch(metadata_of(self.kind), namespace)
            if informer is not None:
                self._all[namespace] = informer
                with suppress(InformerStopped):  # everything stops
                    informer.add_event_handler(_Wakes(self._wake))
        elif informer is not None and not wanted:
            ended.append(self._all.pop(namespace))
            return False
        return informer is not None and informer.has_synced()

    # names that are polled

    def _has_upkeep_locked(self) -> bool:
        """Return whether a name is polled or idle, or a namespace's informer has not synced yet."""
        return bool(self._polled or self._idle) or any(not each.has_synced() for each in self._all.values())

    def _keep_up_locked(self) -> None:
        """Start the thread if there is room. If not, the next check of an owner, or a resync, tries again."""
        if self._has_upkeep_locked() and not self._polls:
            self._polls = self._watcher.run_beside(f"references-{self.kind.resource.plural}", self._poll)

    def _poll(self, stop: threading.Event) -> None:
        """Poll each of the polled names in turn, while there are any. Thread: `references-<plural>`."""
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
        """Wake the owners of a name if it has changed since it was last polled."""
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
        """End the watches for owners that are no longer in the cache."""
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
            # A single odd object must not end a watch.
            log.exception("References of an object failed", object=owner)
            return before
        return frozenset(each for each in named if self._allowed is None or each.name in self._allowed)

    def _full_names(self, names: Iterable[Any], namespace: str) -> list[ObjectName]:
        """Raises: TypeError for a string, whose letters would pass for names, and for anything but a name."""
        if isinstance(names, str):
            raise TypeError(f"the function of .refers_to(...) returns a list of names, such as [{names!r}]")
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
