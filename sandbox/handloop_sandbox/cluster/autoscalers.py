"""
The HorizontalPodAutoscaler controller. Every 15 s, it scales each target to within its autoscaler's bounds.

As in a cluster without a metrics server, it has no measurements. It leaves a size within the bounds
unchanged, and reports in the condition and in Events that no metrics are available.
Follows: kubernetes pkg/controller/podautoscaler/horizontal.go. Differs: it never scales to zero, and does not
notice when several autoscalers select the same pods.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from handloop_sandbox.cluster import autoscaler_metrics, scale_target
from handloop_sandbox.cluster.cluster_controller import KeyedController, Pace, View, Write
from handloop_sandbox.cluster.events import ComponentEventRecorder
from handloop_sandbox.cluster.scale_target import NoScaleError, ScaleTarget
from handloop_sandbox.grammar.times import format_time
from handloop_sandbox.storage.stored import Change, ChangeType, Object
from handloop_sandbox.wire import label_selector
from handloop_sandbox.wire.resource import GroupResource
from handloop_sandbox.wire.status import Status, StatusError

ABLE = "AbleToScale"
ACTIVE = "ScalingActive"


class AutoscalerStatus:
    """A mutable copy of an HPA's status. Conditions keep their order and their last transition times."""

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
        """Set the replica counts and metrics. If desired is None, keep the old desiredReplicas."""
        self._status["currentReplicas"] = current
        if desired is not None:
            self._status["desiredReplicas"] = desired
        self._status["currentMetrics"] = metrics
        if scaled:
            self._status["lastScaleTime"] = format_time(self._now)

    def changed(self) -> dict[str, Any] | None:
        """Return the new status, or None if it is unchanged."""
        status = {"desiredReplicas": 0, **_without_empty(self._status), "conditions": self._conditions}
        return None if _without_empty(status) == self._before else status


def _without_empty(status: dict[str, Any]) -> dict[str, Any]:
    return {field: value for field, value in status.items() if value}


AUTOSCALERS = GroupResource("autoscaling", "horizontalpodautoscalers")

_SYNC_SECONDS = 15.0

_Key = tuple[str, str]


@dataclass(slots=True)
class _Look:
    """One check of an autoscaler. It ends when the result of the write that resizes the target is known."""

    autoscaler: Object
    status: AutoscalerStatus
    target: ScaleTarget
    desired: int = 0
    why: str = ""
    refusal: str = ""


