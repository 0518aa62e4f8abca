"""autoscaling/v2: the fields of HorizontalPodAutoscaler that the bundled controllers set or read."""

from __future__ import annotations

from handloop.apis.meta import APIStruct, Kind


class CrossVersionObjectReference(APIStruct):
    """The object that is scaled."""

    api_version: str = ""
    kind: str = ""
    name: str = ""


class MetricTarget(APIStruct):
    """The target of a metric. A target of the type Utilization is a percentage of the pods' requests."""

    type: str = ""
    average_utilization: int | None = None


class ResourceMetricSource(APIStruct):
    """A cpu or memory metric."""

    name: str = ""
    target: MetricTarget = MetricTarget()


class MetricSpec(APIStruct):
    """A metric to scale by. If the type is Resource, `resource` is set."""

    type: str = ""
    resource: ResourceMetricSource | None = None


class HorizontalPodAutoscalerSpec(APIStruct):
    """The bounds on the replicas, and the metrics to scale by."""

    scale_target_ref: CrossVersionObjectReference = CrossVersionObjectReference()
    min_replicas: int | None = None
    max_replicas: int = 0
    metrics: tuple[MetricSpec, ...] = ()


class HorizontalPodAutoscaler(Kind, group="autoscaling", version="v2", short_names=("hpa",)):
    """A typed view without status and behavior. Change it by patch, because a full PUT would erase them."""

    spec: HorizontalPodAutoscalerSpec = HorizontalPodAutoscalerSpec()
