"""samplecontroller.k8s.io/v1alpha1: Foo, the kind of sample-controller."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from handloop.apis.crd import INT32_MAX, INT32_MIN, PrinterColumn, Scale
from handloop.apis.meta import APIStruct, FrozenMap, Kind
from handloop.apis.resource import Resource


class FooSpec(APIStruct, frozen=True, gc=False):
    """What is wanted: a Deployment of this name with so many replicas."""

    deployment_name: str = ""
    replicas: Annotated[int, Meta(ge=1, le=10)] | None = None


class FooStatus(APIStruct, frozen=True, gc=False):
    """What was seen: the Deployment's available replicas."""

    available_replicas: Annotated[int, Meta(ge=INT32_MIN, le=INT32_MAX)] | None = None


class Foo(Kind, frozen=True, gc=False, tag="Foo"):
    """A named Deployment. Bounds on replicas are those of sample-controller's CRD."""

    resource: ClassVar[Resource] = Resource(
        "samplecontroller.k8s.io", "v1alpha1", "foos", "Foo", singular="foo"
    )

    # *.k8s.io groups are refused without it (KEP-1111)
    crd_annotations: ClassVar[FrozenMap] = FrozenMap(
        {"api-approved.kubernetes.io": "unapproved, experimental-only"}
    )
    printer_columns: ClassVar[tuple[PrinterColumn, ...]] = (
        PrinterColumn(name="Desired", type="integer", json_path=".spec.replicas"),
        PrinterColumn(name="Available", type="integer", json_path=".status.availableReplicas"),
        PrinterColumn(name="Deployment", type="string", json_path=".spec.deploymentName", priority=1),
        PrinterColumn(name="Age", type="date", json_path=".metadata.creationTimestamp"),
    )
    scale: ClassVar[Scale] = Scale(
        spec_replicas_path=".spec.replicas", status_replicas_path=".status.availableReplicas"
    )

    api_version: Literal["samplecontroller.k8s.io/v1alpha1"] = "samplecontroller.k8s.io/v1alpha1"
    spec: FooSpec = FooSpec()
    status: FooStatus = FooStatus()
