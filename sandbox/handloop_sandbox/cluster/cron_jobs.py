"""
The CronJob controller. It creates a Job at each scheduled time, by the sandbox's clock.

Follows: kubernetes pkg/controller/cronjob/{cronjob_controllerv2,utils}.go. Differs: it reports no
TooManyMissedTimes Event.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from handloop_sandbox.cluster.adoption import controlled
from handloop_sandbox.cluster.cluster_controller import KeyedController, Pace, View, Write
from handloop_sandbox.cluster.cron_schedule import Interval, Schedule, parsed
from handloop_sandbox.cluster.events import ComponentEventRecorder
from handloop_sandbox.cluster.workloads import CRON_JOBS, JOBS, condition, is_deleting
from handloop_sandbox.grammar.times import format_time, parse_time
from handloop_sandbox.storage.owner_references import controller_of, controller_reference
from handloop_sandbox.storage.stored import Change, Object
from handloop_sandbox.wire.resource import GroupResource

SCHEDULED: Final = "batch.kubernetes.io/cronjob-scheduled-timestamp"

_REACTION_SECONDS = 0.05
_ENDS: Final = {"Complete": "successfulJobsHistoryLimit", "Failed": "failedJobsHistoryLimit"}
_LIMITS: Final = {"Complete": 3, "Failed": 1}

_Key = tuple[str, str]


class CronJobController(KeyedController[_Key]):
    """Syncs a CronJob when it is due, and when it or one of its Jobs has changed."""

    interests: frozenset[GroupResource] | None = frozenset({CRON_JOBS, JOBS})

    def __init__(self, pace: Pace) -> None:
        super().__init__(pace)
        self._recorder = ComponentEventRecorder("cronjob-controller")

    def _observe(self, view: View, change: Change, now: float) -> None:
        del view
        due = now + self._pace.seconds(_REACTION_SECONDS)
        if change.group_resource == CRON_JOBS:
            self._dirty.mark((change.namespace, change.name), due)
            return
        owner = controller_of(change.new.object)
        if owner is not None and owner["kind"] == "CronJob":
            self._dirty.mark((change.namespace, owner["name"]), due)

    def _sync(self, view: View, key: _Key, now: float) -> list[Write]:
        cron_job = view.state.get(CRON_JOBS, *key)
        if cron_job is None:
            return []
        jobs = controlled(view.state, cron_job, JOBS)
        status, writes = self._followed(view, cron_job, jobs, now)
        writes += self._cleaned_up(view, cron_job, jobs, now)
        if not is_deleting(cron_job) and not cron_job["spec"].get("suspend"):
            writes += self._started(view, cron_job, status, now)
        if status != (cron_job.get("status") or {}):
            writes.append(Write.of("update", CRON_JOBS, {**cron_job, "status": status}, subresource="status"))
        return writes

    def _followed(
        self, view: View, cron_job: Object, jobs: Sequence[Object], now: float
    ) -> tuple[dict[str, Any], list[Write]]:
        """Return the status, updated from the CronJob's current Jobs, and the Events for the changes."""
        status = dict(cron_job.get("status") or {})
        active = {entry["uid"]: entry for entry in status.pop("active", None) or ()}
        known, writes = {job["metadata"]["uid"]: job for job in jobs}, []
        for job in jobs:
            uid, name, end = job["metadata"]["uid"], job["metadata"]["name"], _end_of(job)
            if end == "Complete":
                done = status.get("lastSuccessfulTime", "")
                status["lastSuccessfulTime"] = max(done, job["status"].get("completionTime") or done)
            if end and uid in active:
                del active[uid]
                text = f"Saw completed job: {name}, condition: {end}"
                writes.append(self._tell(view, cron_job, "SawCompletedJob", text, now))
            elif not end and uid not in active and not is_deleting(job):
                if (scheduled := _scheduled_at(job)) is None:
                    text = f"Saw a job that the controller did not create or forgot: {name}"
                    writes.append(self._tell(view, cron_job, "UnexpectedJob", text, now))
                    continue
                active[uid] = _reference(job)
                status["lastScheduleTime"] = max(status.get("lastScheduleTime", ""), format_time(scheduled))
        for uid in [uid for uid in active if uid not in known]:
            text = f"Active job went missing: {active.pop(uid)['name']}"
            writes.append(self._tell(view, cron_job, "MissingJob", text, now))
        if not status.get("lastSuccessfulTime"):
            status.pop("lastSuccessfulTime", None)
        return ({"active": list(active.values())} if active else {}) | status, writes

    def _cleaned_up(self, view: View, cron_job: Object, jobs: Sequence[Object], now: float) -> list[Write]:
        writes: list[Write] = []
        for end, field in _ENDS.items():
            limit = cron_job["spec"].get(field, _LIMITS[end])
            ended = [job for job in jobs if _end_of(job) == end and not is_deleting(job)]
            ended.sort(key=lambda job: (job["status"].get("startTime", ""), job["metadata"]["name"]))
            for job in ended[: max(0, len(ended) - limit)]:
                writes += self._delete(view, cron_job, job, now)
        return writes

    def _started(self, view: View, cron_job: Object, status: dict[str, Any], now: float) -> list[Write]:
        """Create the Job for the latest scheduled time if it is missing, and schedule the next sync."""
        spec, metadata = cron_job["spec"], cron_job["metadata"]
        try:
            schedule = parsed(spec["schedule"], spec.get("timeZone"))
        except (ValueError, KeyError, OSError):
            return []
        since = parse_time(status.get("lastScheduleTime") or metadata["creationTimestamp"])
        self._look_again(cron_job, schedule, since, now)
        deadline = spec.get("startingDeadlineSeconds")
        at = schedule.latest(now, since)
        if at is None or (deadline is not None and at + deadline < now):
            return []
        job = _new_job(cron_job, at)
        if view.state.get(JOBS, metadata["namespace"], job["metadata"]["name"]) is not None:
            return []
        policy, active = spec.get("concurrencyPolicy", "Allow"), status.get("active", [])
        if policy == "Forbid" and active:
            text = "Not starting job because prior execution is running and concurrency policy is Forbid"
            return [self._tell(view, cron_job, "JobAlreadyActive", text, now)]
        writes: list[Write] = []
        if policy == "Replace" and active:
            for entry in status.pop("active"):
                former = view.state.get(JOBS, metadata["namespace"], entry["name"])
                writes += self._delete(view, cron_job, former, now) if former else []
        told = self._tell(view, cron_job, "SuccessfulCreate", f"Created job {job['metadata']['name']}", now)
        return [*writes, Write.of("create", JOBS, job), told]

    def _look_again(self, cron_job: Object, schedule: Schedule | Interval, since: float, now: float) -> None:
        last = schedule.latest(now, since)
        coming = schedule.next_after(last or since if isinstance(schedule, Interval) else now)
        if coming is not None:
            self._dirty.mark((cron_job["metadata"]["namespace"], cron_job["metadata"]["name"]), coming)

    def _delete(self, view: View, cron_job: Object, job: Object, now: float) -> list[Write]:
        text = f"Deleted job {job['metadata']['name']}"
        told = self._tell(view, cron_job, "SuccessfulDelete", text, now)
        return [Write.of("delete", JOBS, job, propagation="Background"), told]

    def _tell(self, view: View, about: Object, reason: str, message: str, now: float) -> Write:
        kind = "Warning" if reason == "UnexpectedJob" else "Normal"
        return self._recorder.event(view, about, kind=kind, reason=reason, message=message, now=now)


