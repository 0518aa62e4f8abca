"""batch/v1, complete; made by `python -m tools.generate_kinds`."""

from __future__ import annotations

from handloop.apis.meta import APIStruct, Kind, ObjectMeta
from handloop.kinds.core_v1 import ObjectReference, PodTemplateSpec
from handloop.kinds.meta_v1 import LabelSelector


class PodFailurePolicyOnExitCodesRequirement(APIStruct):
    container_name: str | None = None
    operator: str
    values: tuple[int, ...]


class PodFailurePolicyOnPodConditionsPattern(APIStruct):
    status: str | None = None
    type: str


class PodFailurePolicyRule(APIStruct):
    action: str
    on_exit_codes: PodFailurePolicyOnExitCodesRequirement | None = None
    on_pod_conditions: tuple[PodFailurePolicyOnPodConditionsPattern, ...] = ()


class PodFailurePolicy(APIStruct):
    rules: tuple[PodFailurePolicyRule, ...]


class SuccessPolicyRule(APIStruct):
    succeeded_count: int | None = None
    succeeded_indexes: str | None = None


class SuccessPolicy(APIStruct):
    rules: tuple[SuccessPolicyRule, ...]


class JobSpec(APIStruct):
    active_deadline_seconds: int | None = None
    backoff_limit: int | None = None
    backoff_limit_per_index: int | None = None
    completion_mode: str | None = None
    completions: int | None = None
    managed_by: str | None = None
    manual_selector: bool | None = None
    max_failed_indexes: int | None = None
    parallelism: int | None = None
    pod_failure_policy: PodFailurePolicy | None = None
    pod_replacement_policy: str | None = None
    selector: LabelSelector | None = None
    success_policy: SuccessPolicy | None = None
    suspend: bool | None = None
    template: PodTemplateSpec
    ttl_seconds_after_finished: int | None = None


class JobTemplateSpec(APIStruct):
    metadata: ObjectMeta = ObjectMeta()
    spec: JobSpec


class CronJobSpec(APIStruct):
    concurrency_policy: str | None = None
    failed_jobs_history_limit: int | None = None
    job_template: JobTemplateSpec
    schedule: str
    starting_deadline_seconds: int | None = None
    successful_jobs_history_limit: int | None = None
    suspend: bool | None = None
    time_zone: str | None = None


class CronJobStatus(APIStruct):
    active: tuple[ObjectReference, ...] = ()
    last_schedule_time: str | None = None
    last_successful_time: str | None = None


class CronJob(Kind, group="batch", version="v1", short_names=("cj",), partial=False):
    spec: CronJobSpec
    status: CronJobStatus = CronJobStatus()


class JobCondition(APIStruct):
    last_probe_time: str | None = None
    last_transition_time: str | None = None
    message: str | None = None
    reason: str | None = None
    status: str
    type: str


class UncountedTerminatedPods(APIStruct):
    failed: tuple[str, ...] = ()
    succeeded: tuple[str, ...] = ()


class JobStatus(APIStruct):
    active: int | None = None
    completed_indexes: str | None = None
    completion_time: str | None = None
    conditions: tuple[JobCondition, ...] = ()
    failed: int | None = None
    failed_indexes: str | None = None
    ready: int | None = None
    start_time: str | None = None
    succeeded: int | None = None
    terminating: int | None = None
    uncounted_terminated_pods: UncountedTerminatedPods | None = None


class Job(Kind, group="batch", version="v1", partial=False):
    spec: JobSpec
    status: JobStatus = JobStatus()
