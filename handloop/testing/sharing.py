"""
Replicas of a set-up that share slots on a sandbox, and can be started and stopped. Their writes are recorded.

    with sharing(sandbox, set_up) as replicas:
        replicas.start("a", "b")
        replicas.wait_for(4, 4)
        replicas.stop("a")
        replicas.wait_for(8)
    assert replicas.strays == []
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from prometheus_client import CollectorRegistry

from handloop.apis.grammar.shard_selector import slot_of, slot_of_namespace
from handloop.client.http.response import Response
from handloop.client.resource_client import Client
from handloop.client.transport import ForwardingTransport, Transport
from handloop.controller.runtime.manager import Manager
from handloop.controller.runtime.sharding.replica import Replica
from handloop.controller.runtime.sharding.shards import By, Shards
from handloop.informers.sharding.shard_scope import SLOT_LABEL
from handloop.testing.eventually import eventually
from handloop.testing.managed_sandbox import ManagedSandbox
from handloop.testing.manager_thread import ManagerThread
from handloop_sandbox.requests.routes import ResourcePath, resource_path, split

SLOTS: Final = 8
_LEASE: Final = "shared"
_NOT_OF_SLOTS: Final = ("leases", "events")
_REFUSED: Final = 300


class Written(NamedTuple):
    """
    A write that the server accepted.

    Fields: replica is the writer; path has no query; body is the JSON that was sent, or None; slot is the
    object's slot, or None if the object has none or the slot is unknown; holder is the replica that held the
    slot's Lease at the time, or "".
    """

    replica: str
    method: str
    path: str
    body: Any
    slot: int | None = None
    holder: str = ""

    @property
    def is_stray(self) -> bool:
        """Whether the replica wrote without holding the object's slot."""
        return self.slot is not None and self.holder != self.replica


