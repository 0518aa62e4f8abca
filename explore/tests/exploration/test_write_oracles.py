"""What is wrong with the writes of a run: an operator that does it, and one that looks alike and does not."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial

import pytest
from msgspec.structs import replace

from handloop import AlreadyExists, Context
from handloop.controller.foo.runnable import add_plain_foo
from handloop.kinds.core_v1 import ConfigMap
from handloop_explore.cluster import VirtualCluster
from handloop_explore.oracles import habits, verdicts
from handloop_explore.plan import Plan
from handloop_explore.play import play
from handloop_explore.workload import Step, applied, deleted
from support.builders.greetings import HELLO, Greeting, GreetingStatus, config_map, greetings
from support.builders.workloads import FOO, foo_workload
from support.doubles.unspeakable import UNSPEAKABLE

MAPS = "/api/v1/namespaces/default/configmaps"


def wrong(
    reconcile: Callable[[Greeting, Context], None], plan: str = "", steps: Sequence[Step] = ()
) -> list[str]:
    """The verdicts of one plan; "" = of the undisturbed run."""
    workload = greetings(reconcile, *steps)
    good = play(workload, Plan())
    return verdicts(good, play(workload, Plan.parse(plan))) if plan else habits(good)


def children(context: Context) -> list[ConfigMap]:
    """The ConfigMaps that somebody owns."""
    found = context.client.resource(ConfigMap).list(namespace="default").items
    return [one for one in found if one.metadata.owner_references]


def named_by_chance(greeting: Greeting, context: Context, *, looks: bool) -> None:
    """One ConfigMap, of a name that the server or the time gives. Args: looks = after a crash, too."""
    maps = context.client.resource(ConfigMap)
    if greeting.status.child:
        return
    owned = children(context) if looks else []
    child = owned[0] if owned else maps.create(config_map(greeting, f"hello-{context.now().timestamp():.0f}"))
    context.update_status(greeting, GreetingStatus(child=child.metadata.name))


def test_a_second_child_by_another_name_is_found() -> None:
    """The name tells nothing: the same Greeting has two of them after a crash. One is one by any name."""
    found = wrong(lambda greeting, context: named_by_chance(greeting, context, looks=False), "1:crash-after")
    assert "2 objects of kind ConfigMap of Greeting default/hello at once, undisturbed at most 1" in found
    assert any("once more" in words for words in found)
    careful = lambda greeting, context: named_by_chance(greeting, context, looks=True)  # noqa: E731
    assert wrong(careful, "1:crash-before") == wrong(careful, "1:crash-after") == []


def test_a_status_that_comes_before_the_child_is_found() -> None:
    """In the undisturbed run, where the end is right."""

    def early(greeting: Greeting, context: Context) -> None:
        context.update_status(greeting, GreetingStatus(greeted=greeting.spec.name))
        context.apply(config_map(greeting), owner=greeting)

    def late(greeting: Greeting, context: Context) -> None:
        context.apply(config_map(greeting), owner=greeting)
        context.update_status(greeting, GreetingStatus(greeted=greeting.spec.name))

    words = "Greeting default/hello said that all is done before ConfigMap default/hello was written"
    assert f"the status of {words}" in wrong(early)
    assert wrong(late) == []


def test_a_claim_of_a_generation_to_come_is_found() -> None:
    """Before anybody has asked for it."""

    def boastful(greeting: Greeting, context: Context) -> None:
        claimed = GreetingStatus(observed_generation=greeting.metadata.generation + 1)
        if greeting.status != claimed:
            context.client.resource(Greeting).update_status(replace(greeting, status=claimed))

    assert "the status of Greeting default/hello claims generation 2, but it has 1" in wrong(boastful)


def test_a_write_of_another_controllers_object_is_found() -> None:
    """It has the name, and another owner; without a controller it might have been meant to be shared."""

    def greedy(greeting: Greeting, context: Context) -> None:
        taken = context.client.resource(ConfigMap).get("taken", namespace="default")
        context.client.resource(ConfigMap).update(replace(taken, data=config_map(greeting).data))

    def taken(cluster: VirtualCluster, *, owned: bool) -> None:
        boss = cluster.send("POST", MAPS, {"metadata": {"name": "boss"}})["metadata"]
        owner = {"apiVersion": "v1", "kind": "ConfigMap", "controller": owned}
        owners = [{**owner, "name": boss["name"], "uid": boss["uid"]}]
        cluster.send("POST", MAPS, {"metadata": {"name": "taken", "ownerReferences": owners}})

    for owned, found in (
        (True, ["ConfigMap default/taken has another controller, but the operator wrote it"]),
        (False, []),
    ):
        step = Step("make it", partial(taken, owned=owned))
        assert wrong(greedy, steps=(step, applied(HELLO))) == found


def test_a_storm_for_an_owner_that_is_gone_is_found() -> None:
    """However its objects are named."""
    workload = foo_workload(applied(FOO), deleted(FOO), add=add_plain_foo)
    good, storm = play(workload, Plan()), play(workload, Plan.parse("1:silent"))
    found = verdicts(good, storm)
    assert any("were created for Foo default/a after its deletion" in words for words in found)


def test_a_child_that_is_deleted_and_made_again_is_found() -> None:
    """After a lost reply, for no reason. That a rival has deleted it is one."""

    def nervous(greeting: Greeting, context: Context) -> None:
        maps, wanted = context.client.resource(ConfigMap), config_map(greeting)
        if children(context) and not greeting.status.greeted:
            maps.delete(wanted.metadata.name, namespace="default")
        if not children(context):
            maps.create(wanted)
        context.update_status(greeting, GreetingStatus(greeted="yes"))

    assert "the operator deletes ConfigMap default/hello 1 times, undisturbed 0" in wrong(nervous, "1:lost")
    workload = foo_workload()
    assert verdicts(play(workload, Plan()), play(workload, Plan.parse("4:rival-delete"))) == []


def test_writes_that_change_nothing_are_counted() -> None:
    """A few after a strike are no harm."""

    def busy(greeting: Greeting, context: Context) -> None:
        maps, wanted = context.client.resource(ConfigMap), config_map(greeting)
        found = children(context)
        if not found:
            maps.create(wanted)
        elif not greeting.status.greeted:
            for _ in range(9):
                maps.update(found[0])
        context.update_status(greeting, GreetingStatus(greeted="yes"))

    assert "9 writes change nothing, undisturbed 0" in wrong(busy, "1:crash-after")


def test_an_edit_that_a_stale_write_undoes_is_found() -> None:
    """By an update without a version, of an object as it was read before."""

    def careless(greeting: Greeting, context: Context) -> None:
        maps, wanted = context.client.resource(ConfigMap), config_map(greeting)
        if not children(context):
            maps.create(wanted)
        elif children(context)[0].data != wanted.data:
            maps.update(wanted)

    words = "the operator removed another client's label from ConfigMap default/hello"
    assert words in wrong(careless, "2:rival-edit")


def test_a_traceback_that_only_a_strike_brings_is_found() -> None:
    """A lost reply, which the author takes for something else. What is refused is no traceback."""

    def hasty(greeting: Greeting, context: Context) -> None:
        maps = context.client.resource(ConfigMap)
        if not greeting.status.greeted:
            try:
                maps.create(config_map(greeting))
            except AlreadyExists as error:
                raise TypeError("not two of them") from error
            context.update_status(greeting, GreetingStatus(greeted="yes"))

    found = wrong(hasty, "1:lost")
    assert any("a traceback in the log" in words and "not two of them" in words for words in found)
    assert not any("a traceback" in words for words in wrong(hasty, "1:503"))


@pytest.mark.parametrize(
    "error", [SystemExit(3), GeneratorExit(), *UNSPEAKABLE], ids=lambda error: type(error).__name__
)
def test_an_end_of_the_program_within_a_reconcile_is_a_bug_too(error: BaseException) -> None:
    """As `sys.exit()` in a library, and what has no text: the worker lives on."""

    def leaves(greeting: Greeting, context: Context) -> None:
        if not children(context):
            context.client.resource(ConfigMap).create(config_map(greeting))
            raise error

    assert any("a traceback in the log: Reconciler error" in words for words in wrong(leaves, ""))


def test_an_error_that_no_strike_explains_is_found() -> None:
    """A process takes for foreign what another one has left; a refused write is an error of another kind."""
    known: set[object] = set()

    def distrustful(greeting: Greeting, context: Context) -> None:
        there = children(context)
        worker = threading.current_thread()  # of this process
        if there and worker not in known:
            context.log.error(
                "a stranger's ConfigMap", err=f"of version {there[0].metadata.resource_version}"
            )
        known.add(worker)
        context.apply(config_map(greeting), owner=greeting)

    words = "an error in the log that no strike explains: a stranger's ConfigMap: of version "
    assert any(one.startswith(words) for one in wrong(distrustful, "1:crash-after"))
    assert wrong(distrustful, "1:503") == wrong(distrustful, "1:lost") == []
