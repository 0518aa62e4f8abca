"""Managers in one process that share slots on a sandbox, and every write that the sandbox takes from them."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from prometheus_client import CollectorRegistry

from handloop.apis.shard_selector import slot_of_namespace
from handloop.client.http.response import Response
from handloop.client.resource_client import Client
from handloop.client.transport import ForwardingTransport, Transport
from handloop.controller.runtime.manager import Manager
from handloop.controller.runtime.sharding.shards import By, Shards
from handloop.testing.eventually import eventually
from support.checks.threads import Background
from support.rigs.managed_sandbox import ManagedSandbox

SLOTS: Final = 8
_SLOT: Final = re.compile(r"x-slot-(\d+)-of-\d+")
_NAMESPACE: Final = re.compile(r"/namespaces/(ns-[^/]+)/(?!events)")


@dataclass
class Writes:
    """
    The writes of all replicas, in the order in which the server took them.

    Fields: taken, (replica, method, path, body); holders, who holds each slot by its Lease; strays, the
    writes in a namespace whose slot another replica held, or nobody.
    """

    taken: list[tuple[str, str, str, Any]] = field(default_factory=list)
    holders: dict[int, str] = field(default_factory=dict)
    strays: list[tuple[str, str, str]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, who: str, method: str, path: str, body: Any) -> None:
        """The server took a write."""
        self.taken.append((who, method, path, body))
        if "/leases" in path:
            slot = _SLOT.match(body.get("metadata", {}).get("name", "") if body else "")
            if slot:
                self.holders[int(slot[1])] = who if body["spec"].get("holderIdentity") else ""
        elif found := _NAMESPACE.search(path):
            holder = self.holders.get(slot_of_namespace(found[1], SLOTS))
            self.strays += [] if holder == who else [(who, method, path)]

    def made(self, plural: str) -> list[str]:
        """The names of the objects of a kind that were created."""
        paths = [(path, body) for _, method, path, body in self.taken if method == "POST"]
        return [f"{path} {body['metadata']['name']}" for path, body in paths if path.endswith(f"/{plural}")]


class _Noted(ForwardingTransport):
    def __init__(self, transport: Transport, who: str, writes: Writes) -> None:
        super().__init__(transport)
        self._who = who
        self._writes = writes

    def request(self, method: str, path: str, **options: Any) -> Response:
        if method == "GET":
            return super().request(method, path, **options)
        with self._writes.lock:  # one at a time, so that their order is known
            response = super().request(method, path, **options)
            if response.status < 300:
                body = json.loads(options.get("body") or b"null")
                self._writes.note(self._who, method, path.partition("?")[0], body)
        return response


class Sharing:
    """Replicas that come and go. Stop it at the end."""

    def __init__(
        self, cluster: ManagedSandbox, set_up: Callable[[Manager], object], by: By = "namespace"
    ) -> None:
        self.cluster = cluster
        self.writes = Writes()
        self.managers: dict[str, Manager] = {}
        self._set_up = set_up
        self._shards = Shards(SLOTS, by, lease="default/x", retry_period_seconds=0.25, settle_seconds=0.5)
        self._running: dict[str, tuple[threading.Event, Background[None]]] = {}

    def manager(self, who: str) -> Manager:
        """A replica that does not run."""
        client = Client(_Noted(self.cluster.transport(), who, self.writes))
        made = Manager(client, registry=CollectorRegistry(), shards=self._shards)
        self._set_up(made)
        return made

    def start(self, who: str) -> Manager:
        """One more replica."""
        manager, stop = self.manager(who), threading.Event()
        self.managers[who] = manager
        self._running[who] = (stop, Background(lambda: manager.run(stop)))
        return manager

    def stop(self, *those: str) -> None:
        """End some replicas, or all."""
        for who in those or tuple(self._running):
            self._running[who][0].set()
        for who in those or tuple(self._running):
            self._running.pop(who)[1].result()
            del self.managers[who]

    def slots(self) -> dict[str, int]:
        """How many slots each replica holds."""
        found = {who: manager.replica for who, manager in self.managers.items()}
        return {who: len(replica.held.slots) for who, replica in found.items() if replica is not None}

    def wait_for(self, *counts: int) -> None:
        """Wait until the replicas hold so many slots, in the order in which they came."""
        eventually(lambda: tuple(self.slots().values()) == counts, f"{counts} slots")