class Sharing:
    """
    Replicas that can be started and stopped.

    Fields: sandbox and shards are shared by the replicas; managers maps replicas to managers, in the order in
    which they started.
    State, under _lock: _writes and _holders. Threads: used on the test's thread and the managers' threads.
    """

    def __init__(
        self, sandbox: ManagedSandbox, set_up: Callable[[Manager], object], *, slots: int = SLOTS, by: By
    ) -> None:
        """Prepare without starting a replica. See `sharing`."""
        self.sandbox = sandbox
        # These times are as short as possible, because a test waits for each change.
        self.shards = Shards(
            slots, by, lease=f"default/{_LEASE}", retry_period_seconds=0.25, settle_seconds=0.5
        )
        self.managers: dict[str, Manager] = {}
        self._set_up = set_up
        self._running: dict[str, ManagerThread] = {}
        self._lock = threading.Lock()
        self._writes: list[Written] = []
        self._holders: dict[int, str] = {}

    @property
    def writes(self) -> Sequence[Written]:
        """All writes so far, in the server's order, including Leases and Events."""
        with self._lock:
            return tuple(self._writes)

    @property
    def strays(self) -> Sequence[Written]:
        """The writes of replicas that did not hold the object's slot."""
        return [write for write in self.writes if write.is_stray]

    @property
    def holders(self) -> Mapping[int, str]:
        """The holder of each slot's Lease, or "" if it is released. A slot that was never held is missing."""
        with self._lock:
            return MappingProxyType(dict(self._holders))

    def made(self, plural: str) -> list[str]:
        """Return the created objects of a kind as `namespace/name`. An object appears once per creation."""
        paths = [(write, _words(write.path)) for write in self.writes if write.method == "POST"]
        return [f"{at.namespace}/{one.body['metadata']['name']}" for one, at in paths if at.plural == plural]

    def manager(self, replica: str) -> Manager:
        """Return a manager for a replica, without starting it."""
        made = Manager(Client(self.transport(replica)), registry=CollectorRegistry(), shards=self.shards)
        self._set_up(made)
        return made

    def transport(self, replica: str) -> Transport:
        """Return a replica's transport, for requests outside its manager. Stray writes are not held back."""
        return _Noted(self.sandbox.transport(), replica, self._lock, self._took)

    def start(self, *replicas: str) -> None:
        """Start more replicas, each with its own name. Raises: the same errors as set_up."""
        for replica in replicas:
            if replica in self._running:
                raise ValueError(f"replica {replica} runs already")
            running = ManagerThread(self.manager(replica), f"replica {replica}")
            self.managers[replica], self._running[replica] = running.manager, running
            running.start()

    def stop(self, *replicas: str) -> None:
        """
        Stop the named replicas, or all replicas if none is named.

        Raises: the same errors as Manager.run. Blocks: until their slots are released.
        """
        chosen = [(one, self._running[one]) for one in replicas or tuple(self._running)]
        for _, running in chosen:
            running.stop.set()
        for replica, running in chosen:
            del self._running[replica], self.managers[replica]
            running.end()

    def held(self) -> dict[str, frozenset[int]]:
        """Return the slots that each replica believes it holds."""
        found = {one: manager.replica for one, manager in self.managers.items()}
        return {
            one: frozenset(replica.held.slots)
            for one, replica in found.items()
            if isinstance(replica, Replica)
        }

    def wait_for(self, *counts: int) -> None:
        """
        Wait until each replica holds the given number of slots.

        Args: counts has one number for each replica, in the order in which the replicas started.
        Raises: AssertionError at the deadline. Blocks: until the replicas hold the slots, or the deadline.
        """

        def are_held() -> bool:
            return tuple(map(len, self.held().values())) == counts

        try:
            eventually(are_held, f"{counts} slots")
        except AssertionError as error:
            error.add_note(f"current state: {self.held()}")
            raise

    def _took(self, replica: str, method: str, path: str, body: Any, answer: bytes) -> None:
        """Record a write. The caller holds _lock, so that the records are in the server's order."""
        words, slot = _words(path), None
        if words.plural == "leases":
            self._note_lease(replica, body or {})
        elif words.namespace and words.plural not in _NOT_OF_SLOTS:
            slot = self._slot_of(words.namespace, answer)
        holder = "" if slot is None else self._holders.get(slot, "")
        self._writes.append(Written(replica, method, path, body, slot, holder))

    def _note_lease(self, replica: str, lease: Mapping[str, Any]) -> None:
        name = str(lease.get("metadata", {}).get("name", ""))
        slot, of, count = name.removeprefix(f"{_LEASE}-slot-").partition("-of-")
        if of and slot.isdecimal() and count == str(self.shards.count):
            self._holders[int(slot)] = replica if lease["spec"].get("holderIdentity") else ""

    def _slot_of(self, namespace: str, answer: bytes) -> int | None:
        """
        Return an object's slot, or None if the response does not show it.

        If the replicas divide objects by UID, the slot is in the object's label. Without the label, the slot
        is computed from the owner's UID or, if there is no owner, from the object's own UID.
        """
        if self.shards.by == "namespace":
            return slot_of_namespace(namespace, self.shards.count)
        metadata = json.loads(answer).get("metadata") or {}
        if label := (metadata.get("labels") or {}).get(SLOT_LABEL):
            return int(label)
        owners = [one["uid"] for one in metadata.get("ownerReferences") or () if one.get("controller")]
        uid = next(iter(owners), metadata.get("uid"))
        return slot_of(uid, self.shards.count) if uid else None


class _Noted(ForwardingTransport):
    """One replica's transport. All replicas share a lock, so that only one write is sent at a time."""

    def __init__(
        self,
        transport: Transport,
        replica: str,
        lock: threading.Lock,
        took: Callable[[str, str, str, Any, bytes], None],
    ) -> None:
        super().__init__(transport)
        self._replica = replica
        self._lock = lock
        self._took = took

    def request(self, method: str, path: str, **options: Any) -> Response:
        if method == "GET":
            return super().request(method, path, **options)
        with self._lock:
            response = super().request(method, path, **options)
            if response.status < _REFUSED:
                body = json.loads(options.get("body") or b"null")
                self._took(self._replica, method, path.partition("?")[0], body, response.body)
        return response


@contextmanager
def sharing(
    sandbox: ManagedSandbox, set_up: Callable[[Manager], object], *, slots: int = SLOTS, by: By = "namespace"
) -> Iterator[Sharing]:
    """
    Let replicas share slots for the duration of the block. At its end, all replicas are stopped.

    Writes of Leases and Events never count as stray.

    Args: set_up is the function for handloop.controller.cli.main, and is called for each replica. slots and
    by are arguments of Shards.
    Raises: the same errors as Manager.run.
    """
    replicas = Sharing(sandbox, set_up, slots=slots, by=by)
    try:
        yield replicas
    finally:
        replicas.stop()


def _words(path: str) -> ResourcePath:
    return resource_path(split(path)) or ResourcePath("", "", "")
