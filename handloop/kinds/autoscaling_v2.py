"""autoscaling/v2, complete; made by `python -m tools.generate_kinds`."""

from __future__ import annotations

from handloop.apis.meta import APIStruct, Kind
from handloop.kinds.meta_v1 import LabelSelector


class HPAScalingPolicy(APIStruct):
    """autoscaling/v2 HPAScalingPolicy."""

    period_seconds: int
    type: str
    value: int


class HPAScalingRules(APIStruct):
    """autoscaling/v2 HPAScalingRules."""

    policies: tuple[HPAScalingPolicy, ...] = ()
    select_policy: str | None = None
    stabilization_window_seconds: int | None = None
    tolerance: str | None = None


class HorizontalPodAutoscalerBehavior(APIStruct):
    """autoscaling/v2 HorizontalPodAutoscalerBehavior."""

    scale_down: HPAScalingRules | None = None
    scale_up: HPAScalingRules | None = None


class MetricTarget(APIStruct):
    """autoscaling/v2 MetricTarget."""

    average_utilization: int | None = None
    average_value: str | None = None
    type: str
    value: str | None = None


class ContainerResourceMetricSource(APIStruct):
    """autoscaling/v2 ContainerResourceMetricSource."""

    container: str
    name: str
    target: MetricTarget


class MetricIdentifier(APIStruct):
    """autoscaling/v2 MetricIdentifier."""

    name: str
    selector: LabelSelector | None = None


class ExternalMetricSource(APIStruct):
    """autoscaling/v2 ExternalMetricSource."""

    metric: MetricIdentifier
    target: MetricTarget


class CrossVersionObjectReference(APIStruct):
    """autoscaling/v2 CrossVersionObjectReference."""

    api_version: str | None = None
    kind: str
    name: str


class ObjectMetricSource(APIStruct):
    """autoscaling/v2 ObjectMetricSource."""

    described_object: CrossVersionObjectReference
    metric: MetricIdentifier
    target: MetricTarget


class PodsMetricSource(APIStruct):
    """autoscaling/v2 PodsMetricSource."""

    metric: MetricIdentifier
    target: MetricTarget


class ResourceMetricSource(APIStruct):
    """autoscaling/v2 ResourceMetricSource."""

    name: str
    target: MetricTarget


class MetricSpec(APIStruct):
    """autoscaling/v2 MetricSpec."""

    container_resource: ContainerResourceMetricSource | None = None
    external: ExternalMetricSource | None = None
    object: ObjectMetricSource | None = None
    pods: PodsMetricSource | None = None
    resource: ResourceMetricSource | None = None
    type: str


class HorizontalPodAutoscalerSpec(APIStruct):
    """autoscaling/v2 HorizontalPodAutoscalerSpec."""

    behavior: HorizontalPodAutoscalerBehavior | None = None
    max_replicas: int
    metrics: tuple[MetricSpec, ...] = ()
    min_replicas: int | None = None
    scale_target_ref: CrossVersionObjectReference


class HorizontalPodAutoscalerCondition(APIStruct):
    """autoscaling/v2 HorizontalPodAutoscalerCondition."""

    last_transition_time: str | None = None
    message: str | None = None
    reason: str | None = None
    status: str
    type: str


class MetricValueStatus(APIStruct):
    """autoscaling/v2 MetricValueStatus."""

    average_utilization: int | None = None
    average_value: str | None = None
    value: str | None = None


class ContainerResourceMetricStatus(APIStruct):
    """autoscaling/v2 ContainerResourceMetricStatus."""

    container: str
    current: MetricValueStatus
    name: str


class ExternalMetricStatus(APIStruct):
    """autoscaling/v2 ExternalMetricStatus."""

    current: MetricValueStatus
    metric: MetricIdentifier


class ObjectMetricStatus(APIStruct):
    """autoscaling/v2 ObjectMetricStatus."""

    current: MetricValueStatus
    described_object: CrossVersionObjectReference
    metric: MetricIdentifier


class PodsMetricStatus(APIStruct):
    """autoscaling/v2 PodsMetricStatus."""

    current: MetricValueStatus
    metric: MetricIdentifier


class ResourceMetricStatus(APIStruct):
    """autoscaling/v2 ResourceMetricStatus."""

    current: MetricValueStatus
    name: str


class MetricStatus(APIStruct):
    """autoscaling/v2 MetricStatus."""

    container_resource: ContainerResourceMetricStatus | None = None
    external: ExternalMetricStatus | None = None
    object: ObjectMetricStatus | None = None
    pods: PodsMetricStatus | None = None
    resource: ResourceMetricStatus | None = None
    type: str


class HorizontalPodAutoscalerStatus(APIStruct):
    """autoscaling/v2 HorizontalPodAutoscalerStatus."""

    conditions: tuple[HorizontalPodAutoscalerCondition, ...] = ()
    current_metrics: tuple[MetricStatus, ...] = ()
    current_replicas: int | None = None
    desired_replicas: int
    last_scale_time: str | None = None
    observed_generation: int | None = None


class HorizontalPodAutoscaler(Kind, group="autoscaling", version="v2", short_names=("hpa",), partial=False):
    """`kubectl explain horizontalpodautoscalers.autoscaling`."""

    spec: HorizontalPodAutoscalerSpec
    status: HorizontalPodAutoscalerStatus | None = None
