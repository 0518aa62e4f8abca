"""
metav1.Condition, and functions that read and change lists of conditions.

A list of conditions is a tuple with at most one condition per type. If nothing changes, a function returns
the given tuple itself, so `is` shows whether a status must be written. The transition time changes only with
the condition's status.
Follows: apimachinery pkg/api/meta/conditions.go, differs: returns a new tuple; a second condition of the same
type (a hand-edited status) is dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Final, Literal, TypeVar

import msgspec
from msgspec import Meta

from handloop.apis.grammar.times import format_time
from handloop.apis.meta import APIStruct
from handloop.apis.schema_annotations import DateTime

ConditionStatus = Literal["True", "False", "Unknown"]

TRUE: Final = "True"
FALSE: Final = "False"
UNKNOWN: Final = "Unknown"

_TYPE_PATTERN: Final = (
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
    r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])\Z"
)
_REASON_PATTERN: Final = r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?\Z"


class Condition(APIStruct, omit_defaults=False):
    """One aspect of an object's state, as observed."""

    crd_required: ClassVar[tuple[str, ...]] = ("lastTransitionTime", "message")

    type: Annotated[str, Meta(max_length=316, pattern=_TYPE_PATTERN)]
    """For example `Ready`. A list has at most one condition of each type."""

    status: ConditionStatus
    """`True`, `False` or `Unknown`."""

    observed_generation: Annotated[int, Meta(ge=0)] = 0
    """The object's generation that was observed."""

    last_transition_time: DateTime = ""
    """RFC 3339; "" only until `set_condition` fills it in."""

    reason: Annotated[str, Meta(min_length=1, max_length=1024, pattern=_REASON_PATTERN)]
    """CamelCase, for programs."""

    message: Annotated[str, Meta(max_length=32768)] = ""
    """For people."""


class ForeignCondition(APIStruct):
    """
    A condition in a view of another program's kind. Every field may be absent, and strings are not checked.

    If the view used Condition instead, an object with a missing reason could not be decoded, and so would not
    be cached.
    """

    type: str = ""
    """Such as `Ready`."""

    status: str = ""
    """Usually `True`, `False` or `Unknown`."""

    observed_generation: int = 0
    """The metadata.generation of the object that was observed; 0 if it is not given."""

    last_transition_time: str = ""
    """RFC 3339, as a rule."""

    reason: str = ""
    """For programs."""

    message: str = ""
    """For people."""


Conditions = tuple[Condition, ...]
_C = TypeVar("_C", Condition, ForeignCondition)


def find_condition(conditions: Sequence[_C], condition_type: str) -> _C | None:
    """Return the first condition of the type, or None."""
    for condition in conditions:
        if condition.type == condition_type:
            return condition
    return None


def is_condition_true(conditions: Sequence[_C], condition_type: str) -> bool:
    """Return whether the condition exists and is True."""
    return is_condition(conditions, condition_type, TRUE)


def is_condition_false(conditions: Sequence[_C], condition_type: str) -> bool:
    """Return whether the condition exists and is False. An absent one is neither true nor false."""
    return is_condition(conditions, condition_type, FALSE)


def is_condition(conditions: Sequence[_C], condition_type: str, status: ConditionStatus) -> bool:
    """Return whether the condition exists and has this status."""
    condition = find_condition(conditions, condition_type)
    return condition is not None and condition.status == status


def set_condition(conditions: Conditions, condition: Condition, *, now: float) -> Conditions:
    """
    Replace the condition of the same type, or append the condition.

    If the status stays the same, last_transition_time is kept from the old condition. Otherwise it is the
    time in the given condition, or now if that is "".
    Args: now is in Unix seconds.
    """
    old = find_condition(conditions, condition.type)
    if old is not None and old.status == condition.status and old.last_transition_time:
        at = old.last_transition_time
    else:
        at = condition.last_transition_time or format_time(now)
    new = msgspec.structs.replace(condition, last_transition_time=at)
    changed = _put(conditions, new)
    return conditions if changed == conditions else changed


def remove_condition(conditions: Conditions, condition_type: str) -> Conditions:
    """Return the conditions without any of the given type."""
    if find_condition(conditions, condition_type) is None:
        return conditions
    return tuple(condition for condition in conditions if condition.type != condition_type)


def _put(conditions: Conditions, new: Condition) -> Conditions:
    kept: list[Condition] = []
    for condition in conditions:
        if condition.type != new.type:
            kept.append(condition)
        elif new not in kept:
            kept.append(new)
    return tuple(kept) if new in kept else (*kept, new)
