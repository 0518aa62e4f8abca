"""A recorded run, as the page gets it."""

from __future__ import annotations

from typing import Any

from handloop.picture.recording import gap, numbered


def step(number: int, at: float, component: str = "foos", **facts: Any) -> dict[str, Any]:
    return {"seq": 99, "t": at, "step": number, "component": component, "facts": facts}


def test_steps_count_from_one_and_a_state_belongs_to_the_step_before_it() -> None:
    """In seconds from the first step, behind the opening; bookmarks, Events and renewals are left out."""
    told = [
        {"state": "first"},
        step(1, 10.0, events=0),
        step(7, 10.5),
        {"state": "old"},
        step(10, 10.5, "events"),
        {"state": "new"},
        step(10, 11.0, "leases.coordination.k8s.io", code="200"),
        step(10, 12.0, "leases.coordination.k8s.io", code="200"),
        step(10, 13.0, "leases.coordination.k8s.io", code="409"),
    ]
    run = numbered([told, [gap(14.0, "kill -9"), step(8, 15.0)]], "It begins.")
    seen = [(one["seq"], one["step"], one["t"]) for one in run["steps"]]
    assert seen == [(1, 0, 0), (2, 7, 0), (3, 10, 0.5), (4, 10, 2.5), (5, 0, 3.5), (6, 8, 4.5)]
    assert [(one["seq"], one["state"]) for one in run["states"]] == [(0, "first"), (1, "first"), (2, "new")]
    assert [one["why"] for one in run["steps"] if one["step"] == 0] == ["It begins.", "kill -9"]
