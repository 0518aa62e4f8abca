"""
The own-write floor keeps a controller from acting on a cache that lacks the controller's own latest writes.

    reconcile --context.client--> accepted write --> floor of the name
    next reconcile of that name: parked until the cache has the written object

A floor is the version that the cache must reach first. Without floors, a reconcile can run before the watch
has delivered the previous reconcile's write. It would see the state before that write, and create the object
again or undo the write. A name that waits for its floors is parked: it does not occupy a worker, and the
watch event of the write wakes it. After five seconds, the worker requests one of the written objects from the
server. While the server's version of the object differs from the cached one, the cache is behind, and the
name keeps waiting. If the watch has died silently, the informer relists after 75 s, and the new list ends the
wait. Every wait ends after 300 s, like client-go's expectations. If the server or a list returns a version
older than our write, that version is accepted only after 30 s. If neither the server nor the cache has the
object, it was deleted without a watch event, and its owner may be gone, too.
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
"""How long to wait for a cache before the first request to the server, and between requests."""
LONGEST_WAIT_SECONDS: Final = 300.0
"""The longest wait for a cache that is behind."""
LOOK_AGAIN_SECONDS: Final = 0.25
"""The shortest time between checks for an object that the cache lacks, and that may cause no watch event."""
KEPT_SECONDS: Final = 600.0
"""How long floors are kept after the last reconcile of a name, which may never be reconciled again."""


class Mirror(Protocol):
    """The cache of one kind, or of a selection of its objects."""

    @property
    def kind(self) -> type[Kind]:
        """The kind of the objects."""

    def get_by_key(self, key: str) -> Object | None:
        """Return the cached object with that key, or None."""

    def has_seen(self, namespace: str, resource_version: str) -> bool:
        """Return whether the cache has every change in the namespace up to that version."""

    def would_hold(self, body: bytes) -> bool:
        """Return whether the cache would store the object in `body`, which is a response of the server."""


class _Floor(NamedTuple):
    """
    A write that the cache must show: either a version of the object, or the absence of a UID.

    Fields: outside is True if the written object does not match the cache's selection, so that the cache will
    not contain it.
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
    """The part of a write's response that identifies the object: metadata, or the details of a Status."""

    metadata: _Metadata = _Metadata()
    details: _Details = _Details()


_decoded: Final = pruning(decoder_of(_Answer).decode)


