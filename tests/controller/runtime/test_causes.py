"""Why a name is to be reconciled, merged until a worker takes it."""

from __future__ import annotations

import pytest

from handloop.controller.runtime.reconcile_queue import MAX_CAUSES, Cause, Causes
from support.reconcile_rig import NAME, UPDATED

LATER = Cause("requeue", detail="after 10s")


@pytest.mark.parametrize(
    ("cause", "text", "label"),
    [
        (UPDATED, "Deployment default/a updated", "Deployment updated"),
        (LATER, "requeue after 10s", "requeue"),
        (Cause("webhook"), "webhook", "webhook"),
    ],
)
def test_a_cause_in_words_and_as_a_label(cause: Cause, text: str, label: str) -> None:
    """The text says which object; the label, of which there are few, does not."""
    assert (str(cause), cause.label) == (text, label)


def test_causes_are_taken_once() -> None:
    """Whoever takes them has them all, in order and each once; the next finds none."""
    causes = Causes()
    causes.add(NAME, (UPDATED, Cause("b")))
    causes.add(NAME, (UPDATED,))
    assert causes.take(NAME, 0).causes == (UPDATED, Cause("b"))
    assert causes.take(NAME, 0).causes == ()


def test_a_flood_of_causes_is_bounded() -> None:
    """Ten are kept, the others are counted: a busy object cannot fill the memory."""
    causes = Causes()
    causes.add(NAME, [Cause(f"c{i}") for i in range(MAX_CAUSES + 5)])
    taken = causes.take(NAME, 0).causes
    assert [str(cause) for cause in taken[-2:]] == ["c9", "and 5 more"]
    assert causes.take(NAME, 0).causes == ()


def test_what_is_scheduled_waits_for_its_time() -> None:
    """Too early there is nothing to do, and the time is told; when it is due it is the cause."""
    causes = Causes()
    causes.schedule(NAME, 10, LATER)
    assert causes.take(NAME, 9) == ((), 10)
    assert causes.take(NAME, 10) == ((LATER,), None)
    assert causes.take(NAME, 10) == ((), None)


def test_another_cause_takes_the_plan_with_it() -> None:
    """A reconcile decides anew when to come back, so the old plan ends; it is no cause before its time."""
    causes = Causes()
    causes.schedule(NAME, 10, LATER)
    causes.add(NAME, (UPDATED,))
    assert causes.take(NAME, 9) == ((UPDATED,), None)
    assert causes.take(NAME, 99) == ((), None)


def test_causes_that_fall_together_are_all_told() -> None:
    """The event and the time that was up."""
    causes = Causes()
    causes.schedule(NAME, 10, LATER)
    causes.add(NAME, (UPDATED,))
    assert causes.take(NAME, 11).causes == (UPDATED, LATER)
