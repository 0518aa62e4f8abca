"""
Validation rules for Jobs and CronJobs, and for updates of Jobs.

Follows: kubernetes pkg/apis/batch/validation/validation.go.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

from handloop_sandbox.cluster.cron_schedule import is_zone, parsed
from handloop_sandbox.rules.pod_rules import template
from handloop_sandbox.wire.causes import invalid_value, not_supported, required
from handloop_sandbox.wire.field_rules import (
    MISMATCH,
    Object,
    immutable,
    is_valid_selector,
    label_selector,
    nonnegative,
    one_of,
    part,
    sorted_map,
)
from handloop_sandbox.wire.label_selector import matches
from handloop_sandbox.wire.status import Cause

_JOB_IMMUTABLE: Final = (
    "completionMode",
    "podFailurePolicy",
    "backoffLimitPerIndex",
    "managedBy",
    "successPolicy",
)


_INDEX: Final = re.compile(r"[+-]?[0-9]{1,18}")
_ENDS: Final = 2
_NOT_INDEXED: Final = "cannot set non-empty completedIndexes when non-indexed completion mode"
_TOO_MANY_PARTS: Final = (
    "violates the requirement that an index interval can have at most two parts separated by '-'"
)
MAX_CRON_JOB_NAME: Final = 52
_EXPLICIT: Final = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"


def job(new: Object, old: Object | None, subresource: str) -> list[Cause]:
    """Return the validation errors for a Job. Only a few fields of its status are checked."""
    if subresource == "status":
        status = part(new, "status")
        causes = nonnegative("status", status, "active", "succeeded", "failed", "ready")
        text, before = (part(each or {}, "status").get("completedIndexes", "") for each in (new, old))
        return causes + (_indexes(part(new, "spec"), text) if text != before else [])
    spec = part(new, "spec")
    causes = _selecting_spec(spec)
    if old is None:
        return _generated(new) + causes
    # Kubernetes validates the spec of a changed Job twice.
    return _generated(new) + causes + causes + _job_update(spec, part(old, "spec"))


def _indexes(spec: Object, text: str) -> list[Cause]:
    """Return the errors for a status.completedIndexes. The Job controller must be able to parse it."""
    path, causes = "status.completedIndexes", []
    wrong = _wrong_indexes(text, spec["completions"]) if text and "completions" in spec else ""
    if wrong:
        causes.append(invalid_value(path, text, f"error parsing completedIndexes: {wrong}"))
    if text and spec.get("completionMode") != "Indexed":
        causes.append(invalid_value(path, text, _NOT_INDEXED))
    return causes


def _wrong_indexes(text: str, completions: int) -> str:
    """Return what is wrong with a text such as `0-2,5`, or "" if it is valid."""
    last = -1
    for interval in text.split(","):
        ends = interval.split("-")
        if len(ends) > _ENDS:
            return f'the fragment "{interval}" {_TOO_MANY_PARTS}'
        for end in ends:
            if not _INDEX.fullmatch(end):
                return f'cannot convert string to integer for index: "{end}"'
            if int(end) >= completions:
                return f'too large index: "{end}"'
        numbers = [int(end) for end in ends]
        # Kubernetes compares the ends of an interval before it compares intervals.
        for before, after in (*pairwise(numbers), (last, numbers[0])):
            if before >= after:
                return f"non-increasing order, previous: {before}, current: {after}"
        last = numbers[-1]
    return ""


def _selecting_spec(spec: Object) -> list[Cause]:
    causes, selector = job_spec("spec", spec), spec.get("selector")
    if selector is None:
        causes.append(required("spec.selector"))
    else:
        causes += label_selector("spec.selector", selector)
    found_labels = part(spec, "template", "metadata", "labels")
    if is_valid_selector(selector) and not matches(selector, found_labels):
        causes.append(invalid_value("spec.template.metadata.labels", sorted_map(found_labels), MISMATCH))
    return causes


def _generated(job: Object) -> list[Cause]:
    """Return the errors for the labels that a server generates if a Job does not set its own selector."""
    spec, metadata = part(job, "spec"), part(job, "metadata")
    uid, name = metadata.get("uid", ""), metadata.get("name", "")
    if spec.get("manualSelector") or spec.get("selector") is None or not uid:
        return []
    wanted = {
        "controller-uid": uid,
        "job-name": name,
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": name,
    }
    found, causes = part(spec, "template", "metadata", "labels"), []
    for key, value in wanted.items():
        path, text = f"spec.template.metadata.labels[{key}]", f"must be '{value}'"
        if key not in found:
            causes.append(required(path, text))
        elif found[key] != value:
            causes.append(invalid_value(path, sorted_map(found), text))
    if is_valid_selector(spec["selector"]) and not matches(spec["selector"], wanted):
        causes.append(invalid_value("spec.selector", spec["selector"], "`selector` not auto-generated"))
    return causes


def _job_update(spec: Object, before: Object) -> list[Cause]:
    causes = _completions(spec, before)
    causes += immutable("spec.selector", spec.get("selector"), before.get("selector"))
    if not before.get("suspend"):
        causes += immutable("spec.template", spec.get("template"), before.get("template"))
    for name in _JOB_IMMUTABLE:
        causes += immutable(f"spec.{name}", spec.get(name), before.get(name))
    return causes


def _completions(spec: Object, before: Object) -> list[Cause]:
    """Return the errors for changed completions. An Indexed Job may change them together with parallelism."""
    found, path = spec.get("completions"), "spec.completions"
    if spec.get("completionMode") != "Indexed":
        return immutable(path, found, before.get("completions"))
    if found in (None, before.get("completions"), spec.get("parallelism")):
        return []
    return [invalid_value(path, found, "can only be modified in tandem with spec.parallelism")]


def job_spec(path: str, spec: Object) -> list[Cause]:
    """Return the validation errors for the spec of a Job, or of a CronJob's job template."""
    members = (
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
    )
    causes = nonnegative(path, spec, *members, "backoffLimitPerIndex", "maxFailedIndexes")
    mode = spec.get("completionMode", "NonIndexed")
    if mode not in {"NonIndexed", "Indexed"}:
        causes.append(not_supported(f"{path}.completionMode", mode, ("NonIndexed", "Indexed")))
    if mode == "Indexed" and spec.get("completions") is None:
        causes.append(required(f"{path}.completions", "when completion mode is Indexed"))
    if mode == "NonIndexed":
        for name in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if spec.get(name) is not None:
                causes.append(invalid_value(f"{path}.{name}", spec[name], "requires indexed completion mode"))
    causes += _replacement(f"{path}.podReplacementPolicy", spec)
    causes += template(f"{path}.template", part(spec, "template"))
    policy = part(spec, "template", "spec").get("restartPolicy", "")
    where = f"{path}.template.spec.restartPolicy"
    if policy in {"", "Always"}:
        return [*causes, required(where, 'valid values: "OnFailure", "Never"')]
    return causes + one_of(where, policy, ("OnFailure", "Never"))


