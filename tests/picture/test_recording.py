"""A recording, as the page gets it."""

from __future__ import annotations

from typing import Any

from handloop.picture.recording import gap, numbered
from support.builders.whole_states import whole_states


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
    assert whole_states(run) == {0: "first", 1: "first", 2: "new"}
    assert [one["why"] for one in run["steps"] if one["step"] == 0] == ["It begins.", "kill -9"]


def test_a_state_stands_as_what_has_changed() -> None:
    """Whatever changes: a value, a list of the same length or another, a new key, and one that has gone."""
    states: list[Any] = [
        {"rows": [{"n": 1}, {"n": 2}], "one": 1},
        {"rows": [{"n": 1}, {"n": 3}], "one": 1},
        {"rows": [{"n": 1}], "one": 1, "two": {"a/b": 1}},
        {"rows": [{"n": 1}], "two": {"a/b": 2}},
    ]
    told = [entry for nth, state in enumerate(states) for entry in (step(7, float(nth)), {"state": state})]
    run = numbered([told], "")
    assert list(whole_states(run).values()) == states
    assert run["states"][1]["changes"] == {"rows/1/n": 3}
    assert run["states"][2]["changes"].keys() == {"rows", "two"}
