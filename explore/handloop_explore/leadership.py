"""Tracks which of the operator's processes holds each Lease on the server, and which writes are allowed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, Protocol

from handloop.apis.grammar.shard_selector import slot_of_namespace
from handloop.client.config import ClientConfig
from handloop.client.errors import ConnectionBroken, ConnectionRefused
from handloop.client.http.response import Response
from handloop.client.transport import ForwardingTransport, Transport
from handloop.controller.runtime.election.durations import RENEW_DEADLINE_SECONDS
from handloop.controller.runtime.election.election import LeaseTerms
from handloop.controller.runtime.sharding.shards import Shards
from handloop_explore.cluster import VirtualCluster
from handloop_explore.plan import PAUSE_SECONDS, Where
from handloop_explore.played import Journal
from handloop_explore.strikes import answer_of, place_of, target_of

TERMS: Final = LeaseTerms(namespace="default", name="operator", retry_period_seconds=4)
"""The usual durations, but half as many renewals, because renewals are the main cost of two processes."""
LEASE: Final = f"/apis/coordination.k8s.io/v1/namespaces/{TERMS.namespace}/leases/{TERMS.name}"
NOWHERE: Final = ClientConfig(host="https://virtual")
"""A config for an Election, which receives its transport separately and so does not use the host."""


class Leadership:
    """
    Knows which process holds each Lease in one run: the leader's Lease, or one Lease for each slot.

    Field: shards, or None if one process leads.
    State: _holders, by the Lease's name, the number of the process that last acquired the Lease, or 0 after
    its release; _renewed_at, when each process sent its last accepted renewal of each Lease.
    """

    def __init__(self, journal: Journal, shards: Shards | None = None) -> None:
        self.shards = replace(shards, lease=f"{TERMS.namespace}/{TERMS.name}") if shards else None
        self._journal = journal
        self._holders: dict[str, int] = {}
        self._renewed_at: dict[tuple[str, int], float] = {}

    def is_held_by(self, process: int, lease: str) -> bool:
        """Return whether a process was the last to acquire a Lease."""
        return self._holders.get(lease) == process

    def renewed(self, lease: str, process: int, at: float, *, holds: bool) -> None:
        """Record an accepted write to a Lease. Args: holds: whether the write names the process as holder."""
        self._renewed_at[lease, process] = at
        holder = process if holds else 0
        if holder != self._holders.get(lease, 0):
            kind, _, slot = lease.removeprefix(f"{TERMS.name}-").partition("-")
            what = {"member": "member Lease", "slot": f"Lease of slot {slot}"}.get(kind, "Lease")
            words = f"takes the {what}" if holds else f"gives the {what} back"
            self._journal.tell(f"process {process}", f"process {process} {words}")
        self._holders[lease] = holder

    def objection(self, process: int, path: str) -> str:
        """Return why a process must not write at a path, or "" if the write is allowed."""
        lease = self._lease_for(path)
        if not lease:
            return ""
        if self._holders.get(lease, 0) not in (0, process):
            return f"process {self._holders[lease]} holds the Lease"
        if (lease, process) not in self._renewed_at:
            return "it has never held the Lease"
        age = self._journal.threads.now - self._renewed_at[lease, process]
        limit = self.shards.renew_deadline_seconds if self.shards else RENEW_DEADLINE_SECONDS
        return f"its Lease was renewed {age:.1f} s ago" if age > limit else ""

    def _lease_for(self, path: str) -> str:
        """Return the name of the Lease that a write requires, or "" if the path does not show it."""
        if self.shards is None:
            return TERMS.name
        namespace, _, _ = place_of(path)
        if self.shards.by == "uid" or not namespace:
            return ""
        slot = slot_of_namespace(namespace, self.shards.count)
        return f"{TERMS.name}-slot-{slot}-of-{self.shards.count}"


class Candidate(Protocol):
    """The part of a Process that a LeaseTransport uses."""

    number: int
    cluster: VirtualCluster
    journal: Journal
    struck_here: Callable[[Where, int], str]

    def check_alive(self) -> None:
        """Raises: ConnectionBroken if the process has ended."""

    def crash(self) -> None:
        """End the process; never returns."""


class LeaseTransport(ForwardingTransport):
    """
    A process's separate connections for Leases. A plan can strike writes that change a Lease's holder.

    State: _found, the last GET, the server's version at that time, and the response. The response is reused
    while the version is the same, because a candidate reads often, and the Lease rarely changes.
    """

    def __init__(self, transport: Transport, process: Candidate, leadership: Leadership) -> None:
        super().__init__(transport)
        self._process = process
        self._leadership = leadership
        self._found: tuple[object, Response] | None = None

    def _before_stream(self) -> None:
        self._process.check_alive()

    def request(self, method: str, path: str, **options: Any) -> Response:
        """Send one request."""
        self._process.check_alive()
        if method != "GET":
            return self._write(method, path, options)
        cluster = self._process.cluster
        if cluster.sandbox.faults.active:
            return super().request(method, path, **options)
        asked = (path, options.get("query"), cluster.version)
        if self._found is None or self._found[0] != asked:
            self._found = (asked, super().request(method, path, **options))
        return self._found[1]

    def _write(self, method: str, path: str, options: Mapping[str, Any]) -> Response:
        process, leadership, journal = self._process, self._leadership, self._process.journal
        at, target = journal.threads.now, target_of(method, path, options.get("body"))
        lease = place_of(target)[2]
        holds = method != "DELETE" and bool(json.loads(options["body"])["spec"].get("holderIdentity"))
        what = ""
        if not (holds and leadership.is_held_by(process.number, lease)):
            journal.leases += 1
            if what := process.struck_here("l", journal.leases):
                journal.tell(
                    "plan", f"the plan strikes Lease write {journal.leases}, {method} {path}: {what}"
                )
        self._before(what, target)
        if what.isdecimal():
            return answer_of(int(what))
        answer = super().request(method, path, **options)
        if method != "DELETE" and path.startswith(LEASE.rpartition("/")[0]) and answer.status < 300:  # noqa: PLR2004
            leadership.renewed(lease, process.number, at, holds=holds)
        if what == "crash-after":
            process.crash()
        if what == "lost":
            raise ConnectionBroken("the connection broke", request=f"{method} {path}", outcome_unknown=True)
        return answer

    def _before(self, what: str, target: str) -> None:
        """Carry out the part of a strike that happens before the server receives the write."""
        if what == "crash-before":
            self._process.crash()
        elif what == "pause":
            self._process.journal.threads.pause(PAUSE_SECONDS)
        elif what == "never-sent":
            raise ConnectionRefused("connection refused", request=target)
        elif what == "rival-lease" and self._process.cluster.find(target):
            self._process.cluster.send("DELETE", target)
