"""What is wrong with a run, by runs that are made by hand."""

from __future__ import annotations

from typing import Any, Final

import pytest

from handloop_explore.chance import Chance
from handloop_explore.oracles import ends_as, verdicts
from handloop_explore.plan import LATE_PLAN, Plan, Strike
from handloop_explore.played import Played, Rival, Slowest, State
from handloop_explore.record import OPERATOR, Act

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
        ({"states": [State({**END, "Service default/a": OWNER}, [])]}, "but should not"),
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
    assert "Deployment default/a exists in the end, but should not" in left[0]
    two = GOOD._replace(states=[State({}, []), *GOOD.states])
    assert verdicts(two, late._replace(states=two.states[::-1]))
    assert verdicts(two, late._replace(states=[State({}, [], is_down=True), *GOOD.states])) == []


def test_a_process_that_begins_anew_judges_the_undisturbed_run() -> None:
    """What only it makes is missing there; a run that ends as it does is right."""
    anew = GOOD._replace(plan=Plan((Strike(1, "crash", "q"),)))
    more = anew._replace(states=[State({**END, "Service default/a": OWNER}, [])])
    words = "the undisturbed run ends differently than if the process ends at rest and another starts: "
    assert verdicts(GOOD, anew) == []
    assert verdicts(GOOD, more) == [f"{words}Service default/a is missing in the end"]
    assert ends_as(more, more, GOOD)
    assert not ends_as(more, GOOD._replace(states=[State({}, [])]), GOOD)
    assert not ends_as(more, GOOD, GOOD), "a run that does not differ tells nothing"


LOST: Final = {
    "kind": "Deployment",
    "metadata": {"name": "a", "namespace": "default", "ownerReferences": [{"name": "a", "uid": "1"}]},
}
AT_REST: Final = Rival("rival-delete", f"{PATH}/a", LOST, rested_at=100.0)


def lost(rival: Rival = AT_REST, *, heard_at: float = 0.0, end: dict[str, Any] | None = None) -> list[str]:
    """The verdicts where a child does not come back. Args: heard_at = when its owner was reconciled."""
    objects = {"Foo default/a": OWNER} if end is None else end
    state = State(objects, [None], at=200.0, reconciled_at={"default/a": heard_at})
    return verdicts(GOOD, GOOD._replace(states=[state], rivals=[rival]))


def test_what_is_deleted_at_rest_comes_back() -> None:
    """It is said whether anybody heard of that; a Job is done once; another name by chance will do."""
    words = "Deployment default/a does not come back after another client has deleted it at rest: "
    assert lost() == [f"{words}no reconcile follows; check that the operator owns or watches it"]
    assert lost(heard_at=101.0) == [f"{words}its owner was reconciled since then"]
    done = {"Job default/a": CHILD}
    job = AT_REST._replace(target="/apis/batch/v1/namespaces/default/jobs/a", made={**LOST, "kind": "Job"})
    good = GOOD._replace(states=[State({**END, **done}, [])])
    assert verdicts(good, good._replace(plan=GOOD.plan, states=[State(END, [None])], rivals=[job])) == []


def test_a_status_may_tell_what_is_lost() -> None:
    """From then on the run is another; what has changed at rest may stay, too."""
    old = {"kind": "Foo", "metadata": {"name": "a", "uid": "1"}, "status": {}}
    told = Act(150.0, OPERATOR, 9, old, {**old, "status": {"phase": "Lost"}})
    state = State({"Foo default/a": {**OWNER, "status": {"phase": "Lost"}}}, [None], at=200.0)
    run = GOOD._replace(states=[state], rivals=[AT_REST], acts=[told])
    assert verdicts(GOOD, run) == []
    assert verdicts(GOOD, run._replace(acts=[told._replace(at=250.0)]))
    drifted = State({**END, "Deployment default/a": {**CHILD, "spec": {"replicas": 9}}}, [CHILD])
    rival = AT_REST._replace(what="rival-drift")
    assert verdicts(GOOD, GOOD._replace(states=[drifted], rivals=[rival])) == []


def test_what_is_by_chance_is_compared_for_its_presence() -> None:
    """In the objects of that name."""
    good = GOOD._replace(chance=Chance(frozenset({("Deployment default/a", "spec", "replicas")})))
    other = {**END, "Deployment default/a": {**CHILD, "spec": {"replicas": 9}}}
    assert verdicts(good, good._replace(states=[State(other, [])])) == []
    gone = {**END, "Deployment default/a": {**CHILD, "spec": {}}}
    (words,) = verdicts(good, good._replace(states=[State(gone, [])]))
    assert "Deployment default/a differs in the end: spec.replicas" in words


def test_a_deletion_that_is_to_be_refused_need_not_end() -> None:
    """That of the object alone."""
    going = GOOD._replace(states=[State({**END, "Foo default/a": GOING}, [])], refused=frozenset({"Foo a"}))
    assert verdicts(going, going) == []
    assert verdicts(going, going._replace(refused=frozenset({"Foo b"})))


def test_what_goes_with_its_namespace_is_not_deleted_by_the_operator() -> None:
    """Nor by who deletes it there; by it, and for an owner that it has given it, it is."""
    foreign = {"kind": "Deployment", "metadata": {"uid": "7", "name": "a"}}
    taken = GOOD._replace(rivals=[Rival("rival-takes-name", PATH, foreign)], states=[State(END, [None])])
    end = Act(50.0, "namespace-controller", 5, foreign, None)
    owned = {**foreign, "metadata": {"uid": "7", "name": "a", "ownerReferences": [{"uid": "1"}]}}
    assert verdicts(GOOD, taken._replace(acts=[end])) == []
    for act in (end._replace(who=OPERATOR), end._replace(old=owned)):
        assert f"the foreign object {PATH} was deleted" in verdicts(GOOD, taken._replace(acts=[act]))


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
