from __future__ import annotations

from handloop_learn import ch13_finalizers
from handloop_learn.ch13_finalizers import FINALIZER, State
from support.checks.chapters import told


def test_a_finalizer_holds_the_object_until_all_is_cleaned_up() -> None:
    """Deleted is not gone; a crash between the two steps cleans up twice; without a controller it stays."""
    end, _ = told(ch13_finalizers.chapter)
    assert end.states == [
        State(True, False, (FINALIZER,), 1),
        State(True, True, (FINALIZER,), 1),
        State(True, True, (FINALIZER,), 0),
        State(False, False, (), 0),
    ]
    assert end.asked == {"create": 2, "delete": 2}
    assert "no new finalizers can be added" in end.refusal
    assert end.alone == State(True, True, (FINALIZER,), 1)
