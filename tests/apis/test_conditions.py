from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handloop.apis.conditions import (
    FALSE,
    TRUE,
    UNKNOWN,
    Condition,
    ConditionStatus,
    ForeignCondition,
    find_condition,
    is_condition,
    is_condition_false,
    is_condition_true,
    remove_condition,
    set_condition,
)

_THEN, _NOW = 1_700_000_000.0, 1_700_000_060.0
_THEN_TEXT, _NOW_TEXT = "2023-11-14T22:13:20Z", "2023-11-14T22:14:20Z"


def _ready(
    status: ConditionStatus, *, at: str = "", reason: str = "DeploymentReady", message: str = ""
) -> Condition:
    return Condition(type="Ready", status=status, reason=reason, message=message, last_transition_time=at)


def test_a_new_condition_is_appended_with_the_time() -> None:
    """The first condition of a type goes to the end and its transition is now."""
    other = Condition(type="Progressing", status=TRUE, reason="Reconciling", last_transition_time=_THEN_TEXT)
    assert set_condition((other,), _ready(TRUE), now=_NOW) == (other, _ready(TRUE, at=_NOW_TEXT))


def test_a_given_time_is_kept_for_a_new_condition() -> None:
    """A caller may give the time of the transition."""
    assert set_condition((), _ready(TRUE, at=_THEN_TEXT), now=_NOW) == (_ready(TRUE, at=_THEN_TEXT),)


def test_the_time_stays_while_the_status_stays() -> None:
    """Another reason, message or generation is no transition."""
    before = (_ready(TRUE, at=_THEN_TEXT),)
    new = msgspec.structs.replace(_ready(TRUE, reason="Other", message="3/3"), observed_generation=4)
    (after,) = set_condition(before, new, now=_NOW)
    assert after == msgspec.structs.replace(new, last_transition_time=_THEN_TEXT)


def test_the_time_moves_when_the_status_changes() -> None:
    """A changed status is a transition: now, or the time that is given with it."""
    before = (_ready(TRUE, at=_THEN_TEXT),)
    assert set_condition(before, _ready(FALSE), now=_NOW) == (_ready(FALSE, at=_NOW_TEXT),)
    given_time = "2023-11-14T22:14:00Z"
    assert set_condition(before, _ready(FALSE, at=given_time), now=_NOW) == (_ready(FALSE, at=given_time),)


def test_nothing_changed_returns_the_same_tuple() -> None:
    """Identity shows that no write is needed."""
    before = (_ready(TRUE, at=_THEN_TEXT),)
    assert set_condition(before, _ready(TRUE), now=_NOW) is before
    assert remove_condition(before, "Degraded") is before


def test_a_missing_transition_time_is_filled_in() -> None:
    """A stored condition without a time, as left by an edit, gets one with the next write."""
    assert set_condition((_ready(TRUE),), _ready(TRUE), now=_NOW) == (_ready(TRUE, at=_NOW_TEXT),)


def test_duplicates_of_the_type_collapse_into_one() -> None:
    """A hand-edited list with a type twice is repaired by the next write of that type."""
    other = Condition(type="Degraded", status=FALSE, reason="AsExpected", last_transition_time=_THEN_TEXT)
    before = (_ready(TRUE, at=_THEN_TEXT), other, _ready(FALSE, at=_NOW_TEXT))
    assert set_condition(before, _ready(TRUE), now=_NOW) == (_ready(TRUE, at=_THEN_TEXT), other)


def test_removing_a_condition_removes_all_of_its_type() -> None:
    """Removal leaves the other types in their order."""
    other = Condition(type="Degraded", status=FALSE, reason="AsExpected", last_transition_time=_THEN_TEXT)
    assert remove_condition((_ready(TRUE), other, _ready(FALSE)), "Ready") == (other,)


def test_predicates_of_an_absent_condition_are_all_false() -> None:
    """A condition that is not there is not true, not false and not unknown."""
    assert find_condition((), "Ready") is None
    assert not is_condition_true((), "Ready")
    assert not is_condition_false((), "Ready")
    assert not is_condition((), "Ready", UNKNOWN)


def test_predicates_read_the_status() -> None:
    """Each predicate is true for its own status only."""
    conditions = (_ready(TRUE),)
    assert find_condition(conditions, "Ready") is conditions[0]
    assert is_condition_true(conditions, "Ready")
    assert not is_condition_false(conditions, "Ready")
    assert is_condition((_ready(UNKNOWN),), "Ready", UNKNOWN)


def test_every_required_field_is_on_the_wire() -> None:
    """An empty message and generation 0 are sent: the CRD schema of conditions requires them."""
    (condition,) = set_condition((), _ready(TRUE), now=_THEN)
    assert msgspec.json.decode(msgspec.json.encode(condition)) == {
        "type": "Ready",
        "status": "True",
        "observedGeneration": 0,
        "lastTransitionTime": _THEN_TEXT,
        "reason": "DeploymentReady",
        "message": "",
    }


@pytest.mark.parametrize(
    "body",
    [
        b'{"type":"Ready","status":"yes","reason":"X"}',
        b'{"type":"Re ady","status":"True","reason":"X"}',
        b'{"type":"Ready","status":"True","reason":""}',
        b'{"type":"Ready","status":"True","reason":"not camel case"}',
        b'{"type":"Ready","status":"True","reason":"X","observedGeneration":-1}',
    ],
)
def test_a_malformed_condition_does_not_decode(body: bytes) -> None:
    """The bounds of metav1.Condition hold here too."""
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(body, type=Condition)


_conditions = st.lists(
    st.builds(
        Condition,
        type=st.sampled_from(["Ready", "Progressing", "Degraded"]),
        status=st.sampled_from([TRUE, FALSE, UNKNOWN]),
        reason=st.sampled_from(["A", "B"]),
        last_transition_time=st.sampled_from(["", _THEN_TEXT]),
    ),
    max_size=6,
).map(tuple)


@given(_conditions, _conditions)
def test_set_condition_is_idempotent_and_leaves_others_alone(
    conditions: tuple[Condition, ...], new: tuple[Condition, ...]
) -> None:
    """Setting twice is setting once; other types keep values and order; one of the set type remains."""
    for condition in new:
        after = set_condition(conditions, condition, now=_NOW)
        assert set_condition(after, condition, now=_NOW + 60) is after
        assert remove_condition(after, condition.type) == remove_condition(conditions, condition.type)
        assert [c.type for c in after].count(condition.type) == 1
        conditions = after


def test_a_foreign_condition_takes_what_others_leave_out() -> None:
    """A view with it decodes, and is asked as one of ours; with Condition the object would be kept out."""
    odd_one = {"type": "Odd", "status": "maybe", "reason": "no reason!"}
    text = msgspec.json.encode([{"type": "Ready", "status": "True"}, odd_one, {}])
    found = msgspec.json.decode(text, type=tuple[ForeignCondition, ...])
    assert is_condition_true(found, "Ready")
    odd = find_condition(found, "Odd")
    assert odd is not None
    assert (odd.reason, is_condition_false(found, "Odd")) == ("no reason!", False)
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(text, type=tuple[Condition, ...])
