"""
The rows of kinds that run pods (Deployments, ReplicaSets, Jobs and so on), of autoscalers and of budgets.

Follows: kubernetes pkg/printers/internalversion/printers.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from handloop_sandbox.grammar.times import parse_time
from handloop_sandbox.kinds.autoscaler_versions import METRIC_MEMBERS
from handloop_sandbox.tables.cell import (
    NONE,
    UNKNOWN,
    UNSET,
    Object,
    age_of,
    containers_and_images,
    holds,
    is_deleting,
    labels_text,
    name_of,
    selector_cell,
)
from handloop_sandbox.wire import human, label_selector
from handloop_sandbox.wire.field_rules import part

MAX_METRICS = 2
_DAEMON_COUNTS = (
    "desiredNumberScheduled",
    "currentNumberScheduled",
    "numberReady",
    "updatedNumberScheduled",
    "numberAvailable",
)


def _template(obj: Object) -> tuple[str, str]:
    return containers_and_images(part(obj, "spec", "template", "spec"))


def _count(obj: Object, name: str) -> int:
    return int(part(obj, "status").get(name) or 0)


def deployment_cells(obj: Object, now: float) -> list[Any]:
    """Return the cells: name, ready, up-to-date, available, age, containers, images, selector."""
    spec = part(obj, "spec")
    ready = f"{_count(obj, 'readyReplicas')}/{spec.get('replicas') or 0}"
    counts = (_count(obj, "updatedReplicas"), _count(obj, "availableReplicas"))
    return [
        name_of(obj),
        ready,
        *counts,
        age_of(obj, now),
        *_template(obj),
        label_selector.text(spec.get("selector")),
    ]


def replica_set_cells(obj: Object, now: float) -> list[Any]:
    """Return the cells: name, desired, current, ready, age, containers, images, selector."""
    spec = part(obj, "spec")
    counts = (int(spec.get("replicas") or 0), _count(obj, "replicas"), _count(obj, "readyReplicas"))
    return [name_of(obj), *counts, age_of(obj, now), *_template(obj), selector_cell(spec.get("selector"))]


def controller_cells(obj: Object, now: float) -> list[Any]:
    """Return a ReplicationController's cells, the same as those of a ReplicaSet."""
    spec = part(obj, "spec")
    counts = (int(spec.get("replicas") or 0), _count(obj, "replicas"), _count(obj, "readyReplicas"))
    selector = labels_text(spec.get("selector") or {})
    return [name_of(obj), *counts, age_of(obj, now), *_template(obj), selector]


def daemon_set_cells(obj: Object, now: float) -> list[Any]:
    """
    Return the cells: name, desired, current, ready, up-to-date, available, node selector, age, containers,
    images and selector.
    """
    spec = part(obj, "spec")
    nodes = part(spec, "template", "spec").get("nodeSelector") or {}
    return [
        name_of(obj),
        *(_count(obj, name) for name in _DAEMON_COUNTS),
        labels_text(nodes),
        age_of(obj, now),
        *_template(obj),
        selector_cell(spec.get("selector")),
    ]


def cron_job_cells(obj: Object, now: float) -> list[Any]:
    """
    Return the cells: name, schedule, time zone, suspend, active, last schedule, age, containers, images and
    selector.
    """
    spec, status = part(obj, "spec"), part(obj, "status")
    job, last = part(spec, "jobTemplate", "spec"), status.get("lastScheduleTime")
    suspend = spec.get("suspend")
    return [
        name_of(obj),
        spec.get("schedule", ""),
        spec.get("timeZone") or NONE,
        UNSET if suspend is None else str(suspend),
        len(status.get("active") or ()),
        human.age(last, now) if last else NONE,
        age_of(obj, now),
        *containers_and_images(part(job, "template", "spec")),
        selector_cell(job.get("selector")),
    ]


def template_cells(obj: Object, now: float) -> list[Any]:
    """Return a PodTemplate's cells: name, containers, images, pod labels."""
    del now
    template = part(obj, "template")
    labels = labels_text(part(template, "metadata").get("labels") or {})
    return [name_of(obj), *containers_and_images(part(template, "spec")), labels]


def revision_cells(obj: Object, now: float) -> list[Any]:
    """Return a ControllerRevision's cells: name, controller, revision, age."""
    owners = part(obj, "metadata").get("ownerReferences") or ()
    owner: Object = next((entry for entry in owners if entry.get("controller")), {})
    group = owner.get("apiVersion", "").rpartition("/")[0]
    kind = f"{owner.get('kind', '').lower()}{'.' if group else ''}{group}"
    text = f"{kind}/{owner['name']}" if owner else NONE
    return [name_of(obj), text, obj.get("revision") or 0, age_of(obj, now)]


def stateful_set_cells(obj: Object, now: float) -> list[Any]:
    """Return the cells: name, ready, age, containers, images."""
    ready = f"{_count(obj, 'readyReplicas')}/{part(obj, 'spec').get('replicas') or 0}"
    return [name_of(obj), ready, age_of(obj, now), *_template(obj)]


