"""meta/v1, complete; made by `python -m tools.generate_kinds`."""

from __future__ import annotations

from handloop.apis.label_selector import SelectingStruct
from handloop.apis.meta import EMPTY_MAP, APIStruct, FrozenMap


class LabelSelectorRequirement(APIStruct):
    key: str
    operator: str
    values: tuple[str, ...] = ()


class LabelSelector(SelectingStruct):
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()
    match_labels: FrozenMap = EMPTY_MAP


class Condition(APIStruct):
    last_transition_time: str | None = None
    message: str
    observed_generation: int | None = None
    reason: str
    status: str
    type: str
