"""
The HorizontalPodAutoscaler controller: every 15 s it compares load and size, and resizes its target.

Follows: kubernetes pkg/controller/podautoscaler/horizontal.go. Differs: it never scales to zero.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from handloop.apis.labels import Requirement
from handloop.apis.meta import format_time
from handloop.sandbox.cluster import autoscaler_metrics, scale_target, scaling_bounds
from handloop.sandbox.cluster.autoscaler_metrics import Findings, Workload
from handloop.sandbox.cluster.cluster_controller import Pace, Step, View, Write
from handloop.sandbox.cluster.dirty_keys import DirtyKeys
from handloop.sandbox.cluster.events import ComponentEventRecorder
from handloop.sandbox.cluster.label_indexes import LabelIndex, SelectorIndex, equalities
from handloop.sandbox.cluster.scale_target import NoScaleError, ScaleTarget
from handloop.sandbox.cluster.scaling_bounds import Scaling, ScalingHistory
from handloop.sandbox.cluster.workloads import PODS
from handloop.sandbox.storage.stored import Change, ChangeType, Object
from handloop.sandbox.wire import label_selector
from handloop.sandbox.wire.resource import GroupResource
from handloop.sandbox.wire.status import Status, StatusError

ABLE = "AbleToScale"
ACTIVE = "ScalingActive"
LIMITED = "ScalingLimited"


class AutoscalerStatus:
    """A copy of an HPA's status to change. Conditions keep their order and the time of their last change."""

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
        """Set replicas and metrics; desired None = as before."""
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


AUTOSCALERS = GroupResource("autoscaling", "horizontalpodautoscalers")

_SYNC_SECONDS = 15.0

_Key = tuple[str, str]


class _SelectorError(Exception):
    """The pods of a target are not known. active is the reason and text of the condition."""

    def __init__(self, event_reason: str, message: str, active: tuple[str, str]) -> None:
        super().__init__(message)
        self.event_reason = event_reason
        self.active = active


@dataclass(slots=True)
class _Look:
    """One look at an autoscaler. It ends only when the write that resizes its target has been answered."""

    autoscaler: Object
    status: AutoscalerStatus
    target: ScaleTarget
    desired: int
    why: str = ""
    findings: Findings | None = None
    refusal: str = ""

    @property
    def statuses(self) -> list[dict[str, object]] | None:
        """What the metrics showed; None when they were not asked."""
        return self.findings.statuses if self.findings else None


