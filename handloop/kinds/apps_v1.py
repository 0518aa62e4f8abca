"""apps/v1, complete; made by `python -m tools.generate_kinds`."""

from __future__ import annotations

from handloop.apis.json_value import JSON
from handloop.apis.meta import APIStruct, Kind
from handloop.kinds.core_v1 import PersistentVolumeClaim, PodTemplateSpec
from handloop.kinds.meta_v1 import LabelSelector


class ControllerRevision(Kind, group="apps", version="v1", partial=False):
    data: JSON | None = None
    revision: int


class RollingUpdateDaemonSet(APIStruct):
    max_surge: int | str | None = None
    max_unavailable: int | str | None = None


class DaemonSetUpdateStrategy(APIStruct):
    rolling_update: RollingUpdateDaemonSet | None = None
    type: str | None = None


class DaemonSetSpec(APIStruct):
    min_ready_seconds: int | None = None
    revision_history_limit: int | None = None
    selector: LabelSelector
    template: PodTemplateSpec
    update_strategy: DaemonSetUpdateStrategy = DaemonSetUpdateStrategy()


class DaemonSetCondition(APIStruct):
    last_transition_time: str | None = None
    message: str | None = None
    reason: str | None = None
    status: str
    type: str


class DaemonSetStatus(APIStruct):
    collision_count: int | None = None
    conditions: tuple[DaemonSetCondition, ...] = ()
    current_number_scheduled: int
    desired_number_scheduled: int
    number_available: int | None = None
    number_misscheduled: int
    number_ready: int
    number_unavailable: int | None = None
    observed_generation: int | None = None
    updated_number_scheduled: int | None = None


class DaemonSet(Kind, group="apps", version="v1", short_names=("ds",), partial=False):
    spec: DaemonSetSpec
    status: DaemonSetStatus | None = None


class RollingUpdateDeployment(APIStruct):
    max_surge: int | str | None = None
    max_unavailable: int | str | None = None


class DeploymentStrategy(APIStruct):
    rolling_update: RollingUpdateDeployment | None = None
    type: str | None = None


class DeploymentSpec(APIStruct):
    min_ready_seconds: int | None = None
    paused: bool | None = None
    progress_deadline_seconds: int | None = None
    replicas: int | None = None
    revision_history_limit: int | None = None
    selector: LabelSelector
    strategy: DeploymentStrategy = DeploymentStrategy()
    template: PodTemplateSpec


class DeploymentCondition(APIStruct):
    last_transition_time: str | None = None
    last_update_time: str | None = None
    message: str | None = None
    reason: str | None = None
    status: str
    type: str


class DeploymentStatus(APIStruct):
    available_replicas: int | None = None
    collision_count: int | None = None
    conditions: tuple[DeploymentCondition, ...] = ()
    observed_generation: int | None = None
    ready_replicas: int | None = None
    replicas: int | None = None
    terminating_replicas: int | None = None
    unavailable_replicas: int | None = None
    updated_replicas: int | None = None


class Deployment(Kind, group="apps", version="v1", short_names=("deploy",), partial=False):
    spec: DeploymentSpec
    status: DeploymentStatus = DeploymentStatus()


class ReplicaSetSpec(APIStruct):
    min_ready_seconds: int | None = None
    replicas: int | None = None
    selector: LabelSelector
    template: PodTemplateSpec | None = None


class ReplicaSetCondition(APIStruct):
    last_transition_time: str | None = None
    message: str | None = None
    reason: str | None = None
    status: str
    type: str


class ReplicaSetStatus(APIStruct):
    available_replicas: int | None = None
    conditions: tuple[ReplicaSetCondition, ...] = ()
    fully_labeled_replicas: int | None = None
    observed_generation: int | None = None
    ready_replicas: int | None = None
    replicas: int
    terminating_replicas: int | None = None


class ReplicaSet(Kind, group="apps", version="v1", short_names=("rs",), partial=False):
    spec: ReplicaSetSpec
    status: ReplicaSetStatus | None = None


class StatefulSetOrdinals(APIStruct):
    start: int | None = None


class StatefulSetPersistentVolumeClaimRetentionPolicy(APIStruct):
    when_deleted: str | None = None
    when_scaled: str | None = None


class RollingUpdateStatefulSetStrategy(APIStruct):
    max_unavailable: int | str | None = None
    partition: int | None = None


class StatefulSetUpdateStrategy(APIStruct):
    rolling_update: RollingUpdateStatefulSetStrategy | None = None
    type: str | None = None


class StatefulSetSpec(APIStruct):
    min_ready_seconds: int | None = None
    ordinals: StatefulSetOrdinals | None = None
    persistent_volume_claim_retention_policy: StatefulSetPersistentVolumeClaimRetentionPolicy | None = None
    pod_management_policy: str | None = None
    replicas: int | None = None
    revision_history_limit: int | None = None
    selector: LabelSelector
    service_name: str | None = None
    template: PodTemplateSpec
    update_strategy: StatefulSetUpdateStrategy = StatefulSetUpdateStrategy()
    volume_claim_templates: tuple[PersistentVolumeClaim, ...] = ()


class StatefulSetCondition(APIStruct):
    last_transition_time: str | None = None
    message: str | None = None
    reason: str | None = None
    status: str
    type: str


class StatefulSetStatus(APIStruct):
    available_replicas: int | None = None
    collision_count: int | None = None
    conditions: tuple[StatefulSetCondition, ...] = ()
    current_replicas: int | None = None
    current_revision: str | None = None
    observed_generation: int | None = None
    ready_replicas: int | None = None
    replicas: int
    update_revision: str | None = None
    updated_replicas: int | None = None


class StatefulSet(Kind, group="apps", version="v1", short_names=("sts",), partial=False):
    spec: StatefulSetSpec
    status: StatefulSetStatus | None = None
