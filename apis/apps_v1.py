"""apps/v1: the fields of Deployment that the bundled controllers set or read."""

from __future__ import annotations

from handloop.apis.core_v1 import PodTemplateSpec
from handloop.apis.meta import EMPTY_MAP, APIStruct, FrozenMap, Kind


class LabelSelector(APIStruct):
    """Selects the pods that have all of these labels."""

    match_labels: FrozenMap = EMPTY_MAP


class DeploymentSpec(APIStruct):
    """The pods that should run."""

    replicas: int | None = None
    selector: LabelSelector = LabelSelector()
    template: PodTemplateSpec = PodTemplateSpec()


class DeploymentCondition(APIStruct):
    """A condition of a Deployment: `Progressing`, `Available` or `ReplicaFailure`."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""


class DeploymentStatus(APIStruct, omit_defaults=True):
    """The pods that were observed."""

    observed_generation: int = 0
    replicas: int = 0
    updated_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    conditions: tuple[DeploymentCondition, ...] = ()


class Deployment(Kind, group="apps", version="v1", short_names=("deploy",)):
    """A typed view with only some fields. Change it by patch or apply; a PUT would erase the other fields."""

    spec: DeploymentSpec = DeploymentSpec()
    status: DeploymentStatus = DeploymentStatus()
