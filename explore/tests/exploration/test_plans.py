"""Which plans are played, and in which order."""

from __future__ import annotations

import itertools
from dataclasses import replace

from handloop_explore.plan import AT_REST, KINDS, LEASES, RIVALS, SLOW, Plan, Where
from handloop_explore.plans import Place, Places, all_plans, single_plans
from handloop_explore.played import Child, Played, State, Told, Write
from handloop_explore.workload import Workload, deleted
from support.builders.workloads import FOO

MAPS = "/api/v1/namespaces/default/configmaps"
MADE = Write(1, 21.0, "POST", MAPS, 201)
CHANGED = Write(2, 41.0, "PUT", f"{MAPS}/a", 200)
PLAYED = Played(
    Plan(),
    [MADE, CHANGED, CHANGED._replace(number=3), CHANGED._replace(number=4, at=99.0)],
    [Told(20.0, "user", "the user: create Foo a"), Told(60.0, "user", "the user: delete Foo a")],
    [State({}, []), State({}, [])],
    0,
    {},
    [],
    "",
    [],
    0,
    reads=2,
    watches=1,
    leases=2,
    waits=1,
    gets=frozenset({2}),
    children=[Child("ConfigMap default/a", 3)],
)
WORKLOAD = Workload(print, [])
PLACES = Places.of(PLAYED, WORKLOAD)
TWO = Places.of(PLAYED, replace(WORKLOAD, replicas=2))


def whats(places: Places, where: Where, number: int) -> set[str]:
    """What may strike there."""
    (found,) = (one for one in places.places if (one.where, one.number) == (where, number))
    return {*found.whats}


def test_each_single_strike_comes_once() -> None:
    """And those with which an operator answers what another client has changed at rest."""
    singles = [plan for plan in single_plans(PLACES) if len(plan.strikes) == 1]
    wanted = [f"{place.where}{place.number}:{what}" for place in PLACES.places for what in place.whats]
    assert sorted(map(str, singles)) == sorted(wanted)
    pairs = [str(plan) for plan in single_plans(PLACES) if len(plan.strikes) > 1]
    assert pairs == ["4:rival-edit,c1:rival-drift"]


def test_only_what_makes_sense_strikes() -> None:
    """No rival edits what is not there, or takes a name that has its object; nobody waits for no user."""
    assert whats(PLACES, "", 1) & {*RIVALS} == {"rival-takes-name"}
    assert "rival-takes-name" not in whats(PLACES, "", 2)
    assert ["crash-down" in whats(PLACES, "", number) for number in (1, 4)] == [True, False]
    assert whats(PLACES, "r", 1) - whats(PLACES, "r", 2) == {"rewound"}
    assert [whats(PLACES, "q", number) for number in (1, 2)] == [{"late", "crash"}, {"crash"}]
    assert whats(PLACES, "c", 1) == {*AT_REST}
    refusing = replace(WORKLOAD, steps=[deleted(FOO, refused=True)])
    for depending in (refusing, replace(WORKLOAD, remembers=True)):
        assert whats(Places.of(PLAYED, depending), "q", 1) == {"crash"}


def test_what_shows_most_comes_first() -> None:
    """Each sort of place has its turn before a second one that is like it; each end of a process is early."""
    singles = [str(plan) for plan in single_plans(PLACES)]
    assert singles[:2] == ["q1:late", "c1:rival-delete"]
    first = singles[:40]
    assert {"1:crash-sent", "1:rival-takes-name", "1:crash-down", "c1:rival-drift", "p1:crash"} <= {*first}
    assert {f"{number}:crash-after" for number in range(1, 5)} <= {*singles[:10]}
    assert singles.index("2:409") < singles.index("3:409") < singles.index("4:409")
    assert singles.index("1:crash-sent") < singles.index("2:crash-sent")


def test_of_several_processes_those_first_after_which_another_one_leads() -> None:
    """One process has no Lease, and nobody to be behind."""
    assert [str(plan) for plan in itertools.islice(single_plans(TWO), 3)] == [
        "l1:crash-after",
        "1:crash-after",
        "2:crash-after",
    ]
    kinds = {strike.what for plan in single_plans(TWO) for strike in plan.strikes if not strike.where}
    assert kinds == {*KINDS[""]} - {"crash-down", "rival-scale"}
    alone = {strike.what for plan in single_plans(PLACES) for strike in plan.strikes if not strike.where}
    assert alone == {*KINDS[""]} - {*LEASES, *SLOW, "rival-scale"}


def test_an_operator_begins_anew_at_rest_or_late() -> None:
    """Which shows whether the undisturbed run is right."""
    assert [str(plan) for plan in PLACES.anew()] == ["q1:crash,q2:crash", "q1:late"]


def test_the_plans_follow_from_the_seed() -> None:
    """First the singles; then samples of all sorts, of which none starts late."""
    count = len([*single_plans(TWO)])
    first, again, other = (list(itertools.islice(all_plans(TWO, seed), count + 300)) for seed in (7, 7, 8))
    assert first == again
    assert first[:count] == other[:count]
    assert first[count:] != other[count:]
    assert {len(plan.strikes) for plan in first[count:]} == {0, 1, 2, 3}
    assert {strike.where for plan in first[count:] for strike in plan.strikes} == {*KINDS}
    assert all(plan.starts_at is None for plan in first[count:])
    assert all(Plan.parse(str(plan)) == plan for plan in first)


def test_a_place_that_is_not_there_is_struck_by_other_strikes_alone() -> None:
    """Of several at most three numbers beyond: another strike may cause more requests."""
    alone = Places([Place("", 1, "POST", ["lost"])])
    samples = list(itertools.islice(all_plans(alone, 1), 200))[1:]
    assert {strike.number for plan in samples for strike in plan.strikes if not strike.where} == {1, 2, 3, 4}
    assert not {strike.where for plan in samples for strike in plan.strikes} & {"c", "p", "q", "l"}