class AutoscalerController:
    """
    Looks at every HorizontalPodAutoscaler each 15 s.

    State: _dirty has the (namespace, name) of autoscalers to look at. _histories has what each recommended
    and did. _resizing has the looks whose write is under way; they end in the next step. _selectors has the
    selector of each target.
    """

    name = "kube-controller-manager"
    interests: frozenset[GroupResource] | None = frozenset({AUTOSCALERS, PODS})

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._dirty: DirtyKeys[_Key] = DirtyKeys()
        self._pods = LabelIndex()
        self._selectors = SelectorIndex()
        self._histories: dict[_Key, ScalingHistory] = {}
        self._resizing: dict[_Key, _Look] = {}
        self._recorder = ComponentEventRecorder("horizontal-pod-autoscaler")

    def step(self, view: View, changes: Sequence[Change], now: float) -> Step:
        """Look at every autoscaler that is due."""
        for change in changes:
            self._observe(change, now)
        writes: list[Write] = []
        for key in self._dirty.take(now):
            writes += self._turn(view, key, now)
        return Step(writes, self._dirty.next_wake())

    def refused(self, write: Write, status: Status, now: float) -> None:
        """Note that a target may not be resized. Other refused writes wait for the next look."""
        del now
        if write.subresource != "scale":
            return
        for look in self._resizing.values():
            metadata = look.target.object["metadata"]
            place = (look.target.resource.group_resource, metadata["namespace"], metadata["name"])
            if place == (write.group_resource, write.namespace, write.name):
                look.refusal = status["message"]

    def _observe(self, change: Change, now: float) -> None:
        if change.group_resource == PODS:
            self._pods.observe(change)
            return
        key = (change.namespace, change.name)
        if change.type is ChangeType.DELETED:
            self._dirty.drop(key)
            self._selectors.drop(key)
            self._histories.pop(key, None)
            self._resizing.pop(key, None)
        else:
            self._dirty.mark(key, now + self._pace.seconds(_SYNC_SECONDS))

    def _turn(self, view: View, key: _Key, now: float) -> Iterator[Write]:
        autoscaler = view.state.get(AUTOSCALERS, *key)
        if autoscaler is None:
            return
        self._dirty.mark(key, now + self._pace.seconds(_SYNC_SECONDS))
        look = self._resizing.pop(key, None)
        if look is not None:
            yield from self._conclude(view, look, now)
        else:
            yield from self._sync(view, key, autoscaler, now)

    def _sync(self, view: View, key: _Key, autoscaler: Object, now: float) -> Iterator[Write]:
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
        if key not in self._histories:
            self._histories[key] = ScalingHistory()
            self._histories[key].recommend(target.replicas, now, self._pace)
        look = _Look(autoscaler, status, target, target.replicas)
        yield from self._decide(view, key, look, now)

    def _decide(self, view: View, key: _Key, look: _Look, now: float) -> Iterator[Write]:
        scaling = Scaling(look.autoscaler["spec"], look.target.replicas, 0, now, self._pace)
        if scaling.current == 0:
            message = "scaling is disabled since the replica count of the target is zero"
            look.status.say(ACTIVE, "ScalingDisabled", message, holds=False)
        elif scaling.current > scaling.most:
            look.desired, look.why = scaling.most, "Current number of replicas above Spec.MaxReplicas"
        elif scaling.current < scaling.least:
            look.desired, look.why = scaling.least, "Current number of replicas below Spec.MinReplicas"
        elif not (yield from self._measure(view, key, look, scaling)):
            return
        if look.desired == scaling.current:
            look.status.count(current=scaling.current, desired=scaling.current, metrics=look.statuses)
            yield from _written(look.autoscaler, look.status)
            return
        self._resizing[key] = look
        self._dirty.mark(key, now)
        yield scale_target.resized(look.target, look.desired)

    def _measure(self, view: View, key: _Key, look: _Look, scaling: Scaling) -> Generator[Write, None, bool]:
        """Ask the metrics. Returns: whether they say what to do."""
        now = scaling.now
        try:
            pods = self._pods_of(view, key, look.target)
        except _SelectorError as error:
            yield self._tell(view, look.autoscaler, error.event_reason, str(error), now)
            look.status.say(ACTIVE, *error.active, holds=False)
            yield from self._give_up(view, look, str(error), now)
            return False
        workload = Workload(look.autoscaler, look.target, pods, now, self._pace)
        findings = look.findings = autoscaler_metrics.evaluate(view, workload)
        for problem in findings.errors:
            yield self._tell(view, look.autoscaler, problem.reason, str(problem), now)
        if findings.replicas is None:
            first = findings.errors[0]
            message = f"the HPA was unable to compute the replica count: {first}"
            look.status.say(ACTIVE, first.reason, message, holds=False)
            yield from self._give_up(view, look, autoscaler_metrics.quoted(findings), now)
            return False
        message = f"the HPA was able to successfully calculate a replica count from {findings.metric}"
        look.status.say(ACTIVE, "ValidMetricFound", message, holds=True)
        self._bound(key, look, scaling, findings.replicas, findings.metric)
        return True

    def _bound(self, key: _Key, look: _Look, scaling: Scaling, wanted: int, metric: str) -> None:
        if wanted != scaling.current:
            look.why = f"{metric} above target" if wanted > scaling.current else "All metrics below target"
        found = scaling_bounds.bounded(scaling._replace(wanted=wanted), self._histories[key])
        look.desired = found.replicas
        look.status.say(ABLE, found.able.reason, found.able.message, holds=found.able.holds)
        look.status.say(LIMITED, found.limited.reason, found.limited.message, holds=found.limited.holds)

    def _give_up(self, view: View, look: _Look, message: str, now: float) -> Iterator[Write]:
        look.status.count(current=look.target.replicas, desired=None, metrics=look.statuses)
        yield from _written(look.autoscaler, look.status)
        yield self._tell(view, look.autoscaler, "FailedComputeMetricsReplicas", message, now)

    def _conclude(self, view: View, look: _Look, now: float) -> Iterator[Write]:
        """Report how resizing went."""
        size, before = f"New size: {look.desired}; reason: {look.why}", look.target.replicas
        if look.refusal:
            text = f"{size}; error: {look.refusal}"
            yield self._tell(view, look.autoscaler, "FailedRescale", text, now)
            message = f"the HPA controller was unable to update the target scale: {look.refusal}"
            look.status.say(ABLE, "FailedUpdateScale", message, holds=False)
            look.status.count(current=before, desired=None, metrics=look.statuses)
        else:
            message = f"the HPA controller was able to update the target scale to {look.desired}"
            look.status.say(ABLE, "SucceededRescale", message, holds=True)
            yield self._tell(view, look.autoscaler, "SuccessfulRescale", size, now)
            metadata = look.autoscaler["metadata"]
            history = self._histories[metadata["namespace"], metadata["name"]]
            history.scaled(before, look.desired, now, self._pace)
            look.status.count(current=before, desired=look.desired, metrics=look.statuses, scaled=True)
        yield from _written(look.autoscaler, look.status)

    def _pods_of(self, view: View, key: _Key, target: ScaleTarget) -> list[Object]:
        """The pods of a target. Raises: _SelectorError."""
        if not target.selector:
            told = ("InvalidSelector", "the HPA target's scale is missing a selector")
            raise _SelectorError("SelectorRequired", "selector is required", told)
        try:
            selector = label_selector.parse(target.selector)
        except StatusError as error:
            text = f"couldn't convert selector into a corresponding internal selector object: {error}"
            raise _SelectorError("InvalidSelector", text, ("InvalidSelector", text)) from error
        self._selectors.put(key, selector)
        pods = list(self._matching(view, key[0], selector))
        selecting = self._selectors.selecting(key[0], (pod["metadata"].get("labels") or {} for pod in pods))
        if len(selecting) > 1:
            keys = " ".join("/".join(each) for each in selecting)
            text = f"pods by selector {target.selector} are controlled by multiple HPAs: [{keys}]"
            raise _SelectorError("AmbiguousSelector", text, ("AmbiguousSelector", text))
        return pods

    def _matching(self, view: View, namespace: str, selector: tuple[Requirement, ...]) -> Iterator[Object]:
        required = equalities(selector)
        named = (view.state.get(PODS, namespace, name) for name in self._pods.matching(namespace, required))
        for pod in named if required else view.state.list(PODS, namespace):
            labels = pod["metadata"].get("labels") or {} if pod else {}
            if pod is not None and all(part.matches(labels) for part in selector):
                yield pod

    def _tell(self, view: View, about: Object, reason: str, message: str, now: float) -> Write:
        kind = "Normal" if reason == "SuccessfulRescale" else "Warning"
        return self._recorder.event(view, about, kind=kind, reason=reason, message=message, now=now)


def _written(autoscaler: Object, status: AutoscalerStatus) -> Iterator[Write]:
    changed = status.changed()
    if changed is not None:
        yield Write.of("update", AUTOSCALERS, {**autoscaler, "status": changed}, subresource="status")
