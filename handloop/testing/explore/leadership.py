"""Which process of the operator holds the Lease, and for how long it may write: as the server has it."""

from __future__ import annotations

import json
from typing import Any, Final, Protocol

from handloop.client.config import ClientConfig
from handloop.client.http.response import Response
from handloop.client.transport import ForwardingTransport, Transport
from handloop.controller.runtime.election.durations import RENEW_DEADLINE_SECONDS
from handloop.controller.runtime.election.election import LeaseTerms
from handloop.testing.explore.cluster import VirtualCluster
from handloop.testing.explore.played import Journal

TERMS: Final = LeaseTerms(namespace="default", name="operator")
LEASE: Final = f"/apis/coordination.k8s.io/v1/namespaces/{TERMS.namespace}/leases/{TERMS.name}"
NOWHERE: Final = ClientConfig(host="https://virtual")
"""For an Election that has a transport."""


class Leadership:
    """
    The terms of the leaders of one run.

    State: _holder, the number of the process that took the Lease last, 0 = it was given back; _renewed_at,
    when each process sent its last renewal that the server has taken.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._holder = 0
        self._renewed_at: dict[int, float] = {}

    def renewed(self, process: int, at: float, *, holds: bool) -> None:
        """The server has taken a process's write of the Lease. Args: holds = the process is its holder."""
        self._renewed_at[process] = at
        holder = process if holds else 0
        if holder != self._holder:
            words = "takes the Lease" if holds else "gives the Lease back"
            self._journal.tell(f"process {process}", f"process {process} {words}")
        self._holder = holder

    def objection(self, process: int) -> str:
        """Why a process must not write, "" = it leads."""
        if self._holder not in (0, process):
            return f"process {self._holder} holds the Lease"
        if process not in self._renewed_at:
            return "it has never held the Lease"
        age = self._journal.threads.now - self._renewed_at[process]
        return f"its Lease was renewed {age:.1f} s ago" if age > RENEW_DEADLINE_SECONDS else ""


class Candidate(Protocol):
    """A process that would lead; see Process."""

    number: int
    cluster: VirtualCluster
    journal: Journal

    def check_alive(self) -> None:
        """Raises: ConnectionBroken after its end."""


class LeaseTransport(ForwardingTransport):
    """
    A process's own connections for the Lease.

    State: _found, the last answer to a GET, and to which, at which version of the server: a candidate looks
    twice a second, and mostly nothing has changed.
    """

    def __init__(self, transport: Transport, process: Candidate, leadership: Leadership) -> None:
        super().__init__(transport)
        self._process = process
        self._leadership = leadership
        self._found: tuple[object, Response] | None = None

    def request(self, method: str, path: str, *, body: bytes | None = None, **options: Any) -> Response:
        """One request."""
        self._process.check_alive()
        at, cluster = self._process.journal.threads.now, self._process.cluster
        if method == "GET" and not cluster.sandbox.faults.list():
            asked = (path, options.get("query"), cluster.version)
            if self._found is None or self._found[0] != asked:
                self._found = (asked, super().request(method, path, **options))
            return self._found[1]
        answer = super().request(method, path, body=body, **options)
        if body is not None and path.startswith(LEASE.rpartition("/")[0]) and answer.status < 300:  # noqa: PLR2004
            holds = bool(json.loads(body)["spec"].get("holderIdentity"))
            self._leadership.renewed(self._process.number, at, holds=holds)
        return answer
