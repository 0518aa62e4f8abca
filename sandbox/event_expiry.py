"""
Events go an hour after they were last written, as the leases do that etcd keeps them under.

Follows: kube-apiserver --event-ttl, whose default this is; apiserver pkg/storage/etcd3/lease_manager.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Final

from handloop.sandbox.cluster.cluster_controller import Step, View, Write
from handloop.sandbox.requests.conversion import EVENTS
from handloop.sandbox.storage.stored import Change, ChangeType
from handloop.sandbox.wire.resource import GroupResource
from handloop.sandbox.wire.status import Status

TTL_SECONDS: Final = 3600.0


class EventExpiry:
    """
    Deletes events that nobody has written for an hour; watches see them go.

    State: _leases is when each event goes, by namespace and name; the next one first.
    """

    name = "kube-apiserver"
    interests: frozenset[GroupResource] | None = frozenset({EVENTS})

    def __init__(self) -> None:
        self._leases: dict[tuple[str, str], float] = {}

    def committed(self, changes: Sequence[Change], now: float) -> None:
        """Give what was written its lease; not at the next step, which may be later."""
        for change in changes:
            if change.group_resource == EVENTS:
                self._leases.pop((change.namespace, change.name), None)
                if change.type is not ChangeType.DELETED:
                    self._leases[change.namespace, change.name] = now + TTL_SECONDS

    def step(self, view: View, changes: Sequence[Change], now: float) -> Step:
        """Delete what is due."""
        del changes  # their leases began when they were committed
        due = [event for event, _ in takewhile(lambda lease: lease[1] <= now, self._leases.items())]
        for event in due:
            del self._leases[event]
        writes = [_end(view, *event) for event in due]
        return Step(writes, next(iter(self._leases.values()), None))

    def refused(self, write: Write, status: Status, now: float) -> None:
        """Nothing: who changed the event meanwhile has renewed its lease."""


def _end(view: View, namespace: str, name: str) -> Write:
    event = view.state.get(EVENTS, namespace, name)
    assert event is not None  # a lease ends with its event
    metadata = event["metadata"]
    return Write(
        verb="delete",
        group_resource=EVENTS,
        namespace=namespace,
        name=name,
        uid=metadata["uid"],
        resource_version=metadata["resourceVersion"],
    )
