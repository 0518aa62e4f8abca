"""The line that replays a plan."""

from __future__ import annotations

import pytest

from handloop_explore.plan import Plan, Strike


@pytest.mark.parametrize(
    "line",
    [
        "",
        "3:crash-after",
        "1:409,12:rival-edit/77",
        "r2:410,w3:cut",
        "/5",
        "0:late",
        "q2:late,c3:rival-drift,p1:crash",
    ],
)
def test_a_line_is_its_plan(line: str) -> None:
    """There and back."""
    assert str(Plan.parse(line)) == line


def test_a_plan_knows_what_strikes() -> None:
    """By the number of the request, among those of its sort."""
    plan = Plan((Strike(2, "lost"), Strike(4, "500"), Strike(3, "cut", "w")), order=3)
    assert [plan.at(number) for number in range(1, 6)] == ["", "lost", "", "500", ""]
    assert (plan.at(3, "w"), plan.at(3, "r"), plan.at(2, "w")) == ("cut", "", "")
    assert str(plan) == "2:lost,4:500,w3:cut/3"


@pytest.mark.parametrize("line", ["3", "3:boom", "x:lost", "1:lost/x", "r1:crash-after", "w1:429", "1:late"])
def test_any_other_line_is_none(line: str) -> None:
    """The error shows one that is."""
    with pytest.raises(ValueError, match="3:crash-after"):
        Plan.parse(line)
