"""
The Job controller. It creates pods until enough have succeeded, and counts each pod once in the status.

A finished pod is listed in uncountedTerminatedPods, loses its finalizer, and is then counted. This keeps the
counters correct even if pods are deleted.
Follows: kubernetes pkg/controller/job/{job_controller,indexed_job_utils,backoff_utils}.go,
pkg/controller/ttlafterfinished. Differs: pod failure and success policies and back-off limits per index have
no effect.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf
from typing import Any, Final, NamedTuple

from handloop_sandbox.cluster.cluster_controller import Pace, View, Write
from handloop_sandbox.cluster.completion_indexes import index_of, indexed_pod
from handloop_sandbox.cluster.job_status import (
    TRACKING,
    Tally,
    counts_of,
    held,
    new_status,
    restarts_exceed,
    stripped,
    tally_of,
    uncounted,
    with_condition,
)
from handloop_sandbox.cluster.pod_owners import Key, PodOwnerController, new_pod
from handloop_sandbox.cluster.workloads import (
    JOBS,
    PODS,
    finalizers_of,
    is_deleting,
    is_pod_active,
    without_finalizer,
)
from handloop_sandbox.grammar.times import format_time, parse_time
from handloop_sandbox.storage.owner_references import controller_of
from handloop_sandbox.storage.stored import Change, ChangeType, Object
from handloop_sandbox.wire.resource import GroupResource

_OWN_NAME: Final = "kubernetes.io/job-controller"
_BACK_OFF_SECONDS = 10.0  # doubles with each consecutive failure
_MAX_BACK_OFF_SECONDS = 600.0
_BURST = 500
_OF_INDEXES: Final = ("completedIndexes", "succeeded")
_ENDS: Final = {"SuccessCriteriaMet": "Complete", "FailureTarget": "Failed"}
_REACHED: Final = ("CompletionsReached", "Reached expected number of succeeded pods")
_EXCEEDED: Final = ("BackoffLimitExceeded", "Job has reached the specified backoff limit")
_TOO_LONG: Final = ("DeadlineExceeded", "Job was active longer than specified deadline")


class _Failures(NamedTuple):
    """The number of pods that have failed since the last success, and the time of the last failure."""

    number: int = 0
    at: float = 0.0


class JobController(PodOwnerController):
    """
    Syncs a Job when it or one of its pods has changed, and when a deadline passes.

    State: two dicts, keyed by the Job's uid. _in_a_row holds the failures since the last success. _started
    holds the start time. It is more precise than the one in the object, which is in whole seconds.
    """

    collection = JOBS
    kind = "Job"
    component = "job-controller"
    interests: frozenset[GroupResource] | None = frozenset({JOBS, PODS})

    def __init__(self, pace: Pace) -> None:
        super().__init__(pace)
        self._in_a_row: dict[str, _Failures] = {}
        self._started: dict[str, float] = {}

    def _observe(self, view: View, change: Change, now: float) -> None:
        super()._observe(view, change, now)
        if change.group_resource == JOBS and change.type is ChangeType.DELETED:
            self._forget(change.new.object)

    def _forget(self, job: Object) -> None:
        self._in_a_row.pop(job["metadata"]["uid"], None)
        self._started.pop(job["metadata"]["uid"], None)

    def _sync(self, view: View, key: Key, now: float) -> list[Write]:
        job = view.state.get(JOBS, *key)
        freed = list(_freed(view, key[0]))
        if job is None or job["spec"].get("managedBy", _OWN_NAME) != _OWN_NAME:
            return freed
        claimed = self._claimed(view, job)
        if any(held(job, end) for end in _ENDS.values()):
            self._forget(job)
            return [*freed, *self._after_the_end(view, job, claimed.objects, now)]
        return [*freed, *claimed.writes, *self._run(view, job, tally_of(job, claimed.objects), now)]

    def _after_the_end(self, view: View, job: Object, pods: Sequence[Object], now: float) -> list[Write]:
        writes = [write for pod in pods if is_pod_active(pod) for write in self._delete(view, job, pod, now)]
        writes += [_untracked(pod) for pod in pods if TRACKING in finalizers_of(pod)]
        lifetime = job["spec"].get("ttlSecondsAfterFinished")
        if lifetime is None or is_deleting(job):
            return writes
        times = [c["lastTransitionTime"] for c in job["status"]["conditions"] if c["lastTransitionTime"]]
        if not times:  # a user has ended the Job, without a time
            return writes
        ended = max(map(parse_time, times))
        expires = ended + self._pace.seconds(lifetime)
        if expires > now:
            self._dirty.mark((job["metadata"]["namespace"], job["metadata"]["name"]), expires)
            return writes
        return [*writes, Write.of("delete", JOBS, job, propagation="Foreground")]

    def _run(self, view: View, job: Object, tally: Tally, now: float) -> list[Write]:
        status: dict[str, Any] = dict(job.get("status") or {})
        if job["spec"].get("completionMode") == "Indexed":  # both follow from the indexes
            status = {name: value for name, value in status.items() if name not in _OF_INDEXES}
        conditions = list(status.get("conditions") or [])
        suspended = bool(job["spec"].get("suspend"))
        if not suspended and "startTime" not in status:
            status["startTime"] = format_time(now)
            self._started[job["metadata"]["uid"]] = now
        decided = self._decision(job, tally, status, now)
        writes: list[Write] = []
        active = tally.active
        lost: list[Object] = []
        told: list[Write] = []
        if decided is not None:
            conditions = with_condition(conditions, decided[0], "True", decided[1], now)
        elif not is_deleting(job):
            conditions, told = self._suspension(view, job, conditions, now)
            if suspended:
                status.pop("startTime", None)
        if decided is not None or suspended:
            lost, active = active, []
            for pod in lost:
                writes += self._delete(view, job, pod, now)
        elif not is_deleting(job):
            changes, active = self._adjust(view, job, tally, now)
            writes += changes
        failed = tally.failed + (lost if decided is not None else [])
        terminating = tally.terminating + len(lost)
        counts = counts_of(active, terminating)
        first = new_status(status, conditions, counts, uncounted(job, tally, failed), tally.indexes)
        last = new_status(
            {
                **status,
                "succeeded": tally.total_succeeded,
                "failed": tally.total_failed + len(failed) - len(tally.failed),
            },
            conditions,
            counts,
            {},
            tally.indexes,
        )
        if tally.succeeded or failed or first["conditions"] != status.get("conditions", []):
            writes += self._put_status(job, stripped(first))
        writes += [_untracked(pod) for pod in (*tally.succeeded, *failed, *lost) if _is_tracked(pod)]
        if decided is not None and not terminating:
            last, end = self._ended(view, job, last, decided, now)
            told += end
        return [*writes, *self._put_status(job, stripped(last)), *told]

    def _ended(
        self,
        view: View,
        job: Object,
        status: dict[str, Any],
        decided: tuple[str, tuple[str, str]],
        now: float,
    ) -> tuple[dict[str, Any], list[Write]]:
        target, (reason, message) = decided
        conditions = with_condition(status["conditions"], _ENDS[target], "True", (reason, message), now)
        status = {**status, "conditions": conditions}
        if target == "FailureTarget":
            return status, [self._warn(view, job, reason, message, now)]
        told = self._tell(view, job, "Completed", "Job completed", now)
        return {**status, "completionTime": format_time(now)}, [told]

    def _warn(self, view: View, job: Object, reason: str, message: str, now: float) -> Write:
        return self._recorder.event(view, job, kind="Warning", reason=reason, message=message, now=now)

    def _decision(
        self, job: Object, tally: Tally, status: dict[str, Any], now: float
    ) -> tuple[str, tuple[str, str]] | None:
        """Return the final condition with its reason and message, or None if the Job has not ended."""
        for target in _ENDS:
            if found := held(job, target):
                return target, (found.get("reason", ""), found.get("message", ""))
        spec = job["spec"]
        limit = spec.get("backoffLimit", 6)
        if tally.total_failed > limit or restarts_exceed(job, tally.active, limit):
            return "FailureTarget", _EXCEEDED
        if self._is_too_late(job, status, now):
            return "FailureTarget", _TOO_LONG
        if spec.get("completions") is None:
            done = tally.total_succeeded > 0 and not tally.active
        else:
            done = tally.total_succeeded >= spec["completions"]
        return ("SuccessCriteriaMet", _REACHED) if done and not spec.get("suspend") else None

    def _is_too_late(self, job: Object, status: dict[str, Any], now: float) -> bool:
        seconds = job["spec"].get("activeDeadlineSeconds")
        if seconds is None or "startTime" not in status or job["spec"].get("suspend"):
            return False
        started = self._started.get(job["metadata"]["uid"], parse_time(status["startTime"]))
        deadline = started + self._pace.seconds(seconds)
        if deadline > now:
            self._dirty.mark((job["metadata"]["namespace"], job["metadata"]["name"]), deadline)
        return deadline <= now

    def _suspension(
        self, view: View, job: Object, conditions: list[dict[str, Any]], now: float
    ) -> tuple[list[dict[str, Any]], list[Write]]:
        """Return the conditions with Suspended updated, and an Event if it has changed."""
        suspended, before = bool(job["spec"].get("suspend")), held(job, "Suspended")
        if suspended == bool(before):
            return conditions, []
        word = "Suspended" if suspended else "Resumed"
        message = f"Job {word.lower()}"
        changed = with_condition(conditions, "Suspended", str(suspended), (f"Job{word}", message), now)
        return changed, [self._tell(view, job, word, message, now)]

    def _adjust(self, view: View, job: Object, tally: Tally, now: float) -> tuple[list[Write], list[Object]]:
        """Create and delete pods. Returns: the writes, and the pods that will then be active."""
        spec, metadata = job["spec"], job["metadata"]
        key = (metadata["namespace"], metadata["name"])
        wanted, active = spec.get("parallelism", 1), list(tally.active)
        if spec.get("completions") is not None:
            wanted = min(wanted, spec["completions"] - tally.total_succeeded)
        elif tally.total_succeeded:
            wanted = len(active)
        waiting = tally.terminating if spec.get("podReplacementPolicy") == "Failed" else 0
        failure = self._failure(key, missing=wanted - len(active), now=now)
        writes = self._tell_failure(view, job, failure, now)
        resume = max(failure.retry_at if failure else 0.0, self._resume_at(job, tally, now))
        if resume > now:
            self._dirty.mark(key, resume)
        active, surplus = _needed(job, active, max(0, wanted))
        for pod in surplus:  # without its finalizer, so that it does not count as failed
            writes += [*([_untracked(pod)] if _is_tracked(pod) else []), *self._delete(view, job, pod, now)]
        missing = min(wanted - len(active) - waiting, _BURST) if resume <= now else 0
        for pod in _new_pods(view, job, tally, active, missing):
            writes.append(self._create(pod))
            active.append(pod)
        return writes, active

    def _resume_at(self, job: Object, tally: Tally, now: float) -> float:
        """Return the unix time at which the back-off after the last failure ends, or 0 after a success."""
        uid = job["metadata"]["uid"]
        known = self._in_a_row.get(uid, _Failures())
        if tally.succeeded:
            known = _Failures()
        if tally.failed:
            known = _Failures(known.number + len(tally.failed), now)
        self._in_a_row[uid] = known
        if not known.number:
            return 0.0
        pause = min(_BACK_OFF_SECONDS * 2 ** min(known.number - 1, 10), _MAX_BACK_OFF_SECONDS)
        return known.at + self._pace.seconds(pause)


def _freed(view: View, namespace: str) -> Iterator[Write]:
    """Remove the finalizer from pods whose Job is deleted, because they will never be counted."""
    for pod in view.state.list(PODS, namespace):
        if TRACKING in finalizers_of(pod):
            owner = controller_of(pod)
            if owner is None or (owner["kind"] == "Job" and view.state.by_uid(owner["uid"]) is None):
                yield _untracked(pod)


def _is_tracked(pod: Object) -> bool:
    return "uid" in pod["metadata"] and TRACKING in finalizers_of(pod)


def _untracked(pod: Object) -> Write:
    return Write.of("update", PODS, without_finalizer(pod, TRACKING))


def _needed(job: Object, active: Sequence[Object], wanted: int) -> tuple[list[Object], list[Object]]:
    """Divide the active pods into those to keep and those to delete. An index may have become too high."""
    most = job["spec"]["completions"] if job["spec"].get("completionMode") == "Indexed" else inf
    fitting = [pod for pod in active if (index_of(pod) or 0) < most]
    beyond = [pod for pod in active if (index_of(pod) or 0) >= most]
    return fitting[:wanted], [*fitting[wanted:], *beyond]


def _new_pods(
    view: View, job: Object, tally: Tally, active: Sequence[Object], missing: int
) -> Iterator[Object]:
    template = {**job["spec"]["template"]}
    metadata = template.get("metadata") or {}
    template["metadata"] = {**metadata, "finalizers": [*(metadata.get("finalizers") or []), TRACKING]}
    if job["spec"].get("completionMode") != "Indexed":
        for _ in range(missing):
            yield new_pod(view, job, template)
        return
    taken = {*tally.indexes, *(index_of(pod) for pod in active)}
    free = [index for index in range(job["spec"]["completions"]) if index not in taken]
    for index in free[: max(0, missing)]:
        prefix = f"{job['metadata']['name']}-{index}-"
        yield indexed_pod(new_pod(view, job, template, prefix=prefix), index)
