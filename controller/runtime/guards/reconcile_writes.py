"""
Record the writes of a controller's reconciles: log them, wait until the caches reflect them, and detect hot
loops.

    worker: to_wait(name) --> reconcile --accepted(name, ...), for each write--> ended(name)

The builder uses this module for every controller. A controller written by hand calls check before each sync,
and writes through the client that telling(client) returns. Each write is recorded for the name that its
thread checked last; see handloop.controller.foo.production.
Decision: The client reports each write.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from functools import partial
from typing import Final, NamedTuple

import msgspec

from handloop.apis.decoders import decoder_of
from handloop.apis.meta import Kind
from handloop.client.errors import NotFound
from handloop.client.http.response import Response
from handloop.client.resource_client import Client
from handloop.client.rest_client import Call
from handloop.controller.runtime.guards.hot_loops import HotLoops, Write
from handloop.controller.runtime.guards.own_writes import OWN_WRITE_TIMEOUT_SECONDS, Mirror, OwnWrites
from handloop.controller.runtime.guards.repeat_backoff import HeldBackError
from handloop.controller.runtime.metrics.controller_metrics import ControllerOwnWrites
from handloop.controller.runtime.reconcile import ReconcileError
from handloop.informers.keys import ObjectName
from handloop.seams.clock import REAL_CLOCK, Clock
from handloop.seams.locks import new_lock

HOT: Final = "its reconciles keep writing, and are slowed down"
CACHE_BEHIND: Final = "a cache lacks what its last reconcile wrote"

_MOST_WRITES: Final = 5
_CREATED: Final = 201
_DONE: Final = {"POST": "created", "PUT": "updated", "PATCH": "patched", "DELETE": "deleted"}


class CacheBehindError(HeldBackError):
    """A cache lacks objects that the last sync of a name wrote."""

    def __init__(self, seconds: float) -> None:
        ReconcileError.__init__(
            self, f"a cache lacks what the last sync wrote: the next sync waits for it, up to {seconds:g} s"
        )
        self.retry_seconds = seconds


class ReconcileWrites:
    """
    Stores the writes of the reconciles that are in progress.

    Fields: own_writes, which makes names wait until the caches reflect these writes.
    State: _works_on, the name that each thread is working on. Under _lock, for each name: _of, the first
    writes of its reconcile, and the count of all its writes; _statuses, the kind and new version of each
    status that its reconcile wrote to an object of that name; _freed, the kind of the object whose last
    finalizer the reconcile has removed; _before, the cached version of each object when the reconcile was
    about to write it, "" = not cached.
    Threads: workers, each for the name that it is working on.
    """

    def __init__(self, own_writes: OwnWrites, hot_loops: HotLoops) -> None:
        self.own_writes = own_writes
        self._hot_loops = hot_loops
        self._works_on: ContextVar[ObjectName | None] = ContextVar("works_on", default=None)
        self._lock = new_lock("ReconcileWrites._lock", 95)
        self._of: dict[ObjectName, tuple[list[Write], int]] = {}
        self._statuses: dict[ObjectName, set[tuple[str, str]]] = {}
        self._freed: dict[ObjectName, str] = {}
        self._before: dict[ObjectName, dict[tuple[str, ObjectName], str]] = {}

    def to_wait(self, name: ObjectName) -> tuple[float, str]:
        """Return how many seconds a name must wait, and why. Ask HotLoops first, then OwnWrites."""
        self._works_on.set(name)
        if (seconds := self._hot_loops.seconds_to_wait(name)) > 0:
            return seconds, HOT
        return self.own_writes.seconds_to_wait(name), CACHE_BEHIND

    def check(self, name: ObjectName) -> None:
        """
        Raise an error if the name that a worker is working on must wait.

        Raises: HeldBackError or CacheBehindError, each with the time to wait in retry_seconds.
        """
        self._works_on.set(name)
        if (seconds := self._hot_loops.seconds_to_wait(name)) > 0:
            raise HeldBackError("the syncs of this name keep writing", seconds)
        if (seconds := self.own_writes.seconds_to_wait(name)) > 0:
            raise CacheBehindError(seconds)

    def forget_names(self, gone: Callable[[ObjectName], bool]) -> None:
        """Forget the writes of the names for which gone is true."""
        self.own_writes.forget_names(gone)
        self._hot_loops.forget_names(gone)

    def telling(self, client: Client) -> Client:
        """Return a copy of a client that records each write for the name that the thread is working on."""
        return client.telling(self._accepted_here, on_send=self._sending_here)

    def _sending_here(self, call: Call) -> None:
        if (name := self._works_on.get()) is not None:
            self.sending(name, call)

    def _accepted_here(self, call: Call, response: Response) -> None:
        if (name := self._works_on.get()) is not None:
            self.accepted(name, call, response)

    def sending(self, name: ObjectName, call: Call) -> None:
        """
        Record that the reconcile of a name is about to write. The client calls this as its OnSend.

        A response with the version that was cached before tells that the write changed nothing. Afterwards,
        the cache may already have the new version.
        """
        target = ObjectName(call.namespace, call.name)
        version = self.own_writes.cached_version(call.resource, target)
        with self._lock:
            self._before.setdefault(name, {})[call.resource, target] = version

    def accepted(self, name: ObjectName, call: Call, response: Response) -> None:
        """Record a client's write, made by the reconcile of a name. The client calls this as its OnWrite."""
        target, version = self.own_writes.accepted(name, call, response)
        is_own = (call.namespace, call.name) == name
        answer = _metadata_in(response.body) if is_own else _Metadata()
        with self._lock:
            idle = bool(version) and version == self._before.get(name, {}).get((call.resource, target))
            if answer.resource_version and call.subresource == "status":
                self._statuses.setdefault(name, set()).add((call.kind, answer.resource_version))
            if answer.deletion_timestamp and not answer.finalizers:
                self._freed[name] = call.kind
            writes, count = self._of.setdefault(name, ([], 0))
            self._of[name] = (writes, count + 1)
        if count < _MOST_WRITES or (not idle and all(write.idle for write in writes)):
            done = "created" if response.status == _CREATED else _DONE.get(call.method, call.method)
            done = f"{call.subresource} {done}".strip()
            writes.append(Write(call, response.body, target, call.subresource, done, idle))

    def status_versions(self, name: ObjectName, kind: str) -> frozenset[str]:
        """Return an object's versions that result from status writes by the current reconcile."""
        with self._lock:
            return frozenset(version for of, version in self._statuses.get(name, ()) if of == kind)

    def has_freed(self, name: ObjectName, error: NotFound) -> bool:
        """Return whether this reconcile removed the last finalizer of the object that error is about."""
        with self._lock:
            kind = self._freed.get(name)
        return (error.kind, error.namespace, error.name) == (kind, *name)

    def ended(self, name: ObjectName, *, follows: bool) -> str:
        """
        Finish the record of a name's reconcile, and count its writes.

        Args: follows is True if a change to another object triggered the reconcile.
        Returns: the writes as text for the log, or "" if there were none.
        """
        with self._lock:
            writes, count = self._of.pop(name, ([], 0))
            self._statuses.pop(name, None)
            self._before.pop(name, None)
            self._freed.pop(name, None)
        if not writes:
            return ""
        if changes := [write for write in writes if not write.idle]:
            follows = follows and all(write.subresource == "status" for write in changes)
            self._hot_loops.wrote(name, changes, follows=follows)
        more = [f"and {count - len(writes)} more"] if count > len(writes) else []
        return ", ".join([*map(str, writes), *more])


