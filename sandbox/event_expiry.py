"""
Events go an hour after they were last written, as the leases do that etcd keeps them under.

Follows: kube-apiserver --event-ttl, whose default this is; apiserver pkg/storage/etcd3/lease_manager.go.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final, NamedTuple

from handloop.sandbox.cluster.controllers import Step, View, Write
from handloop.sandbox.requests.conversion import EVENTS
from handloop.sandbox.storage.stored import Change, ChangeType
from handloop.sandbox.wire.resource import GroupResource
from handloop.sandbox.wire.status import Status

TTL_SECONDS: Final = 3600.0


class _Lease(NamedTuple):
    """What one write leaves: the event goes at a time, unless there is a later version of it."""

    expires: float
    namespace: str
    name: str
    version: int


class EventExpiry:
    """
    Deletes events that nobody has written for an hour; watches see them go.

    State: _leases, oldest first, has one for every write of the last hour.
    """

    name = "kube-apiserver"
    interests: frozenset[GroupResource] | None = frozenset({EVENTS})

    def __init__(self) -> None:
        self._leases: deque[_Lease] = deque()

    def committed(self, changes: Sequence[Change], now: float) -> None:
        """Give what was written its lease; not at the next step, which may be later."""
        for change in changes:
            if change.group_resource == EVENTS and change.type is not ChangeType.DELETED:
                self._leases.append(_Lease(now + TTL_SECONDS, change.namespace, change.name, change.rv))

    def step(self, view: View, changes: Sequence[Change], now: float) -> Step:
        """Delete what is due."""
        del changes  # their leases began when they were committed
        writes: list[Write] = []
        while self._leases and self._leases[0].expires <= now:
            writes += _end(view, self._leases.popleft())
        return Step(writes, self._leases[0].expires if self._leases else None)

    def refused(self, write: Write, status: Status, now: float) -> None:
        """Nothing: who changed the event meanwhile has renewed its lease."""


def _end(view: View, lease: _Lease) -> list[Write]:
    stored = view.state.stored(EVENTS, lease.namespace, lease.name)
    if stored is None or stored.rv != lease.version:
        return []
    metadata = stored.object["metadata"]
    return [
        Write(
            verb="delete",
            group_resource=EVENTS,
            namespace=lease.namespace,
            name=lease.name,
            uid=metadata["uid"],
            resource_version=metadata["resourceVersion"],
        )
    ]
