"""apps/v1: the part of Deployment that the controllers own or read."""

from __future__ import annotations

from typing import ClassVar, Literal

from handloop.apis.core_v1 import PodTemplateSpec
from handloop.apis.meta import EMPTY_MAP, APIStruct, FrozenMap, Kind
from handloop.apis.resource import Resource


class LabelSelector(APIStruct, frozen=True, gc=False):
    """Selects the pods that have all of these labels."""

    match_labels: FrozenMap = EMPTY_MAP


class DeploymentSpec(APIStruct, frozen=True, gc=False):
    """The wanted pods."""

    replicas: int | None = None
    selector: LabelSelector = LabelSelector()
    template: PodTemplateSpec = PodTemplateSpec()


class DeploymentCondition(APIStruct, frozen=True, gc=False):
    """Progressing, Available or ReplicaFailure; a looser form than metav1.Condition."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""


class DeploymentStatus(APIStruct, frozen=True, gc=False):
    """The seen pods."""

    observed_generation: int = 0
    replicas: int = 0
    updated_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    conditions: tuple[DeploymentCondition, ...] = ()


class Deployment(Kind, frozen=True, gc=False, tag="Deployment"):
    """A typed view: a full PUT would erase fields that it does not hold, so change it by patch or apply."""

    resource: ClassVar[Resource] = Resource(
        "apps", "v1", "deployments", "Deployment", singular="deployment", short_names=("deploy",)
    )

    api_version: Literal["apps/v1"] = "apps/v1"
    spec: DeploymentSpec = DeploymentSpec()
    status: DeploymentStatus = DeploymentStatus()
