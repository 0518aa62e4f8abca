"""
Runs the simulated controllers, which react to changes and to time.

A step of a ClusterController receives changes, reads the state through a View and returns Writes. The writes
go through the same API code as a client's requests. The Runner steps one controller after another. Steps and
requests never overlap, so no request can change the state between a step and its writes.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, NamedTuple, Protocol, TypeVar

from handloop_sandbox.cluster.dirty_keys import DirtyKeys
from handloop_sandbox.storage.catalog import Catalog
from handloop_sandbox.storage.state import State
from handloop_sandbox.storage.stored import Change, ChangeType, Object, Stored
from handloop_sandbox.wire.resource import GroupResource
from handloop_sandbox.wire.status import Status

K = TypeVar("K", bound=Hashable)

_LEAST = 0.9
_MOST = 1.6  # so that three parallel pods are ready 2 to 4 s after their Deployment's creation


@dataclass(frozen=True, slots=True)
class Pace:
    """Converts nominal seconds to real seconds. At speed 10, everything happens ten times faster."""

    speed: float = 1.0

    def __post_init__(self) -> None:
        if not self.speed > 0:
            raise ValueError(f"speed must be above 0, got {self.speed}")

    def seconds(self, nominal: float) -> float:
        """Convert nominal seconds to real seconds, for deadlines and back-offs."""
        return nominal / self.speed

    def jittered(self, nominal: float, source: random.Random) -> float:
        """Return seconds(nominal) times 0.9 to 1.6, so that pods do not finish at the same time."""
        return self.seconds(nominal) * source.uniform(_LEAST, _MOST)


NAME_SUFFIX_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"  # apimachinery util/rand: without vowels and look-alikes
_SUFFIX_LENGTH = 5
_MAX_GENERATED_BASE = 58


class Write(NamedTuple):
    """
    One write by a controller. For create and update, object is the whole object.

    An update does not need a resource version. subresource is "", "status", "scale", "binding" or "finalize".
    uid and resource_version are the preconditions of a delete. propagation and grace_seconds are its options.
    """

    verb: Literal["create", "update", "delete"]
    group_resource: GroupResource
    namespace: str
    name: str = ""
    object: Object | None = None
    subresource: str = ""
    uid: str = ""
    resource_version: str = ""
    propagation: str = ""
    grace_seconds: int | None = None

    @classmethod
    def of(
        cls,
        verb: Literal["create", "update", "delete"],
        group_resource: GroupResource,
        obj: Object,
        *,
        subresource: str = "",
        propagation: str = "",
        grace_seconds: int | None = None,
    ) -> Write:
        """Return a write for an object that has been read. A delete has its uid as a precondition."""
        metadata, deletes = obj["metadata"], verb == "delete"
        return cls(
            verb=verb,
            group_resource=group_resource,
            namespace=metadata.get("namespace", ""),
            name=metadata["name"],
            object=None if deletes else obj,
            subresource=subresource,
            uid=metadata.get("uid", "") if deletes else "",
            propagation=propagation,
            grace_seconds=grace_seconds,
        )


class Step(NamedTuple):
    """The result of a step. The next step is due at next_wake (unix time), or earlier after a change."""

    writes: Sequence[Write] = ()
    next_wake: float | None = None


class View(NamedTuple):
    """The data for a step. random is the only source of randomness, and signing_key signs tokens."""

    state: State
    catalog: Catalog
    random: random.Random
    signing_key: bytes = b""

    def new_name(self, generate_name: str) -> str:
        """Return generate_name plus a random suffix, as the API server does."""
        return new_name(generate_name, self.random)


class ClusterController(Protocol):
    """
    A controller. If interests is None, it receives the changes of every collection.

    The first step receives all existing objects as ADDED changes. Later steps receive the changes since the
    last step, oldest first. If a step is due because of next_wake or a refusal, there may be no changes.
    """

    @property
    def name(self) -> str:
        """The user name and the field manager of the controller's writes."""

    @property
    def interests(self) -> frozenset[GroupResource] | None:
        """The collections whose changes the controller receives."""

    def step(self, view: View, changes: Sequence[Change], now: float) -> Step:
        """Handle the changes. Returns: the writes, and when the next step is due."""

    def refused(self, write: Write, status: Status, now: float) -> None:
        """React to a write that the API has refused."""


