"""policy/v1, complete; made by `python -m tools.generate_kinds`."""

from __future__ import annotations

from handloop.apis.meta import EMPTY_MAP, APIStruct, FrozenMap, Kind
from handloop.kinds.meta_v1 import Condition, LabelSelector


class PodDisruptionBudgetSpec(APIStruct):
    max_unavailable: int | str | None = None
    min_available: int | str | None = None
    selector: LabelSelector | None = None
    unhealthy_pod_eviction_policy: str | None = None


class PodDisruptionBudgetStatus(APIStruct):
    conditions: tuple[Condition, ...] = ()
    current_healthy: int | None = None
    desired_healthy: int | None = None
    disrupted_pods: FrozenMap = EMPTY_MAP
    disruptions_allowed: int | None = None
    expected_pods: int | None = None
    observed_generation: int | None = None


class PodDisruptionBudget(Kind, group="policy", version="v1", short_names=("pdb",), partial=False):
    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()
