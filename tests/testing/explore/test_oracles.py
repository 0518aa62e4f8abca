"""What is wrong with a run, by runs that are made by hand."""

from __future__ import annotations

from typing import Any

import pytest

from handloop.testing.explore.oracles import verdicts
from handloop.testing.explore.plan import LATE_PLAN, Plan, Strike
from handloop.testing.explore.played import Played, Rival, Slowest, State

CHILD: dict[str, Any] = {"metadata": {"owners": ["Foo a"]}, "spec": {"replicas": 1}}
OWNER: dict[str, Any] = {"metadata": {"owners": []}, "spec": {}}
END = {"Foo default/a": OWNER, "Deployment default/a": CHILD}
PATH = "/apis/apps/v1/namespaces/default/deployments"
FOOS = "/apis/samplecontroller.k8s.io/v1alpha1/namespaces/default/foos"
GOOD = Played(
    plan=Plan((Strike(1, "lost"),)),
    writes=[],
    story=[],
    states=[State(END, [])],
    busy=0,
    made={PATH: 1},
    rivals=[],
    died="",
    broken=[],
    switches=0,
)
FOREIGN = {"metadata": {"labels": {"of": "another"}}, "spec": {"replicas": 7}}
GOING = {"metadata": {"owners": [], "deletionTimestamp": "TIME"}}
TAKEN = Rival("rival-takes-name", PATH, FOREIGN)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"busy": 4}, "it does not come to rest: 4 writes"),
        ({"died": "ValueError: x"}, "the process ended by itself: ValueError: x"),
        ({"slowest": Slowest(400, "foos"), "deadline_seconds": 300}, "a reconcile of foos took 400 s"),
        ({"made": {PATH: 9}}, f"a storm: 9 creates at {PATH}, undisturbed 1"),
        ({"states": [State({"Foo default/a": OWNER}, [])]}, "Deployment default/a is missing"),
        ({"states": [State({**END, "Service default/a": OWNER}, [])]}, "nobody asked for it"),
        (
            {"states": [State({**END, "Deployment default/a": {**CHILD, "spec": {}}}, [])]},
            "spec.replicas 1 -> None",
        ),
        (
            {"states": [State({**END, "Foo default/a": GOING}, [])]},
            "still being deleted",
        ),
        ({"broken": ["two is one"]}, "two is one"),
        (
            {"rivals": [TAKEN], "states": [State(END, [{**FOREIGN, "spec": {}}])]},
            f"foreign object {PATH} was written: spec.replicas 7 -> None",
        ),
        ({"rivals": [TAKEN], "states": [State(END, [None])]}, "was deleted"),
    ],
)
def test_each_wrong_is_named(bad: dict[str, Any], words: str) -> None:
    """And the good run is not."""
    assert verdicts(GOOD, GOOD) == []
    assert words in " ".join(verdicts(GOOD, GOOD._replace(**bad)))


def test_the_end_follows_from_what_users_want_in_the_end() -> None:
    """Where the operator starts after them nothing else is there; what is there before does not count."""
    late = GOOD._replace(plan=LATE_PLAN)
    assert verdicts(GOOD, late) == []
    left = verdicts(GOOD, late._replace(states=[State({"Foo default/a": OWNER}, [])]))
    assert len(left) == 1
    assert "Deployment default/a is there in the end, and nobody asked for it" in left[0]
    two = GOOD._replace(states=[State({}, []), *GOOD.states])
    assert verdicts(two, late._replace(states=two.states[::-1]))
    assert verdicts(two, late._replace(states=[GOOD.states[0], *GOOD.states])) == []


def test_an_operator_that_never_succeeds_is_no_measure() -> None:
    """Where there is nothing to do, it does not count."""
    states = [State(END, [], failing) for failing in ("TypeError: x", None)]
    failing = GOOD._replace(plan=Plan(), states=states)
    assert verdicts(failing, failing) == ["it never succeeds: TypeError: x"]
    sometimes = failing._replace(states=[*states, State(END, [], "")])
    assert verdicts(sometimes, sometimes) == []


def test_what_a_rival_has_taken_away_is_not_missing() -> None:
    """Nor what it owned."""
    rival = Rival("rival-delete", f"{FOOS}/a", None)
    assert verdicts(GOOD, GOOD._replace(states=[State({}, [None])], rivals=[rival])) == []
    child = Rival("rival-delete", f"{PATH}/a", None)
    left = GOOD._replace(states=[State({"Foo default/a": OWNER}, [CHILD])], rivals=[child])
    assert verdicts(GOOD, left) == ["Deployment default/a is missing in the end"]
    other = {"Foo n/a": OWNER, "Deployment n/a": CHILD}
    both = GOOD._replace(states=[State({**GOOD.states[0].objects, **other}, [])])
    assert verdicts(both, both._replace(plan=GOOD.plan, states=[State(other, [None])], rivals=[rival])) == []