def _replacement(path: str, spec: Object) -> list[Cause]:
    policy = spec.get("podReplacementPolicy")
    allowed = ("Failed", "TerminatingOrFailed") if spec.get("podFailurePolicy") is None else ("Failed",)
    return [] if policy is None or policy in allowed else [not_supported(path, policy, allowed)]


def cron_job(new: Object, old: Object | None, subresource: str) -> list[Cause]:
    """Return the validation errors for a CronJob."""
    del old
    if subresource == "status":
        return []
    spec = part(new, "spec")
    causes = _schedule(spec.get("schedule", "")) + _zone(spec.get("timeZone"))
    causes += nonnegative("spec", spec, "startingDeadlineSeconds")
    policies = ("Allow", "Forbid", "Replace")
    causes += one_of("spec.concurrencyPolicy", spec.get("concurrencyPolicy"), policies)
    causes += job_spec("spec.jobTemplate.spec", part(spec, "jobTemplate", "spec"))
    return causes + nonnegative("spec", spec, "successfulJobsHistoryLimit", "failedJobsHistoryLimit")


def _schedule(schedule: str) -> list[Cause]:
    if not schedule:
        return [required("spec.schedule")]
    causes: list[Cause] = []
    try:
        parsed(schedule, None)
    except ValueError as error:
        causes.append(invalid_value("spec.schedule", schedule, str(error)))
    if "TZ" in schedule:
        text = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        causes.append(invalid_value("spec.schedule", schedule, text))
    return causes


def _zone(zone: str | None) -> list[Cause]:
    if zone is None:
        return []
    if not zone:
        return [invalid_value("spec.timeZone", zone, "timeZone must be nil or non-empty string")]
    if zone.lower() == "local":
        return [invalid_value("spec.timeZone", zone, _EXPLICIT)]
    return [] if is_zone(zone) else [invalid_value("spec.timeZone", zone, f"unknown time zone {zone}")]