def job_cells(obj: Object, now: float) -> list[Any]:
    """Return the cells: name, status, completions, duration, age, containers, images, selector."""
    selector = selector_cell(part(obj, "spec").get("selector"))
    cells = [name_of(obj), _job_status(obj), _completions(obj), _job_duration(part(obj, "status"), now)]
    return [*cells, age_of(obj, now), *_template(obj), selector]


def _job_status(obj: Object) -> str:
    conditions = part(obj, "status").get("conditions")
    if holds(conditions, "Complete"):
        return "Complete"
    if holds(conditions, "Failed"):
        return "Failed"
    if is_deleting(obj):
        return "Terminating"
    for kind in ("Suspended", "FailureTarget", "SuccessCriteriaMet"):
        if holds(conditions, kind):
            return kind
    return "Running"


def _completions(obj: Object) -> str:
    spec, succeeded = part(obj, "spec"), _count(obj, "succeeded")
    if spec.get("completions") is not None:
        return f"{succeeded}/{spec['completions']}"
    parallelism = spec.get("parallelism") or 0
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def _job_duration(status: Object, now: float) -> str:
    if not status.get("startTime"):
        return ""
    end = parse_time(status["completionTime"]) if status.get("completionTime") else now
    return human.human_duration(end - parse_time(status["startTime"]))


def disruption_budget_cells(obj: Object, now: float) -> list[Any]:
    """Return the cells: name, min available, max unavailable, allowed disruptions, age."""
    spec = part(obj, "spec")
    bounds = [str(spec.get(name, "N/A")) for name in ("minAvailable", "maxUnavailable")]
    return [name_of(obj), *bounds, _count(obj, "disruptionsAllowed"), age_of(obj, now)]


def scale_cells(obj: Object, now: float) -> list[Any]:
    """Return the cells of any object's Scale: name, desired, available, age."""
    counts = [int(part(obj, member).get("replicas") or 0) for member in ("spec", "status")]
    return [name_of(obj), *counts, age_of(obj, now)]


def autoscaler_cells(obj: Object, now: float) -> list[Any]:
    """Return the cells of a v1 or v2 object: name, reference, targets, min pods, max pods, replicas, age."""
    spec, status = part(obj, "spec"), part(obj, "status")
    target = part(spec, "scaleTargetRef")
    least = spec.get("minReplicas")
    return [
        name_of(obj),
        f"{target.get('kind', '')}/{target.get('name', '')}",
        _targets(*_metrics(spec, status)),
        UNSET if least is None else str(least),
        int(spec.get("maxReplicas") or 0),
        _count(obj, "currentReplicas"),
        age_of(obj, now),
    ]


def _metrics(spec: Object, status: Object) -> tuple[Sequence[Object], Sequence[Object]]:
    utilization = spec.get("targetCPUUtilizationPercentage")
    if utilization is None:
        return spec.get("metrics") or (), status.get("currentMetrics") or ()
    current = status.get("currentCPUUtilizationPercentage")
    resource = {"name": "cpu", "target": {"averageUtilization": utilization}}
    found = [] if current is None else [{"resource": {"current": {"averageUtilization": current}}}]
    return [{"type": "Resource", "resource": resource}], found


def _targets(specs: Sequence[Object], statuses: Sequence[Object]) -> str:
    if not specs:
        return NONE
    texts = [
        _metric(spec, statuses[index] if index < len(statuses) else {}) for index, spec in enumerate(specs)
    ]
    text = ", ".join(texts[:MAX_METRICS])
    return f"{text} + {len(texts) - MAX_METRICS} more..." if len(texts) > MAX_METRICS else text


def _metric(spec: Object, status: Object) -> str:
    member = METRIC_MEMBERS.get(spec.get("type", ""))
    if member is None:
        return "<unknown type>"
    target, current = part(spec, member, "target"), part(status, member, "current")
    if member in {"resource", "containerResource"}:
        return f"{part(spec, member).get('name', '')}: {_resource_metric(target, current)}"
    if member == "pods":
        return f"{_or_unknown(current.get('averageValue'))}/{target.get('averageValue', '')}"
    if target.get("averageValue") is not None:
        return f"{_or_unknown(current.get('averageValue'))}/{target['averageValue']} (avg)"
    return f"{_or_unknown(current.get('value'))}/{target.get('value', '')}"


def _resource_metric(target: Object, current: Object) -> str:
    if target.get("averageValue") is not None:
        return f"{_or_unknown(current.get('averageValue'))}/{target['averageValue']}"
    wanted = target.get("averageUtilization")
    found = current.get("averageUtilization")
    return f"{UNKNOWN if found is None else f'{found}%'}/{'<auto>' if wanted is None else f'{wanted}%'}"


def _or_unknown(value: Any) -> str:
    return UNKNOWN if value is None else str(value)
