"""
The own-write floor: a controller does not act on a cache that lacks its own last writes.

    reconcile --context.client--> accepted write --> floor of the name
    next reconcile of that name: parked until the cache has the written object

Without the floor, a reconcile can run before the previous write has come back through the watch. It would
decide from the state before that write, and create the object again or undo the write. A parked name keeps no
worker busy, because the write's watch event wakes it. After five seconds, the server is asked for one of the
objects. While the server has another version of it, the cache is behind, and the name keeps waiting. A watch
that has died silently is noticed after 75 s, and the new list ends the wait. The wait ends after 300 s in any
case, like client-go's expectations. If the server answers with a version older than our write, it is believed
after 30 s, and so is a list with such a version. An object that neither side has was deleted without being
noticed; its owner may also be gone.
Decision: A reconcile waits for our own writes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple, Protocol

import msgspec
from cachetools import TTLCache

from handloop.apis.decoders import decoder_of
from handloop.apis.meta import Kind, Object
from handloop.apis.unstructured import json_of
from handloop.client.decoding.json_text import pruning
from handloop.client.errors import ClientError, Forbidden
from handloop.client.http.response import Response
from handloop.client.rest_client import Call
from handloop.controller.runtime.metrics.controller_metrics import ControllerOwnWrites
from handloop.informers.history_guard import PATIENCE_SECONDS, is_older
from handloop.informers.keys import ObjectName, object_name
from handloop.seams.clock import REAL_CLOCK, Clock
from handloop.seams.locks import new_lock
from handloop.seams.logs import get_logger

log = get_logger("ownwrites")

OWN_WRITE_TIMEOUT_SECONDS: Final = 5.0
"""How long to wait for a cache before asking the server, and between two such requests."""
LONGEST_WAIT_SECONDS: Final = 300.0
"""How long to wait for a cache that is behind."""
LOOK_AGAIN_SECONDS: Final = 0.25
"""How soon to look again at first for an object that the cache lacks, since a watch event may never come."""
KEPT_SECONDS: Final = 600.0
"""How long floors wait for the next reconcile of their name, which may never come for a deleted object."""


class Mirror(Protocol):
    """The caches of one kind, or of a part of its objects."""

    @property
    def kind(self) -> type[Kind]:
        """The kind of the objects."""

    def get_by_key(self, key: str) -> Object | None:
        """Return the cached object with that store key."""

    def has_seen(self, namespace: str, resource_version: str) -> bool:
        """Return whether the cache has all changes in the namespace up to that version."""

    def would_hold(self, body: bytes) -> bool:
        """Return whether an object, as the server sent it, belongs in the cache."""


class _Floor(NamedTuple):
    """
    One write: the version that the cache must reach, or the UID that must disappear from it.

    outside: whether the cache does not hold the written object, which can then only disappear from it.
    """

    resource: str
    name: ObjectName
    uid: str
    resource_version: str
    gone: bool
    outside: bool = False


_Target = tuple[str, ObjectName]


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    name: str = ""
    uid: str = ""
    resource_version: str = ""


class _Details(msgspec.Struct, frozen=True):
    uid: str = ""


class _Answer(msgspec.Struct, frozen=True):
    """What a write's response says about its object: the object's metadata, or the Status of a deletion."""

    metadata: _Metadata = _Metadata()
    details: _Details = _Details()


_decoded: Final = pruning(decoder_of(_Answer).decode)


class OwnWrites:
    """
    The floors of one controller.

    Resources are spelled `plural.group`, so that a write through another typed view of a kind is included.
    State, under _lock: _floors, name -> the last write of each object that was written on its behalf;
    _parked_at, name -> since when it has been parked; _waiting, object -> the names to wake at its next watch
    event; _behind_until, resource -> until when its cache is assumed to be behind without asking again, so
    that an overloaded server is asked once per kind, not once per name. A name that no worker gets any more,
    such as that of a deleted object, loses its floors after KEPT_SECONDS; a parked name does not. Only the
    worker that has a name adds and drops its floors.
    Threads: workers record writes and ask, listeners report watch events.
    Locks: _lock is a leaf; caches, the queue and the server are used without it. A name is in _waiting before
    the cache is read, so that a watch event between the two is not missed.
    """

    def __init__(
        self,
        mirrors: Callable[[str], Mirror | None],
        *,
        wake: Callable[[ObjectName], None],
        newest: Callable[[str, ObjectName], str],
        tells: Callable[[str], bool] = lambda _resource: True,
        vanished: Callable[[ObjectName], object] = lambda _name: None,
        metrics: ControllerOwnWrites,
        timeout_seconds: float = OWN_WRITE_TIMEOUT_SECONDS,
        clock: Clock = REAL_CLOCK,
    ) -> None:
        """
        Start without floors.

        Args: mirrors returns None for a resource without a cache; no name waits for such a write. newest gets
        an object's resource version from the server, "" if there is none; it raises ClientError. tells
        returns whether watch events for a resource are passed to observed; if not, its cache is checked
        repeatedly. vanished is called, before the reconcile, with a name whose written object neither the
        cache nor the server has. timeout_seconds is how long to wait before asking the server; 0 turns
        waiting off.
        """
        self._mirrors = mirrors
        self._newest = newest
        self._wake = wake
        self._tells = tells
        self._vanished = vanished
        self._metrics = metrics
        self._timeout_seconds = timeout_seconds
        self._clock = clock
        self._lock = new_lock("OwnWrites._lock", 95)
        self._floors: TTLCache[ObjectName, dict[_Target, _Floor]] = TTLCache(
            math.inf, KEPT_SECONDS + timeout_seconds, timer=clock.now
        )
        self._parked_at: dict[ObjectName, float] = {}
        self._waiting: dict[_Target, set[ObjectName]] = {}
        self._behind_until: dict[str, float] = {}

    def note(self, name: ObjectName, obj: Kind, *, gone: bool) -> None:
        """Record a write, or a deletion, on behalf of a name."""
        resource, metadata = obj.resource.group_resource, obj.metadata
        floor = _Floor(resource, object_name(obj), metadata.uid, metadata.resource_version, gone)
        self._add(name, floor, json_of(obj))

    def accepted(self, name: ObjectName, call: Call, response: Response) -> tuple[ObjectName, bool]:
        """
        Record a write by a client, on behalf of a name.

        Returns: the name of the written object, and whether the cache already has it, unchanged.
        """
        try:
            answer = _decoded(response.body)
        except msgspec.MsgspecError:
            return ObjectName(call.namespace, call.name), False  # no object: the caller gets a DecodeError
        target = ObjectName(call.namespace, call.name or answer.metadata.name)
        uid = answer.metadata.uid or answer.details.uid
        version, gone = answer.metadata.resource_version, call.method == "DELETE"
        if version or gone:
            self._add(name, _Floor(call.resource, target, uid, version, gone), response.body)
        return target, bool(version) and version == self._cached_version(call.resource, target)

    def _add(self, name: ObjectName, floor: _Floor, body: bytes) -> None:
        mirror = self._mirrors(floor.resource)
        if self._timeout_seconds <= 0 or mirror is None:
            return
        if floor.resource_version:
            floor = floor._replace(outside=not mirror.would_hold(body))
        with self._lock:
            floors = self._floors.get(name, {})
            before = floors.get((floor.resource, floor.name))
            if before is not None and not floor.resource_version:
                # The answer to a deletion can lack a version. The cache must at least have our last write.
                floor = floor._replace(resource_version=before.resource_version, outside=before.outside)
            floors[floor.resource, floor.name] = floor
            # Store the entry again, so that its age counts from now.
            self._floors[name] = floors

    def has_deleted(self, name: ObjectName, obj: Kind) -> bool:
        """Return whether exactly that object was deleted for a name, and no reconcile knows that yet."""
        with self._lock:
            floor = self._floors.get(name, {}).get((obj.resource.group_resource, object_name(obj)))
        return floor is not None and floor.gone and floor.uid == obj.metadata.uid

    def seconds_to_wait(self, name: ObjectName) -> float:
        """
        Return for how long to park a name that a worker has.

        Returns: 0 to reconcile now; otherwise the longest wait. A watch event that ends the wait wakes the
        name.
        Blocks: for one request once the name has waited for timeout_seconds, and for another one per object
        that is the same on the server and in the cache.
        """
        floors = self._watch(name)
        if not floors:
            return 0.0
        unmet = {target: floor for target, floor in floors.items() if not self._is_met(floor)}
        waited = self._waited(name) if unmet else 0.0
        left = self._seconds_left(name, unmet, waited) if unmet else 0.0
        self._keep(name, floors, unmet if left else {})
        if left and not all(self._will_tell(floor) for floor in unmet.values()):
            return min(left, max(LOOK_AGAIN_SECONDS, waited / 8))
        return left

    def observed(self, resource: str, name: ObjectName) -> None:
        """A watch event for an object has arrived. Every listener calls this for each of its watch events."""
        with self._lock:
            names = tuple(self._waiting.get((resource, name), ()))
        for waiting in names:
            self._wake(waiting)

    def forget_names(self, gone: Callable[[ObjectName], bool]) -> None:
        """Forget the writes for all names that are gone. They are no longer compared with a cache."""
        with self._lock:
            names = tuple(self._floors)
        for name in names:
            if gone(name):
                with self._lock:
                    self._forget_targets_locked(name, self._floors.pop(name, {}))
                    self._parked_at.pop(name, None)

    def _watch(self, name: ObjectName) -> dict[_Target, _Floor]:
        """Let watch events of the written objects wake the name from now on."""
        with self._lock:
            floors = self._floors.get(name, {})
            for target in floors:
                self._waiting.setdefault(target, set()).add(name)
            return dict(floors)

    def _is_met(self, floor: _Floor) -> bool:
        mirror = self._mirrors(floor.resource)
        if mirror is None:
            return True
        cached = mirror.get_by_key(str(floor.name))
        if cached is None:
            # It is not in the cache yet, or no longer there. The cache may never have seen a deleted object.
            version = floor.resource_version
            return floor.outside or not version or mirror.has_seen(floor.name.namespace, version)
        if floor.gone:
            ending = cached.metadata.deletion_timestamp is not None
            return ending or cached.metadata.uid != floor.uid
        return not is_older(cached.metadata.resource_version, floor.resource_version)

    def _will_tell(self, floor: _Floor) -> bool:
        """Return whether a watch event will come. None comes for an object that existed between two lists."""
        mirror = self._mirrors(floor.resource) if self._tells(floor.resource) else None
        return mirror is not None and mirror.get_by_key(str(floor.name)) is not None

    def _waited(self, name: ObjectName) -> float:
        now = self._clock.now()
        with self._lock:
            return now - self._parked_at.setdefault(name, now)

    def _seconds_left(self, name: ObjectName, unmet: dict[_Target, _Floor], waited: float) -> float:
        """Return how much longer to wait. Remove from unmet those whose cached version is the server's."""
        if waited < self._timeout_seconds:
            return self._timeout_seconds - waited
        if waited >= LONGEST_WAIT_SECONDS:
            writes = ", ".join(f"{floor.resource} {floor.name}" for floor in unmet.values())
            log.warning("Cache still lacks our own write, going on anyway", objectName=name, writes=writes)
            self._metrics.timeouts.inc()
            return 0.0
        for target, floor in tuple(unmet.items()):
            left = self._seconds_behind(floor, believes_past=waited >= PATIENCE_SECONDS)
            if left > 0:
                return left
            del unmet[target]
            if not (floor.gone or self._cached_version(floor.resource, floor.name)):
                self._vanished(name)
        return 0.0

    def _seconds_behind(self, floor: _Floor, *, believes_past: bool) -> float:
        """Return how long to treat the cache as behind; 0 if its object is the same as the server's."""
        resource, now = floor.resource, self._clock.now()
        with self._lock:
            until = self._behind_until.get(resource, -math.inf)
        if until > now:
            return until - now
        why = self._why_behind(floor, believes_past=believes_past)
        if not why:
            return 0.0
        # Log this once per lag, not on every check.
        write = log.debug if now - until < self._timeout_seconds else log.warning
        write("Cache lacks our own write, waiting for it", resource=resource, object=floor.name, why=why)
        with self._lock:
            # Count from the response, because the request may also have taken this long.
            self._behind_until[resource] = self._clock.now() + self._timeout_seconds
        return self._timeout_seconds

    def _why_behind(self, floor: _Floor, *, believes_past: bool) -> str:
        """Without an answer, treat the cache as behind, because a wait ends but a second child would stay."""
        try:
            newest = self._newest(floor.resource, floor.name)
        except Forbidden as error:
            return f"it may be behind, and we may not check ({error}): add the verb get to the role"
        except ClientError as error:
            return f"it may be behind, and the server does not say: {error}"
        if newest != self._cached_version(floor.resource, floor.name):
            return "it is behind the server"
        is_past = is_older(newest, floor.resource_version) and not believes_past
        return "the server answers with an older version" if is_past else ""

    def _cached_version(self, resource: str, name: ObjectName) -> str:
        mirror = self._mirrors(resource)
        cached = None if mirror is None else mirror.get_by_key(str(name))
        return cached.metadata.resource_version if cached else ""

    def _keep(self, name: ObjectName, floors: dict[_Target, _Floor], unmet: dict[_Target, _Floor]) -> None:
        """Keep the unmet floors. If there are none, the wait is over."""
        with self._lock:
            self._forget_targets_locked(name, floors.keys() - unmet.keys())
            if unmet:
                # Store the entry again, so that its age counts from now.
                self._floors[name] = unmet
                return
            self._floors.pop(name, None)
            parked_at = self._parked_at.pop(name, None)
        if parked_at is not None:
            self._metrics.waited(self._clock.now() - parked_at)

    def _forget_targets_locked(self, name: ObjectName, targets: Iterable[_Target]) -> None:
        for target in targets:
            names = self._waiting.get(target, set())
            names.discard(name)
            if not names:
                self._waiting.pop(target, None)