class KeyedController(ABC, Generic[K]):
    """
    A controller that marks the keys affected by a change, and syncs each key when it is due.

    State: _dirty holds the keys to sync.
    """

    name = "kube-controller-manager"

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._dirty: DirtyKeys[K] = DirtyKeys()

    def step(self, view: View, changes: Sequence[Change], now: float) -> Step:
        """Observe every change, then sync every key that is due."""
        for change in changes:
            self._observe(view, change, now)
        writes: list[Write] = []
        for key in self._dirty.take(now):
            writes += self._sync(view, key, now)
        return Step(writes, self._dirty.next_wake())

    def refused(self, write: Write, status: Status, now: float) -> None:
        """Do nothing by default: the change that caused the refusal will trigger another sync."""

    @abstractmethod
    def _observe(self, view: View, change: Change, now: float) -> None:
        """Mark the keys that a change affects."""

    @abstractmethod
    def _sync(self, view: View, key: K, now: float) -> Iterable[Write]:
        """Reconcile the object with this key. Returns: the writes."""


ApplyWrite = Callable[[str, Write], Status | None]
"""Called with a controller's name and a write. Returns: the refusal, or None if the write was applied."""


class Runner:
    """
    Steps the controllers that are due.

    State: _pending holds, for each controller, the changes that it has not received yet. _wakes holds the
    time of each controller's next step. stepping is the index of the controller whose writes are being
    applied.
    Threads: every call is made with the engine's lock held.
    """

    def __init__(self, controllers: Sequence[ClusterController], *, max_rounds: int = 1000) -> None:
        self._controllers = tuple(controllers)
        self._pending: list[list[Change]] = [[] for _ in self._controllers]
        self._wakes: list[float | None] = [None] * len(self._controllers)
        self._max_rounds = max_rounds
        self.stepping = 0

    def start(self, state: State) -> None:
        """Queue every existing object as an ADDED change."""
        for group_resource in state.group_resources():
            collection = state.collection(group_resource)
            for key in collection.keys:
                self._queue(_as_added(group_resource, collection.objects[key]))
        self._wakes = [float("-inf")] * len(self._controllers)

    def committed(self, changes: Sequence[Change]) -> None:
        """Queue the changes of a commit."""
        for change in changes:
            self._queue(change)

    def next_wake(self) -> float | None:
        """Return the unix time at which run() is due: -inf for now, or None to wait for the next change."""
        if any(self._pending):
            return float("-inf")
        return min((wake for wake in self._wakes if wake is not None), default=None)

    def run(
        self, view: Callable[[], View], now: float, apply: ApplyWrite, *, rounds: int | None = None
    ) -> None:
        """
        Step the controllers until none is due, but for at most `rounds` rounds.

        If controllers are still due afterwards, next_wake() is not later than now.

        Args: view creates the View for a step. apply commits a write and calls committed().
        """
        for _ in range(self._max_rounds if rounds is None else rounds):
            due = [
                index
                for index, wake in enumerate(self._wakes)
                if self._pending[index] or (wake is not None and wake <= now)
            ]
            if not due:
                return
            for index in due:
                self._step(index, view, now, apply)

    def _queue(self, change: Change) -> None:
        for controller, pending in zip(self._controllers, self._pending, strict=True):
            if controller.interests is None or change.group_resource in controller.interests:
                pending.append(change)

    def _step(self, index: int, view: Callable[[], View], now: float, apply: ApplyWrite) -> None:
        controller, self.stepping = self._controllers[index], index
        changes, self._pending[index] = self._pending[index], []
        step = controller.step(view(), changes, now)
        self._wakes[index] = step.next_wake
        for write in step.writes:
            refusal = apply(controller.name, write)
            if refusal is not None:
                self.refused(index, write, refusal, now)

    def refused(self, index: int, write: Write, status: Status, now: float) -> None:
        """Notify a controller that one of its writes was refused."""
        self._controllers[index].refused(write, status, now)
        self._wakes[index] = now  # refused() may mark keys after the step has returned its next_wake


def new_name(generate_name: str, source: random.Random) -> str:
    """Return generate_name, cut to 58 characters, plus five random ones. Follows: SimpleNameGenerator."""
    suffix = "".join(source.choice(NAME_SUFFIX_ALPHABET) for _ in range(_SUFFIX_LENGTH))
    return generate_name[:_MAX_GENERATED_BASE] + suffix


def _as_added(group_resource: GroupResource, stored: Stored) -> Change:
    return Change(ChangeType.ADDED, group_resource, new=stored, old=None)