def _end_of(job: Object) -> str:
    """Return `Complete` or `Failed`, or "" if the Job has not ended."""
    found = ((end, condition(job, end)) for end in _ENDS)
    return next((end for end, entry in found if entry and entry["status"] == "True"), "")


def _scheduled_at(job: Object) -> float | None:
    text = (job["metadata"].get("annotations") or {}).get(SCHEDULED)
    try:
        return datetime.fromisoformat(text).timestamp() if text else None
    except (ValueError, OverflowError):
        return None  # a user has written the annotation


def _reference(job: Object) -> dict[str, Any]:
    metadata = job["metadata"]
    names = {name: metadata[name] for name in ("namespace", "name", "uid", "resourceVersion")}
    return {"kind": "Job", "apiVersion": "batch/v1", **names}


def _new_job(cron_job: Object, at: float) -> Object:
    template, metadata = cron_job["spec"]["jobTemplate"], cron_job["metadata"]
    found = template.get("metadata") or {}
    zone = cron_job["spec"].get("timeZone")
    schedule = parsed(cron_job["spec"]["schedule"], zone)
    text = format_time(at)
    if zone and isinstance(schedule, Schedule):
        text = datetime.fromtimestamp(at, schedule.zone).isoformat(timespec="seconds")
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": f"{metadata['name']}-{int(at) // 60}",
            "namespace": metadata["namespace"],
            **({"labels": found["labels"]} if found.get("labels") else {}),
            "annotations": {**(found.get("annotations") or {}), SCHEDULED: text},
            "ownerReferences": [controller_reference(cron_job)],
        },
        "spec": template["spec"],
    }
