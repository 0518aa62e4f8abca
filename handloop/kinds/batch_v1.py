"""batch/v1, complete; made by `python -m tools.generate_kinds`."""

from __future__ import annotations

from handloop.apis.meta import APIStruct, Kind, ObjectMeta
from handloop.kinds.core_v1 import ObjectReference, PodTemplateSpec
from handloop.kinds.meta_v1 import LabelSelector


class PodFailurePolicyOnExitCodesRequirement(APIStruct):
    """batch/v1 PodFailurePolicyOnExitCodesRequirement."""

    container_name: str | None = None
    operator: str
    values: tuple[int, ...]


class PodFailurePolicyOnPodConditionsPattern(APIStruct):
    """batch/v1 PodFailurePolicyOnPodConditionsPattern."""

    status: str | None = None
    type: str


class PodFailurePolicyRule(APIStruct):
    """batch/v1 PodFailurePolicyRule."""

    action: str
    on_exit_codes: PodFailurePolicyOnExitCodesRequirement | None = None
    on_pod_conditions: tuple[PodFailurePolicyOnPodConditionsPattern, ...] = ()


class PodFailurePolicy(APIStruct):
    """batch/v1 PodFailurePolicy."""

    rules: tuple[PodFailurePolicyRule, ...]


class SuccessPolicyRule(APIStruct):
    """batch/v1 SuccessPolicyRule."""

    succeeded_count: int | None = None
    succeeded_indexes: str | None = None


class SuccessPolicy(APIStruct):
    """batch/v1 SuccessPolicy."""

    rules: tuple[SuccessPolicyRule, ...]


class JobSpec(APIStruct):
    """batch/v1 JobSpec."""

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
    """batch/v1 JobTemplateSpec."""

    metadata: ObjectMeta = ObjectMeta()
    spec: JobSpec


class CronJobSpec(APIStruct):
    """batch/v1 CronJobSpec."""

    concurrency_policy: str | None = None
    failed_jobs_history_limit: int | None = None
    job_template: JobTemplateSpec
    schedule: str
    starting_deadline_seconds: int | None = None
    successful_jobs_history_limit: int | None = None
    suspend: bool | None = None
    time_zone: str | None = None


class CronJobStatus(APIStruct):
    """batch/v1 CronJobStatus."""

    active: tuple[ObjectReference, ...] = ()
    last_schedule_time: str | None = None
    last_successful_time: str | None = None


class CronJob(Kind, group="batch", version="v1", short_names=("cj",), partial=False):
    """`kubectl explain cronjobs.batch`."""

    spec: CronJobSpec
    status: CronJobStatus = CronJobStatus()


class JobCondition(APIStruct):
    """batch/v1 JobCondition."""

    last_probe_time: str | None = None
    last_transition_time: str | None = None
    message: str | None = None
    reason: str | None = None
    status: str
    type: str


class UncountedTerminatedPods(APIStruct):
    """batch/v1 UncountedTerminatedPods."""

    failed: tuple[str, ...] = ()
    succeeded: tuple[str, ...] = ()


class JobStatus(APIStruct):
    """batch/v1 JobStatus."""

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
    """`kubectl explain jobs.batch`."""

    spec: JobSpec
    status: JobStatus = JobStatus()
