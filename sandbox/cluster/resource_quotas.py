"""
The ResourceQuota controller: what is used, in the status.

Follows: kubernetes pkg/controller/resourcequota.
"""

from __future__ import annotations

from collections.abc import Sequence

from handloop.sandbox.cluster.cluster_controller import Step, View, Write
from handloop.sandbox.cluster.dirty_keys import DirtyKeys
from handloop.sandbox.cluster.pace import Pace
from handloop.sandbox.cluster.quota_usage import QUOTAS, used
from handloop.sandbox.storage.stored import Change, ChangeType
from handloop.sandbox.wire.resource import GroupResource
from handloop.sandbox.wire.status import Status

_REACTION_SECONDS = 0.1
_Key = tuple[str, str]


class ResourceQuotaController:
    """
    Counts again when anything in a namespace with quotas came or went.

    State: _quotas has the names of the quotas of each namespace, _dirty (namespace, name) of what to look at.
    """

    name = "kube-controller-manager"
    interests: frozenset[GroupResource] | None = None  # a quota may count any collection

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._dirty: DirtyKeys[_Key] = DirtyKeys()
        self._quotas: dict[str, set[str]] = {}

    def step(self, view: View, changes: Sequence[Change], now: float) -> Step:
        """Count for every quota that is due."""
        due = now + self._pace.seconds(_REACTION_SECONDS)
        for change in changes:
            self._observe(change, due)
        writes: list[Write] = []
        for key in self._dirty.take(now):
            writes += self._sync(view, key)
        return Step(writes, self._dirty.next_wake())

    def refused(self, write: Write, status: Status, now: float) -> None:
        """The quota has gone or is another one: its changes tell."""

    def _observe(self, change: Change, due: float) -> None:
        namespace = change.namespace
        if change.group_resource == QUOTAS:
            names = self._quotas.setdefault(namespace, set())
            if change.type is ChangeType.DELETED:
                names.discard(change.name)
            else:
                names.add(change.name)
        # what was changed may have finished
        for name in self._quotas.get(namespace, ()):
            self._dirty.mark((namespace, name), due)

    @staticmethod
    def _sync(view: View, key: _Key) -> list[Write]:
        quota = view.state.get(QUOTAS, *key)
        if quota is None:
            return []
        counts = {name: str(count) for name, count in used(view.state, key[0], quota).items()}
        status = {"hard": (quota.get("spec") or {}).get("hard") or {}, "used": counts}
        if status == quota.get("status"):
            return []
        return [Write.of("update", QUOTAS, {**quota, "status": status}, subresource="status")]
