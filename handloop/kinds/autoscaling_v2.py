"""autoscaling/v2, complete; made by `python -m tools.generate_kinds`."""

from __future__ import annotations

from handloop.apis.meta import APIStruct, Kind
from handloop.kinds.meta_v1 import LabelSelector


class HPAScalingPolicy(APIStruct):
    period_seconds: int
    type: str
    value: int


class HPAScalingRules(APIStruct):
    policies: tuple[HPAScalingPolicy, ...] = ()
    select_policy: str | None = None
    stabilization_window_seconds: int | None = None
    tolerance: str | None = None


class HorizontalPodAutoscalerBehavior(APIStruct):
    scale_down: HPAScalingRules | None = None
    scale_up: HPAScalingRules | None = None


class MetricTarget(APIStruct):
    average_utilization: int | None = None
    average_value: str | None = None
    type: str
    value: str | None = None


class ContainerResourceMetricSource(APIStruct):
    container: str
    name: str
    target: MetricTarget


class MetricIdentifier(APIStruct):
    name: str
    selector: LabelSelector | None = None


class ExternalMetricSource(APIStruct):
    metric: MetricIdentifier
    target: MetricTarget


class CrossVersionObjectReference(APIStruct):
    api_version: str | None = None
    kind: str
    name: str


class ObjectMetricSource(APIStruct):
    described_object: CrossVersionObjectReference
    metric: MetricIdentifier
    target: MetricTarget


class PodsMetricSource(APIStruct):
    metric: MetricIdentifier
    target: MetricTarget


class ResourceMetricSource(APIStruct):
    name: str
    target: MetricTarget


class MetricSpec(APIStruct):
    container_resource: ContainerResourceMetricSource | None = None
    external: ExternalMetricSource | None = None
    object: ObjectMetricSource | None = None
    pods: PodsMetricSource | None = None
    resource: ResourceMetricSource | None = None
    type: str


class HorizontalPodAutoscalerSpec(APIStruct):
    behavior: HorizontalPodAutoscalerBehavior | None = None
    max_replicas: int
    metrics: tuple[MetricSpec, ...] = ()
    min_replicas: int | None = None
    scale_target_ref: CrossVersionObjectReference


class HorizontalPodAutoscalerCondition(APIStruct):
    last_transition_time: str | None = None
    message: str | None = None
    reason: str | None = None
    status: str
    type: str


class MetricValueStatus(APIStruct):
    average_utilization: int | None = None
    average_value: str | None = None
    value: str | None = None


class ContainerResourceMetricStatus(APIStruct):
    container: str
    current: MetricValueStatus
    name: str


class ExternalMetricStatus(APIStruct):
    current: MetricValueStatus
    metric: MetricIdentifier


class ObjectMetricStatus(APIStruct):
    current: MetricValueStatus
    described_object: CrossVersionObjectReference
    metric: MetricIdentifier


class PodsMetricStatus(APIStruct):
    current: MetricValueStatus
    metric: MetricIdentifier


class ResourceMetricStatus(APIStruct):
    current: MetricValueStatus
    name: str


class MetricStatus(APIStruct):
    container_resource: ContainerResourceMetricStatus | None = None
    external: ExternalMetricStatus | None = None
    object: ObjectMetricStatus | None = None
    pods: PodsMetricStatus | None = None
    resource: ResourceMetricStatus | None = None
    type: str


class HorizontalPodAutoscalerStatus(APIStruct):
    conditions: tuple[HorizontalPodAutoscalerCondition, ...] = ()
    current_metrics: tuple[MetricStatus, ...] = ()
    current_replicas: int | None = None
    desired_replicas: int
    last_scale_time: str | None = None
    observed_generation: int | None = None


class HorizontalPodAutoscaler(Kind, group="autoscaling", version="v2", short_names=("hpa",), partial=False):
    spec: HorizontalPodAutoscalerSpec
    status: HorizontalPodAutoscalerStatus | None = None
