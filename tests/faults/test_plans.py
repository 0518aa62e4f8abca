"""Plans of the exploration that docs/guarantees.md names, and stories that no single strike tells."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace
from functools import cache
from typing import Any, Final

import pytest

from handloop.apis.crd import custom_resource_definition
from handloop.controller.foo.types import Foo
from handloop_explore.oracles import verdicts
from handloop_explore.plan import Plan, Strike
from handloop_explore.play import play
from handloop_explore.played import Played
from handloop_explore.plays import Plays
from handloop_explore.workload import Step, Workload, applied, changed, deleted, settled
from support.builders import workloads
from support.builders.workloads import FOO, FOO_LIFE, MYAPP_LIFE, foo_workload
from tools.shown import rows

LIVES: Final = pytest.mark.parametrize("workload", [FOO_LIFE, MYAPP_LIFE], ids=["foo", "myapp"])
NAMED: Final = sorted({plan for row in rows("TPADS") for plan in row.plans})
CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CRD: Final = custom_resource_definition(Foo)


def foo(name: str, namespace: str = "default", **spec: Any) -> dict[str, Any]:
    """A Foo; its Deployment has its name unless given."""
    return {
        **FOO,
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"deploymentName": name, "replicas": 1, **spec},
    }


@cache
def undisturbed(workload: Workload) -> Played:
    """The run without a plan."""
    return play(workload, Plan())


def wrong(workload: Workload, *strikes: Strike) -> list[str]:
    """What the oracles find in a run; every strike has to have struck."""
    played = play(workload, Plan(strikes))
    struck = [told.words for told in played.story if told.who == "plan"]
    assert len(struck) == len(strikes)
    assert "the rival has nothing to do there" not in [told.words for told in played.story]
    return verdicts(undisturbed(workload), played)


@pytest.mark.parametrize(("name", "line"), NAMED, ids=map(" ".join, NAMED))
def test_a_named_plan_changes_nothing_in_the_end(name: str, line: str) -> None:
    """It strikes where it says, and the run ends as the undisturbed one."""
    assert wrong(getattr(workloads, name), *Plan.parse(line).strikes) == []


@pytest.mark.parametrize("what", ["crash-before", "crash-after"])
@pytest.mark.parametrize("every", [1, 2, 3])
@LIVES
def test_a_crash_at_every_kth_write_delays_and_harms_nothing(
    workload: Workload, every: int, what: str
) -> None:
    """Twelve crashes at most; where each write is lost with its process, the first one after them is made."""
    plan = Plan(tuple(Strike(number, what) for number in range(every, 12 * every + 1, every)))
    played = play(workload, plan)
    assert [write for write in played.writes if write.struck]
    assert verdicts(undisturbed(workload), played) == []


@pytest.mark.nightly
@LIVES
def test_all_pairs_of_crashes_change_nothing_in_the_end(workload: Workload) -> None:
    """Before, after, and with a lost reply: each at each write, the second one in what follows."""
    numbers = range(1, len(undisturbed(workload).writes) + 3)
    ends = itertools.product(("crash-before", "crash-after", "lost"), repeat=2)
    plans = [
        Plan(tuple(map(Strike, pair, whats)))
        for pair, whats in itertools.product(itertools.combinations(numbers, 2), ends)
    ]
    judged = list(Plays(workload, undisturbed(workload), (), processes=2).judged(plans))
    assert len(judged) == len(plans)
    assert [(failure.plan, failure.verdicts) for _, failure in judged if failure] == []


def test_a_rival_that_wins_fifty_times_is_outlasted() -> None:
    """Each wait is at most 1000 s; when the rival stops, the status is written."""
    quick = foo_workload(applied(FOO))
    strikes = tuple(Strike(number, "409") for number in range(2, 52))
    played = play(replace(quick, settle_seconds=40_000), Plan(strikes))
    times = [write.at for write in played.writes]
    assert [write.struck for write in played.writes] == ["", *["409"] * 50, ""]
    assert max(after - before for before, after in itertools.pairwise(times)) < 1000.1
    assert verdicts(undisturbed(quick), played) == []


def test_a_name_that_always_fails_delays_no_other() -> None:
    """A Foo whose Deployment is another's: twenty others are as quick as without it, and it is not hot."""
    others = [applied(foo(f"good-{number}")) for number in range(20)]
    taken = applied(foo("poison", deploymentName="good-0"))
    alone = play(foo_workload(*others, settled()), Plan())
    beside = play(foo_workload(others[0], taken, *others[1:], settled()), Plan())

    def begun(played: Played) -> list[float]:
        """Seconds of virtual time from each create to the first status of the same object."""
        writes = [(write.path.split("/")[-2], write.at) for write in reversed(played.writes)]
        firsts = dict(writes)
        return [round(firsts[f"good-{number}"] % 20, 2) for number in range(20)]

    assert begun(beside) == begun(alone)
    assert not [write for write in beside.writes if "poison" in write.path]


def test_a_definition_that_goes_and_comes_back_needs_no_restart() -> None:
    """The Foos go with it, their Deployments with them; a Foo of the new one is served."""
    path = f"{CRDS}/{CRD['metadata']['name']}"
    gone = Step("delete the definition", lambda cluster: cluster.send("DELETE", path))
    back = Step("create the definition", lambda cluster: cluster.send("POST", CRDS, CRD))
    pause = Step("wait", lambda _: None)
    played = play(foo_workload(applied(FOO), gone, pause, pause, back, pause, applied(FOO)), Plan())
    assert (played.died, played.busy) == ("", 0)
    assert set(played.states[-1].objects) == {"Foo default/a", "Deployment default/a"}
    creates = [write.at for write in played.writes if write.method == "POST"]
    assert len(creates) == 2


@pytest.mark.parametrize("what", ["silent", "stale", "cut", "expired"])
@pytest.mark.parametrize("write", [1, 2])
def test_a_namespace_that_goes_takes_all_along(write: int, what: str) -> None:
    """Nothing is made there again, whatever the watches show."""
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}
    workload = foo_workload(applied(namespace), applied(foo("a", "n")), deleted(namespace))
    assert wrong(workload, Strike(write, what)) == []


def test_two_foos_that_name_one_deployment_do_not_fight() -> None:
    """The first one keeps it, and scales it; the second inherits the name. Neither writes without a cause."""
    one, two = foo("one", deploymentName="web"), foo("two", deploymentName="web", replicas=3)
    scaled = changed(one, {"spec": {"replicas": 2}})
    played = play(foo_workload(applied(one), applied(two), scaled, settled(), deleted(one)), Plan())
    children = [state.objects["Deployment default/web"] for state in played.states]
    found = [(child["metadata"]["owners"], child["spec"]["replicas"]) for child in children]
    assert found == [(["Foo one"], 2), (["Foo two"], 3)]
    assert (played.busy, Counter(played.made.values())) == (0, Counter({2: 1}))
