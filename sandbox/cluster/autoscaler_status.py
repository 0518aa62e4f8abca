"""
The status of a HorizontalPodAutoscaler while it is worked out.

Follows: kubernetes pkg/controller/podautoscaler/horizontal.go (setStatus, setCondition).
"""

from __future__ import annotations

from typing import Any

from handloop.apis.time import format_time
from handloop.sandbox.storage.stored import Object

ABLE = "AbleToScale"
ACTIVE = "ScalingActive"
LIMITED = "ScalingLimited"


class AutoscalerStatus:
    """A copy of an HPA's status to change; conditions keep their order and the time of their last turn."""

    def __init__(self, autoscaler: Object, now: float) -> None:
        self._now = now
        self._before = _without_empty(autoscaler.get("status") or {})
        self._status = dict(self._before)
        self._conditions = [dict(entry) for entry in self._before.get("conditions") or ()]

    def say(self, kind: str, reason: str, message: str, *, holds: bool) -> None:
        """Set a condition."""
        entry = next((each for each in self._conditions if each["type"] == kind), None)
        if entry is None:
            entry = {"type": kind}
            self._conditions.append(entry)
        if entry.get("status") != str(holds):
            entry["lastTransitionTime"] = format_time(self._now)
        entry |= {"status": str(holds), "reason": reason, "message": message}

    def count(
        self, *, current: int, desired: int | None, metrics: list[dict[str, Any]] | None, scaled: bool = False
    ) -> None:
        """Set what was found; desired None = as before."""
        self._status["currentReplicas"] = current
        if desired is not None:
            self._status["desiredReplicas"] = desired
        self._status["currentMetrics"] = metrics
        if scaled:
            self._status["lastScaleTime"] = format_time(self._now)

    def changed(self) -> dict[str, Any] | None:
        """The status to write; None when it is the one there is."""
        status = {"desiredReplicas": 0, **_without_empty(self._status), "conditions": self._conditions}
        return None if _without_empty(status) == self._before else status


def _without_empty(status: dict[str, Any]) -> dict[str, Any]:
    return {field: value for field, value in status.items() if value}
