"""autoscaling/v2: the part of HorizontalPodAutoscaler that the controllers own or read."""

from __future__ import annotations

from typing import ClassVar, Literal

from handloop.apis.meta import APIStruct, Kind
from handloop.apis.resource import Resource


class CrossVersionObjectReference(APIStruct, frozen=True, gc=False):
    """The object that is scaled."""

    api_version: str = ""
    kind: str = ""
    name: str = ""


class MetricTarget(APIStruct, frozen=True, gc=False):
    """The target of a metric; type Utilization is in percent of the pods' requests."""

    type: str = ""
    average_utilization: int | None = None


class ResourceMetricSource(APIStruct, frozen=True, gc=False):
    """A metric of cpu or memory."""

    name: str = ""
    target: MetricTarget = MetricTarget()


class MetricSpec(APIStruct, frozen=True, gc=False):
    """A metric to scale by; type Resource has a resource."""

    type: str = ""
    resource: ResourceMetricSource | None = None


class HorizontalPodAutoscalerSpec(APIStruct, frozen=True, gc=False):
    """The bounds on the replicas, and the metrics to scale by."""

    scale_target_ref: CrossVersionObjectReference = CrossVersionObjectReference()
    min_replicas: int | None = None
    max_replicas: int = 0
    metrics: tuple[MetricSpec, ...] = ()


class HorizontalPodAutoscaler(Kind, frozen=True, gc=False, tag="HorizontalPodAutoscaler"):
    """A typed view without status and behavior: change it by patch."""

    resource: ClassVar[Resource] = Resource(
        "autoscaling",
        "v2",
        "horizontalpodautoscalers",
        "HorizontalPodAutoscaler",
        singular="horizontalpodautoscaler",
        short_names=("hpa",),
    )

    api_version: Literal["autoscaling/v2"] = "autoscaling/v2"
    spec: HorizontalPodAutoscalerSpec = HorizontalPodAutoscalerSpec()
