"""samplecontroller.k8s.io/v1alpha1: Foo, the kind of sample-controller."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Meta

from handloop import APIStruct, FrozenMap, Kind, PrinterColumn, Scale


class FooSpec(APIStruct):
    """The desired state: a Deployment with this name and this many replicas."""

    deployment_name: str = ""
    replicas: Annotated[int, Meta(ge=1, le=10)] | None = None


class FooStatus(APIStruct):
    """The observed state: the Deployment's available replicas."""

    available_replicas: Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)] | None = None


class Foo(Kind, group="samplecontroller.k8s.io", version="v1alpha1"):
    """A named Deployment. The bounds on replicas are those of sample-controller's CRD."""

    # without this annotation, the server refuses *.k8s.io groups (KEP-1111)
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

    spec: FooSpec = FooSpec()
    status: FooStatus = FooStatus()