class AutoscalerController(KeyedController[_Key]):
    """
    Checks each HorizontalPodAutoscaler every 15 s.

    State: _resizing holds the checks that have written a new size. The next step reports the result of
    each write.
    """

    interests: frozenset[GroupResource] | None = frozenset({AUTOSCALERS})

    def __init__(self, pace: Pace) -> None:
        super().__init__(pace)
        self._resizing: dict[_Key, _Look] = {}
        self._recorder = ComponentEventRecorder("horizontal-pod-autoscaler")

    def refused(self, write: Write, status: Status, now: float) -> None:
        """Record that a target could not be resized. After other refusals, the next check writes again."""
        del now
        if write.subresource != "scale":
            return
        for look in self._resizing.values():
            metadata = look.target.object["metadata"]
            place = (look.target.resource.group_resource, metadata["namespace"], metadata["name"])
            if place == (write.group_resource, write.namespace, write.name):
                look.refusal = status["message"]

    def _observe(self, view: View, change: Change, now: float) -> None:
        del view
        key = (change.namespace, change.name)
        if change.type is ChangeType.DELETED:
            self._dirty.drop(key)
            self._resizing.pop(key, None)
        else:
            self._dirty.mark(key, now + self._pace.seconds(_SYNC_SECONDS))

    def _sync(self, view: View, key: _Key, now: float) -> Iterator[Write]:
        autoscaler = view.state.get(AUTOSCALERS, *key)
        if autoscaler is None:
            return
        self._dirty.mark(key, now + self._pace.seconds(_SYNC_SECONDS))
        look = self._resizing.pop(key, None)
        if look is not None:
            yield from self._conclude(view, look, now)
        else:
            yield from self._compared(view, key, autoscaler, now)

    def _compared(self, view: View, key: _Key, autoscaler: Object, now: float) -> Iterator[Write]:
        status = AutoscalerStatus(autoscaler, now)
        try:
            target = scale_target.find(view, key[0], autoscaler["spec"]["scaleTargetRef"])
        except NoScaleError as error:
            yield self._tell(view, autoscaler, "FailedGetScale", str(error), now)
            message = f"the HPA controller was unable to get the target's current scale: {error}"
            status.say(ABLE, "FailedGetScale", message, holds=False)
            yield from _written(autoscaler, status)
            return
        message = "the HPA controller was able to get the target's current scale"
        status.say(ABLE, "SucceededGetScale", message, holds=True)
        yield from self._decide(view, key, _Look(autoscaler, status, target), now)

    def _decide(self, view: View, key: _Key, look: _Look, now: float) -> Iterator[Write]:
        spec, current = look.autoscaler["spec"], look.target.replicas
        least, most = spec.get("minReplicas") or 1, spec["maxReplicas"]
        if current == 0:
            message = "scaling is disabled since the replica count of the target is zero"
            look.status.say(ACTIVE, "ScalingDisabled", message, holds=False)
            look.status.count(current=0, desired=0, metrics=None)
            yield from _written(look.autoscaler, look.status)
        elif least <= current <= most:
            yield from self._miss_metrics(view, look, now)
        else:
            bound, look.desired = ("above Spec.Max", most) if current > most else ("below Spec.Min", least)
            look.why = f"Current number of replicas {bound}Replicas"
            self._resizing[key] = look
            self._dirty.mark(key, now)
            yield scale_target.resized(look.target, look.desired)

    def _miss_metrics(self, view: View, look: _Look, now: float) -> Iterator[Write]:
        metrics = None
        problem = _selector_problem(look.target.selector)
        if problem is not None:
            reason, message, condition = problem
            yield self._tell(view, look.autoscaler, reason, message, now)
            look.status.say(ACTIVE, "InvalidSelector", condition, holds=False)
        else:
            namespace = look.autoscaler["metadata"]["namespace"]
            specs = look.autoscaler["spec"]["metrics"]
            failures = [autoscaler_metrics.failure(namespace, spec) for spec in specs]
            for failure in failures:
                yield self._tell(view, look.autoscaler, failure.reason, failure.message, now)
            first, count = failures[0], len(failures)
            message = f"invalid metrics ({count} invalid out of {count}), first error is: {first.outer}"
            condition = f"the HPA was unable to compute the replica count: {first.message}"
            look.status.say(ACTIVE, first.reason, condition, holds=False)
            metrics = [{"type": ""}] * count
        look.status.count(current=look.target.replicas, desired=None, metrics=metrics)
        yield from _written(look.autoscaler, look.status)
        yield self._tell(view, look.autoscaler, "FailedComputeMetricsReplicas", message, now)

    def _conclude(self, view: View, look: _Look, now: float) -> Iterator[Write]:
        """Report the result of resizing."""
        size, before = f"New size: {look.desired}; reason: {look.why}", look.target.replicas
        if look.refusal:
            text = f"{size}; error: {look.refusal}"
            yield self._tell(view, look.autoscaler, "FailedRescale", text, now)
            message = f"the HPA controller was unable to update the target scale: {look.refusal}"
            look.status.say(ABLE, "FailedUpdateScale", message, holds=False)
            look.status.count(current=before, desired=None, metrics=None)
        else:
            message = f"the HPA controller was able to update the target scale to {look.desired}"
            look.status.say(ABLE, "SucceededRescale", message, holds=True)
            yield self._tell(view, look.autoscaler, "SuccessfulRescale", size, now)
            look.status.count(current=before, desired=look.desired, metrics=None, scaled=True)
        yield from _written(look.autoscaler, look.status)

    def _tell(self, view: View, about: Object, reason: str, message: str, now: float) -> Write:
        kind = "Normal" if reason == "SuccessfulRescale" else "Warning"
        return self._recorder.event(view, about, kind=kind, reason=reason, message=message, now=now)


def _selector_problem(selector: str) -> tuple[str, str, str] | None:
    """
    Return why the target's pods cannot be selected: the Event's reason and message, and the condition's
    message.
    """
    if not selector:
        return "SelectorRequired", "selector is required", "the HPA target's scale is missing a selector"
    try:
        label_selector.parse(selector)
    except StatusError as error:
        text = f"couldn't convert selector into a corresponding internal selector object: {error}"
        return "InvalidSelector", text, text
    return None


def _written(autoscaler: Object, status: AutoscalerStatus) -> Iterator[Write]:
    changed = status.changed()
    if changed is not None:
        yield Write.of("update", AUTOSCALERS, {**autoscaler, "status": changed}, subresource="status")
