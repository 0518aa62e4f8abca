"""Records the changes at the server during a run, and who makes them, for oracles and stories."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Final, NamedTuple

from handloop.client.http.response import Response
from handloop.client.transport import ForwardingTransport, Transport
from handloop_explore.virtual_threads import VirtualThreads
from handloop_sandbox.storage.stored import Change, ChangeType

Object = dict[str, Any]

OPERATOR: Final = "operator"
USER: Final = "user"
RIVAL: Final = "rival"
CLIENTS: Final = (OPERATOR, USER, RIVAL)
_ADMIN: Final = "sandbox-admin"
_NOISE: Final = ("Event", "Lease", "CustomResourceDefinition")
_MOST: Final = 3000


class Act(NamedTuple):
    """
    One change of an object at the server.

    who: `operator`, `user`, `rival`, or the name of one of the cluster's own controllers. old, new: the
    object before and after, without managed fields, or None if it did not exist.
    """

    at: float
    who: str
    version: int
    old: Object | None
    new: Object | None

    @property
    def obj(self) -> Object:
        """The object after the change, or before a deletion."""
        return self.new or self.old or {}

    @property
    def key(self) -> str:
        """`Kind namespace/name`."""
        return key_of(self.obj)

    @property
    def uid(self) -> str:
        """The object's uid."""
        uid: str = self.obj["metadata"]["uid"]
        return uid

    @property
    def owners(self) -> set[str]:
        """The uids of the object's owners."""
        return {one["uid"] for one in self.obj["metadata"].get("ownerReferences") or ()}

    @property
    def ends(self) -> bool:
        """Whether the object is deleted, or being deleted, after the change."""
        return self.new is None or "deletionTimestamp" in self.new["metadata"]

    def changes(self, part: str) -> bool:
        """Return whether the change updated a part of the object, such as `status`."""
        return bool(self.old and self.new) and (self.old or {}).get(part) != (self.new or {}).get(part)


class Arrival(NamedTuple):
    """
    Versions at the time when a write reached the server.

    seen: the object's version in the process's cache, or 0 if the cache did not contain it; before: the
    server's newest version before the write; version: the version that the write created, or 0 if it changed
    nothing.
    """

    seen: int
    before: int
    version: int


class Record:
    """The changes of one run. Threads: runs on the threads of a VirtualThreads."""

    def __init__(self, threads: VirtualThreads) -> None:
        self._threads = threads
        self._acts: list[Act] = []
        self._last: dict[str, Object] = {}

    def committed(self, user: str, changes: Sequence[Change]) -> None:
        """Record changes at the server. Args: user: the name of the user who made them."""
        for change in changes:
            if change.new.object.get("kind") not in _NOISE and len(self._acts) < _MOST:
                self._acts.append(self._act(self._who(user), change))

    def acts(self) -> list[Act]:
        """Return the changes to all objects that a client has written, and to these objects' owners."""
        acts = self._acts
        owners = {act.uid: act.owners for act in acts}
        kept: set[str] = set()
        more = {act.uid for act in acts if act.who in CLIENTS}
        while more:
            kept |= more
            more = {owner for uid in more for owner in owners.get(uid, ())} - kept
        return [act for act in acts if act.uid in kept]

    def made_by_operator(self) -> list[Object]:
        """Return the existing objects that the operator created, or that replace such an object."""
        ours = {act.key for act in self._acts if act.who == OPERATOR and act.old is None}
        return [obj for obj in self._last.values() if key_of(obj) in ours]

    def is_ending(self, uid: str) -> bool:
        """Return whether an object is being deleted, or no longer exists."""
        return "deletionTimestamp" in self._last.get(uid, {"metadata": ("deletionTimestamp",)})["metadata"]

    def gone(self) -> dict[str, str]:
        """Return the keys of objects that no longer exist, by uid."""
        return {act.uid: act.key for act in self._acts if act.uid not in self._last}

    def made_by_cluster(self) -> set[str]:
        """Return the uids of objects that the cluster's own controllers have created."""
        return {act.uid for act in self._acts if act.who not in CLIENTS and act.old is None}

    def last_by_operator(self, since: int) -> int:
        """Return the version of the operator's last change after `since`, or 0 if it made none."""
        for act in reversed(self._acts):
            if act.version <= since:
                break
            if act.who == OPERATOR:
                return act.version
        return 0

    def _act(self, who: str, change: Change) -> Act:
        new = None if change.type is ChangeType.DELETED else _bare(change.new.object)
        uid = change.new.object["metadata"]["uid"]
        before = self._last.pop(uid, None)
        if before is None and change.old is not None:
            before = _bare(change.old.object)
        if new is not None:
            self._last[uid] = new
        return Act(self._threads.now, who, change.rv, before, new)

    def _who(self, user: str) -> str:
        if user != _ADMIN:
            return user
        # The main thread carries out the workload's steps.
        return USER if self._threads.current_thread().name == "MainThread" else RIVAL


class RecordedTransport(ForwardingTransport):
    """A process's innermost transport, which records an Arrival for each write."""

    def __init__(
        self,
        transport: Transport,
        record: Record,
        version: Callable[[], int],
        seen: Callable[[str], int],
        arrived: Callable[[str, str, Arrival], object],
    ) -> None:
        """
        Args: version: returns the server's newest version; seen: returns the cached version of a path's
        object; arrived: called with each write's method, path and Arrival.
        """
        super().__init__(transport)
        self._record = record
        self._version = version
        self._seen = seen
        self._arrived = arrived

    def request(self, method: str, path: str, **options: Any) -> Response:
        """Send one request."""
        if method in ("GET", "HEAD"):
            return super().request(method, path, **options)
        seen, before = self._seen(path), self._version()
        try:
            return super().request(method, path, **options)
        finally:
            self._arrived(method, path, Arrival(seen, before, self._record.last_by_operator(before)))


def key_of(obj: Object) -> str:
    """`Kind namespace/name`."""
    metadata = obj["metadata"]
    return f"{obj['kind']} {metadata.get('namespace', '')}/{metadata['name']}"


def chain(uid: str, controllers: dict[str, str]) -> Iterator[str]:
    """
    Yield the uid of an object's controller, then of the controller's controller, and so on.

    Args: uid: the object's; controllers: the uid of each object's controller, by the object's uid.
    """
    found: set[str] = set()
    while (uid := controllers.get(uid, "")) and uid not in found:
        found.add(uid)
        yield uid


def controller_of(obj: Object) -> str:
    """Return the uid of an object's controller, or "" if it has none."""
    references = obj["metadata"].get("ownerReferences") or ()
    return next((one["uid"] for one in references if one.get("controller")), "")


def owners_of(obj: Object, kinds: Collection[str]) -> list[Object]:
    """Return an object's references to owners of these kinds."""
    return [one for one in obj["metadata"].get("ownerReferences") or () if one["kind"] in kinds]


def _bare(obj: Object) -> Object:
    metadata = {key: value for key, value in obj["metadata"].items() if key != "managedFields"}
    return {**obj, "metadata": metadata}