class OwnWrites:
    """
    The floors of one controller.

    Resources are spelled `plural.group`, so that all typed views of a kind share their floors. The floors of
    a name expire KEPT_SECONDS after the name's last reconcile, unless the name is parked. Only the worker
    that is working on a name adds and removes its floors.
    State, under _lock: _floors, name -> the last write to each object that its reconciles wrote; _parked_at,
    name -> the time at which it was parked; _waiting, object -> the names to wake at its next watch event;
    _behind_until, resource -> the time until which its cache is assumed to be behind. Because of
    _behind_until, an overloaded server receives one request per kind and not one per name.
    Threads: workers record writes and ask how long to wait; listeners report watch events.
    Locks: _lock is a leaf: it is not held while caches, the queue and the server are used. A name is added to
    _waiting before the cache is read, so that no watch event in between is missed.
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
        Create an OwnWrites that has no floors yet.

        Args: mirrors returns the cache of a resource, or None if there is none; names do not wait for writes
        to a resource without a cache. newest requests an object's resource version from the server; it
        returns "" if the object does not exist, and raises ClientError. tells returns whether a resource's
        watch events are passed to observed; if not, its cache is checked repeatedly. vanished is called
        before a name is reconciled, if an object that was written for the name is neither in the cache nor on
        the server. timeout_seconds is how long a name waits before the server is asked; 0 disables waiting.
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
        """Record that the reconcile of a name has written `obj` or, if gone is True, has deleted it."""
        resource, metadata = obj.resource.group_resource, obj.metadata
        floor = _Floor(resource, object_name(obj), metadata.uid, metadata.resource_version, gone)
        self._add(name, floor, json_of(obj))

    def accepted(self, name: ObjectName, call: Call, response: Response) -> tuple[ObjectName, str]:
        """
        Record a client's write, made by the reconcile of a name.

        Returns: the written object's name, and the version in the response.
        """
        try:
            answer = _decoded(response.body)
        except msgspec.MsgspecError:
            return ObjectName(call.namespace, call.name), ""  # the caller of the client gets a DecodeError
        target = ObjectName(call.namespace, call.name or answer.metadata.name)
        uid = answer.metadata.uid or answer.details.uid
        version, gone = answer.metadata.resource_version, call.method == "DELETE"
        if version or gone:
            self._add(name, _Floor(call.resource, target, uid, version, gone), response.body)
        return target, version

    def _add(self, name: ObjectName, floor: _Floor, body: bytes) -> None:
        mirror = self._mirrors(floor.resource)
        if self._timeout_seconds <= 0 or mirror is None:
            return
        if floor.resource_version:
            floor = floor._replace(outside=not mirror.would_hold(body))
        with self._lock:
            self._expire_locked()
            floors = self._floors.get(name, {})
            before = floors.get((floor.resource, floor.name))
            if before is not None and not floor.resource_version:
                # A deletion's response may lack a version. The cache must then reach our previous write.
                floor = floor._replace(resource_version=before.resource_version, outside=before.outside)
            floors[floor.resource, floor.name] = floor
            # Store the entry again, so that its age counts from now.
            self._floors[name] = floors

    def has_deleted(self, name: ObjectName, obj: Kind) -> bool:
        """Return whether the latest reconcile of a name deleted exactly that object."""
        with self._lock:
            floor = self._floors.get(name, {}).get((obj.resource.group_resource, object_name(obj)))
        return floor is not None and floor.gone and floor.uid == obj.metadata.uid

    def seconds_to_wait(self, name: ObjectName) -> float:
        """
        Return how many seconds a name must wait before it is reconciled.

        Returns: 0 if the name can be reconciled now; otherwise the longest wait. A watch event can end the
        wait earlier.
        Blocks: for one request once the name has waited for timeout_seconds, and for another request each
        time the server's version of an object equals the cached one.
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
        """Wake the names that wait for an object. Listeners call this for each of their watch events."""
        with self._lock:
            names = tuple(self._waiting.get((resource, name), ()))
        for waiting in names:
            self._wake(waiting)

    def forget_names(self, gone: Callable[[ObjectName], bool]) -> None:
        """Forget the writes of the names for which gone is true, so that these names wait for no cache."""
        with self._lock:
            names = tuple(self._floors)
        for name in names:
            if gone(name):
                with self._lock:
                    self._forget_targets_locked(name, self._floors.pop(name, {}))
                    self._parked_at.pop(name, None)

    def _watch(self, name: ObjectName) -> dict[_Target, _Floor]:
        """Return a name's floors. From now on, watch events of the written objects wake the name."""
        with self._lock:
            self._expire_locked()
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
            # The object is not in the cache yet, or was deleted, perhaps before it reached the cache.
            version = floor.resource_version
            return floor.outside or not version or mirror.has_seen(floor.name.namespace, version)
        if floor.gone:
            ending = cached.metadata.deletion_timestamp is not None
            return ending or cached.metadata.uid != floor.uid
        return not is_older(cached.metadata.resource_version, floor.resource_version)

    def _will_tell(self, floor: _Floor) -> bool:
        """
        Return True if a watch event is certain to wake the name.

        If the object is not cached, no event is certain, because the object may already have been deleted.
        """
        mirror = self._mirrors(floor.resource) if self._tells(floor.resource) else None
        return mirror is not None and mirror.get_by_key(str(floor.name)) is not None

    def _waited(self, name: ObjectName) -> float:
        now = self._clock.now()
        with self._lock:
            return now - self._parked_at.setdefault(name, now)

    def _seconds_left(self, name: ObjectName, unmet: dict[_Target, _Floor], waited: float) -> float:
        """
        Return how much longer to wait for the cache.

        Floors whose cached object turns out to be up to date are removed from unmet.
        """
        if waited < self._timeout_seconds:
            return self._timeout_seconds - waited
        if waited >= LONGEST_WAIT_SECONDS:
            writes = ", ".join(f"{floor.resource} {floor.name}" for floor in unmet.values())
            log.warning("Cache still lacks our own write, reconciling anyway", objectName=name, writes=writes)
            self._metrics.timeouts.inc()
            return 0.0
        for target, floor in tuple(unmet.items()):
            left = self._seconds_behind(floor, believes_past=waited >= PATIENCE_SECONDS)
            if left > 0:
                return left
            del unmet[target]
            if not (floor.gone or self.cached_version(floor.resource, floor.name)):
                self._vanished(name)
        return 0.0

    def _seconds_behind(self, floor: _Floor, *, believes_past: bool) -> float:
        """
        Return for how many more seconds to treat the cache as behind the server, or 0 if it is not behind.

        Args: if believes_past is set, the server's version is accepted even if it is older than our write.
        """
        resource, now = floor.resource, self._clock.now()
        with self._lock:
            until = self._behind_until.get(resource, -math.inf)
        if until > now:
            return until - now
        why = self._why_behind(floor, believes_past=believes_past)
        if not why:
            return 0.0
        # Warn once per lag. The later checks log at debug level.
        write = log.debug if now - until < self._timeout_seconds else log.warning
        write("Cache lacks our own write, waiting for it", resource=resource, object=floor.name, why=why)
        with self._lock:
            # Count from the response, because the request itself may take this long.
            self._behind_until[resource] = self._clock.now() + self._timeout_seconds
        return self._timeout_seconds

    def _why_behind(self, floor: _Floor, *, believes_past: bool) -> str:
        """
        Return why the cache is behind the server, or "" if it is not.

        If the request fails, the cache counts as behind, because an unnecessary wait ends by itself but a
        duplicate child would remain.
        """
        try:
            newest = self._newest(floor.resource, floor.name)
        except Forbidden as error:
            return f"it may be behind, and the role does not allow a check ({error}): add get to the role"
        except ClientError as error:
            return f"it may be behind, and the request that checks it failed: {error}"
        if newest != self.cached_version(floor.resource, floor.name):
            return "it is behind the server"
        is_past = is_older(newest, floor.resource_version) and not believes_past
        return "the server answers with an older version" if is_past else ""

    def cached_version(self, resource: str, name: ObjectName) -> str:
        """Return the resource version of a cached object, or "" if there is none."""
        mirror = self._mirrors(resource)
        cached = None if mirror is None else mirror.get_by_key(str(name))
        return cached.metadata.resource_version if cached else ""

    def _keep(self, name: ObjectName, floors: dict[_Target, _Floor], unmet: dict[_Target, _Floor]) -> None:
        """Store only the unmet floors of a name. If all floors are met, end its wait."""
        with self._lock:
            self._expire_locked()
            self._forget_targets_locked(name, floors.keys() - unmet.keys())
            if unmet:
                # Store the entry again, so that its age counts from now.
                self._floors[name] = unmet
                return
            self._floors.pop(name, None)
            parked_at = self._parked_at.pop(name, None)
        if parked_at is not None:
            self._metrics.waited(self._clock.now() - parked_at)

    def _expire_locked(self) -> None:
        """Forget parked names that were never looked at again, so that no later wait counts from then."""
        for name, floors in self._floors.expire():
            self._parked_at.pop(name, None)
            self._forget_targets_locked(name, floors)

    def _forget_targets_locked(self, name: ObjectName, targets: Iterable[_Target]) -> None:
        for target in targets:
            names = self._waiting.get(target, set())
            names.discard(name)
            if not names:
                self._waiting.pop(target, None)