class NameWrites(NamedTuple):
    """Records the writes of one name's reconcile. The reconcile's Context uses it."""

    writes: ReconcileWrites
    name: ObjectName

    def sending(self, call: Call) -> None:
        """Record that a client is about to write. The client calls this as its OnSend."""
        self.writes.sending(self.name, call)

    def accepted(self, call: Call, response: Response) -> None:
        """Record a client's write. The client calls this as its OnWrite."""
        self.writes.accepted(self.name, call, response)

    def wrote(self, obj: Kind) -> None:
        """Record a write that another client sent. Args: obj is the object in the server's response."""
        self.writes.own_writes.note(self.name, obj, gone=False)

    def deleted(self, obj: Kind) -> None:
        """Record a deletion by another client."""
        self.writes.own_writes.note(self.name, obj, gone=True)


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = ""
    deletion_timestamp: str | None = None
    finalizers: tuple[str, ...] = ()


class _Object(msgspec.Struct, frozen=True):
    metadata: _Metadata = _Metadata()


def _metadata_in(body: bytes) -> _Metadata:
    with suppress(msgspec.MsgspecError):
        return decoder_of(_Object).decode(body).metadata
    return _Metadata()


def reconcile_writes(
    client: Client,
    mirrors: Callable[[str], Mirror | None],
    *,
    wake: Callable[[ObjectName], None],
    tells: Callable[[str], bool] = lambda _resource: True,
    vanished: Callable[[ObjectName], object],
    metrics: ControllerOwnWrites,
    timeout_seconds: float = OWN_WRITE_TIMEOUT_SECONDS,
    clock: Clock = REAL_CLOCK,
) -> ReconcileWrites:
    """Return the ReconcileWrites of a controller. The arguments have the same meaning as in OwnWrites."""
    own_writes = OwnWrites(
        mirrors,
        newest=partial(_newest, client, mirrors),
        wake=wake,
        tells=tells,
        vanished=vanished,
        metrics=metrics,
        timeout_seconds=timeout_seconds,
        clock=clock,
    )
    return ReconcileWrites(own_writes, HotLoops(client, slowed=metrics.hot_loops.inc, clock=clock))


def _newest(client: Client, mirrors: Callable[[str], Mirror | None], resource: str, name: ObjectName) -> str:
    """
    Return an object's resource version on the server.

    Returns: "" if the object does not exist, or if the cache would not store it.
    Raises: ClientError if the request fails.
    """
    mirror = mirrors(resource)
    if mirror is None:
        return ""
    objects = client.for_resource(mirror.kind.resource).within(OWN_WRITE_TIMEOUT_SECONDS)
    try:
        live = objects.get(name.name, namespace=name.namespace)
    except NotFound:
        return ""
    return live.metadata.resource_version if mirror.would_hold(live.raw) else ""
