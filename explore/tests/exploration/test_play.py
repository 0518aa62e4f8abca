"""One run under a plan."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import pytest

from handloop import Context, Manager, Result, controller_for
from handloop.controller.foo.types import Foo
from handloop.seams.logs import get_logger
from handloop_explore.oracles import verdicts
from handloop_explore.plan import LATE_PLAN, Plan
from handloop_explore.play import play
from handloop_explore.workload import (
    Step,
    Workload,
    applied,
    changed,
    deleted,
    invariant,
    settled,
)
from support.builders.workloads import FOO, foo_workload
from support.doubles.real_thread import real_thread

POST = "POST /apis/apps/v1/namespaces/default/deployments"


def test_the_same_plan_is_the_same_run() -> None:
    """Down to the last switch of threads; another order is another run with the same end."""
    plan = Plan.parse("2:crash-after,4:lost/5")
    first, second = play(foo_workload(), plan), play(foo_workload(), plan)
    assert first == second
    others = [play(foo_workload(), plan._replace(order=order)) for order in range(6, 10)]
    assert len({other.switches for other in others}) > 1
    ends = [[state.objects for state in run.states] for run in (first, *others)]
    assert all(end == ends[0] for end in ends)


def test_what_another_real_thread_logs_is_no_part_of_a_run() -> None:
    """Such as one of a server which tests share."""
    log = get_logger("server")

    def line() -> None:
        log.error("no room", err="x", exc_info=OSError())

    with real_thread() as run:
        played = play(foo_workload(applied(FOO), Step("wait", lambda _: run(line))), Plan())
    assert (dict(played.errors), played.bugs) == ({}, [])
    assert not any("no room" in one.words for one in played.story)


def test_errors_of_an_undisturbed_operator_are_told() -> None:
    """Each once, though it is tried again and again."""

    def fail(_: Foo, context: Context) -> None:
        raise TypeError("no such field")

    def set_up(manager: Manager) -> None:
        controller_for(manager, "foos").for_(Foo).complete(fail)

    played = play(Workload(set_up, [applied(FOO), settled(), deleted(FOO)]), Plan())
    words = "Reconciler error: TypeError('no such field')"
    told = [one.words for one in played.story if "logs an error" in one.words]
    assert told == [f"the operator logs an error: {words}"]
    assert [one.failing for one in played.states] == [words, None]


def test_a_late_operator_sees_the_end_of_the_users_steps_alone() -> None:
    """It starts after the last of them; a child that they would change is not there yet."""
    child = {**FOO, "apiVersion": "apps/v1", "kind": "Deployment"}
    steps = (
        applied(FOO),
        changed(child, {"spec": {"paused": True}}),
        changed(FOO, {"spec": {"replicas": 3}}),
    )
    played = play(foo_workload(*steps), LATE_PLAN)
    assert [one.who for one in played.story[:4]] == ["user", "user", "server", "user"]
    assert played.writes[0].at >= 60
    assert played.states[-1].objects["Deployment default/a"]["spec"]["replicas"] == 3


def test_a_crash_ends_all_threads_and_another_process_goes_on() -> None:
    """The write before the crash is not sent, the one after it is."""
    before = threading.active_count()
    for what, creates in (("crash-before", 1), ("crash-after", 1)):
        played = play(foo_workload(applied(FOO)), Plan.parse(f"1:{what}"))
        statuses = [write.status for write in played.writes if f"{write.method} {write.path}" == POST]
        assert statuses == ([0, 201] if what == "crash-before" else [201])
        assert sum(played.made.values()) == creates
        assert "Deployment default/a" in played.states[-1].objects
        assert any(told.words == "another process starts" for told in played.story)
    assert threading.active_count() == before


@pytest.mark.parametrize("what", ["crash", "missed"])
def test_what_users_do_meanwhile_is_made_up_for(what: str) -> None:
    """The operator is down, or does not see it, while a Foo is deleted."""
    played = play(foo_workload(), Plan.parse(f"s3:{what}"))
    words = [line.words for line in played.story]
    struck = words.index(f"the plan strikes step 3, delete Foo a: {what}")
    assert words.index("the user: delete Foo a") > struck
    assert ("another process starts" in words[struck:]) == (what == "crash")
    assert verdicts(play(foo_workload(), Plan()), played) == []


def test_rest_is_asked_for_before_what_comes_next() -> None:
    """An operator that writes as long as its object is there is not quiet because it goes in the end."""

    def reconcile(foo: Foo, context: Context) -> Result:
        patch = {"metadata": {"annotations": {"seen": str(time.time())}}}
        context.client.resource(Foo).patch(foo.metadata.name, patch, namespace="default")
        return Result(requeue_after=10)

    def set_up(manager: Manager) -> None:
        controller_for(manager, "loud").for_(Foo).writes(Foo, "patch").complete(reconcile)

    played = play(Workload(set_up, [applied(FOO), settled(), deleted(FOO)]), Plan())
    assert played.busy > 1


def test_what_a_late_strike_leads_to_is_waited_for() -> None:
    """A watch that falls silent is given up after 75 s; that is no unrest, and changes nothing in the end."""
    workload = replace(foo_workload(applied(FOO)), settle_seconds=50)
    played = play(workload, Plan.parse("2:silent"))
    assert played.writes[-1].at > 21 + 20 + 50, "later than rest was asked for"
    assert verdicts(play(workload, Plan()), played) == []


def told(workload: Workload, line: str) -> list[str]:
    """The words of the story under a plan, in which nothing goes wrong."""
    played = play(workload, Plan.parse(line))
    assert verdicts(play(workload, Plan()), played) == []
    return [one.words for one in played.story]


@pytest.mark.parametrize("line", ["q1:late", "q1:crash", "c1:rival-delete", "c1:rival-drift", "1:crash-down"])
def test_what_is_done_at_rest_is_made_up_for(line: str) -> None:
    """The operator starts late, anew, or after the users; or its child is deleted, or changed."""
    words = told(foo_workload(), line)
    struck = "the plan strikes child 1, Deployment default/a, while the cluster is at rest: "
    expected = "another process starts" if line == "q1:crash" else "the operator starts"
    assert (struck + line.partition(":")[2] if line.startswith("c") else expected) in words
    if line == "1:crash-down":
        assert words.index("the operator starts") > words.index("the user: delete Foo a")


def test_a_process_that_ends_late_is_down_at_rest() -> None:
    """A watch that was blind leads to the write at which it ends: nothing is judged until another starts."""
    steps = (applied(FOO), settled(), deleted(FOO), settled())
    words = told(foo_workload(*steps), "s1:missed,1:crash-down")
    assert words.index("the operator starts") > words.index("the user: delete Foo a")


def test_a_write_that_is_under_way_comes_when_the_next_process_writes() -> None:
    """It is told then; a name that is fixed is taken."""
    words = told(foo_workload(applied(FOO), settled()), "1:crash-sent")
    late = "the server receives the request in flight: write 1: creates Deployment default/a -> 201"
    assert words.index("another process starts") < words.index(late)
    assert any(one.startswith("write 2: tries to create deployments") for one in words)


def test_a_reconcile_may_end_where_it_waits() -> None:
    """Waits are counted in reconciles alone."""

    def wait(foo: Foo, context: Context) -> None:
        time.sleep(2)
        threading.Event().wait(1)

    def set_up(manager: Manager) -> None:
        controller_for(manager, "foos").for_(Foo).complete(wait)

    workload = Workload(set_up, [applied(FOO)], settle_seconds=180)
    assert play(workload, Plan()).waits == 2
    words = told(workload, "p2:crash")
    assert "the plan strikes wait 2, in a reconcile: crash" in words
    assert "another process starts" in words
    assert "the plan strikes wait 1, in a reconcile: pause" in told(workload, "p1:pause")


def test_what_is_expected_holds_where_it_is_asked_for() -> None:
    """And need not in the end."""
    path = "/apis/apps/v1/namespaces/default/deployments/a"
    there, gone = (invariant(words, lambda cluster: cluster.find(path)) for words in ("there", "gone"))
    workload = foo_workload(applied(FOO), settled(there), deleted(FOO), settled(gone))
    assert play(workload, Plan()).broken == ["gone"]
    assert play(foo_workload(applied(FOO), settled(lambda cluster: cluster.find(path))), Plan()).broken == []
