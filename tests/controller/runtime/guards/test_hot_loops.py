"""A name that is written again and again is slowed down, and the cause is logged."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from handloop.apis.meta import FrozenMap, Kind, ObjectMeta
from handloop.client.http.response import Response
from handloop.client.resource_client import Client
from handloop.client.rest_client import Call
from handloop.controller.foo.types import Foo, FooSpec, FooStatus
from handloop.controller.runtime.builder import controller_for
from handloop.controller.runtime.guards import hot_loops
from handloop.controller.runtime.guards.hot_loops import (
    FIRST_SECONDS,
    HOT_SECONDS,
    HOT_WRITES,
    MAX_SECONDS,
    QUIET_SECONDS,
    SLOW_SECONDS,
    SLOW_WRITES,
    HotLoops,
    Write,
)
from handloop.controller.runtime.reconciling.context import Context
from handloop.controller.runtime.sources.informer_source import own_name
from handloop.informers.keys import ObjectName
from handloop.testing.eventually import eventually
from handloop.testing.fake_clock import FakeClock
from support.checks.captured_logs import captured_logs
from support.doubles.scripted_transport import ScriptedTransport, answer
from support.rigs.managed_sandbox import ManagedSandbox
from support.rigs.reconcile_rig import NAME

CHILD = ObjectName("default", "child")
PATH = "/api/v1/namespaces/default/configmaps/child"
GONE = b'{"kind": "Status", "reason": "NotFound", "code": 404, "details": {"name": "child"}}'
SLOWED = "Reconciles keep writing, slowing them down"

Reconcile = Callable[[Foo, Context], Any]


class ConfigMap(Kind, group="", version="v1"):
    """A child."""

    data: FrozenMap = FrozenMap()


def stored(value: str, *managers: str) -> dict[str, Any]:
    """A ConfigMap on the server; each manager has touched it."""
    fields = [{"manager": manager, "operation": "Apply", "fieldsV1": {"f:data": {}}} for manager in managers]
    return {"metadata": {"name": "child", "managedFields": fields}, "data": {"a": value}}


def found(obj: dict[str, Any]) -> Response:
    """The answer to a GET of it."""
    return answer(200, json.dumps(obj).encode())


def write(method: str = "PATCH", value: str = "ours") -> Write:
    """An accepted write of a ConfigMap."""
    body = json.dumps({"data": {"a": value}}).encode()
    query = {"fieldManager": "us"}
    call = Call("patch", method, PATH, query=query, body=body, namespace="default", name="child")
    return Write(call, json.dumps(stored(value, "us")).encode(), CHILD, "", "patched")


class Loop:
    """One name, on a clock; answers are those to the reads of the written object."""

    def __init__(self, *answers: Response) -> None:
        self.clock = FakeClock()
        self.slowed = 0
        self.loops = HotLoops(Client(ScriptedTransport(list(answers))), slowed=self.slow, clock=self.clock)

    def slow(self) -> None:
        self.slowed += 1

    def write(self, times: int = 1, *writes: Write) -> None:
        """Reconciles that write."""
        for _ in range(times):
            self.loops.wrote(NAME, writes or (write(),))

    def wait(self) -> float:
        """As a worker asks."""
        return self.loops.seconds_to_wait(NAME)

    def wait_over(self) -> None:
        """Let the whole wait pass, and ask again."""
        self.clock.advance(self.wait())
        assert self.wait() == 0


@pytest.fixture
def logs() -> Iterator[list[Any]]:
    with captured_logs() as entries:
        yield entries


def test_a_child_that_is_repaired_twenty_times_in_a_row_is_repaired_at_once(logs: list[Any]) -> None:
    """Whoever deletes it."""
    loop = Loop()
    for _ in range(20):
        loop.write()
        assert loop.wait() == 0
    assert (loop.slowed, logs) == (0, [])


def test_a_name_may_write_49_times_in_ten_seconds_for_ever(logs: list[Any]) -> None:
    """If it is not the same again: no other has undone it."""
    loop = Loop()
    for number in range(10 * (HOT_WRITES - 1)):
        loop.write(1, write(value=str(number)))
        assert loop.wait() == 0
        if number % (HOT_WRITES - 1) == 0:
            loop.clock.advance(HOT_SECONDS + 0.1)
    assert (loop.slowed, logs) == (0, [])


@pytest.mark.parametrize("seconds", [0.25, 2.0, 15.0])
def test_a_fight_below_five_writes_a_second_is_named_and_slowed(logs: list[Any], seconds: float) -> None:
    """A rival flips a Deployment's template for ever; a status that follows is written between."""
    loop = Loop(found(stored("theirs", "rival")))
    writes = 1
    loop.write()
    while loop.wait() == 0:
        loop.loops.wrote(NAME, [write(value="status")._replace(done="status patched")], follows=True)
        assert loop.wait() == 0
        loop.clock.advance(seconds)
        loop.write()
        writes += 1
    assert writes == max(SLOW_WRITES, HOT_SECONDS // seconds) + 1 + (seconds < 1)
    assert (loop.wait(), logs) == (FIRST_SECONDS, [])
    loop.wait_over()
    (line,) = logs
    assert (line["event"], line["fields"], loop.slowed) == (SLOWED, "data.a", 1)
    assert "rival" in line["managers"]


def test_writes_that_change_nothing_or_are_others_are_no_fight(logs: list[Any]) -> None:
    """Also an update whose version alone differs is the same again; another object's is another."""
    loop, numbers = Loop(), iter(range(1000))

    def child() -> Write:
        return write()._replace(target=ObjectName("default", f"child-{next(numbers)}"))

    for _ in range(2 * SLOW_WRITES):
        loop.write(1, write()._replace(idle=True))
        loop.write(1, child())
        loop.clock.advance(1)
        assert loop.wait() == 0
    assert (loop.slowed, logs) == (0, [])


def test_thirty_repairs_in_a_long_time_are_no_fight(logs: list[Any]) -> None:
    """One in 20 seconds."""
    loop = Loop()
    for _ in range(4 * SLOW_WRITES):
        loop.write()
        assert loop.wait() == 0
        loop.clock.advance(SLOW_SECONDS / SLOW_WRITES + 1)
    assert (loop.slowed, logs) == (0, [])


def test_the_wait_grows_to_a_bound_and_starts_over_after_a_quiet_minute(logs: list[Any]) -> None:
    """Reconciles that write nothing change nothing; the name is counted and logged once."""
    loop = Loop(*[found(stored("ours", "us"))] * 2)
    loop.write(HOT_WRITES)
    waits = []
    for _ in range(7):
        waits.append(loop.wait())
        loop.wait_over()
        loop.write()
    assert waits == [FIRST_SECONDS, 2, 4, 8, 16, MAX_SECONDS, MAX_SECONDS]
    assert (loop.slowed, len(logs)) == (1, 1)
    loop.clock.advance(MAX_SECONDS + 60.1)
    loop.write()
    assert loop.wait() == 0


def test_a_status_that_follows_counts_for_a_tenth_and_waits_no_longer(logs: list[Any]) -> None:
    """A rollout writes it often. Two statuses that answer each other are slowed down, and read once."""
    loop = Loop(found(stored("ours", "us")))
    for _ in range(10 * HOT_WRITES):
        assert loop.wait() == 0
        loop.loops.wrote(NAME, [write()], follows=True)
    for number in range(3):
        assert loop.wait() == FIRST_SECONDS
        loop.wait_over()
        loop.loops.wrote(NAME, [write(value=str(number))], follows=True)
    assert [(entry["fields"], "another writer" in entry["fix"]) for entry in logs] == [("data.a", False)]


@pytest.mark.parametrize(
    ("live", "fields", "managers"),
    [
        (found(stored("secret", "us", "them")), "data.a", "them, us"),
        (answer(404, GONE), "the whole object", "us"),
    ],
    ids=["changed", "deleted"],
)
def test_a_rival_is_named_and_no_value(logs: list[Any], live: Response, fields: str, managers: str) -> None:
    """The object is read once, before the first reconcile that had to wait."""
    loop = Loop(live)
    loop.write(HOT_WRITES)
    loop.wait_over()
    loop.write(3)
    (entry,) = logs
    assert (entry["event"], entry["fields"], entry["managers"]) == (SLOWED, fields, managers)
    assert "another writer" in entry["fix"]
    assert entry["once"]
    assert "secret" not in str(entry)


def test_a_name_that_has_cooled_down_is_asked_for_no_more() -> None:
    """Reconciles that write nothing would otherwise cost a request each, for ever."""
    loop = Loop(answer(500))
    loop.write(HOT_WRITES)
    loop.wait_over()
    loop.clock.advance(QUIET_SECONDS)
    loop.wait_over()


def test_odd_writes_of_a_rival_hold_up_no_reconcile(logs: list[Any]) -> None:
    """It may leave its name out, as the server lets it, and nest what it adds as deep as it likes."""
    odd = stored("theirs", "us")
    odd["metadata"]["managedFields"].append({"operation": "Update", "fieldsV1": {"f:data": {}}})
    body = json.dumps({**odd, "extra": "DEEP"}).replace('"DEEP"', "[" * 20_000 + "]" * 20_000)
    loop = Loop(answer(200, body.encode()))
    loop.write(HOT_WRITES)
    loop.wait_over()
    assert [(entry["fields"], entry["managers"]) for entry in logs] == [("data.a", "us")]


def test_a_burst_that_is_over_is_not_reported_with_a_later_change(logs: list[Any]) -> None:
    """A user's change an hour later is no rival, and no request is made for it."""
    loop = Loop()
    loop.write(HOT_WRITES)
    loop.clock.advance(3600)
    assert loop.wait() == 0
    loop.write(1, write(value="another"))
    assert logs == []


def test_a_field_is_named_once_however_many_writes_have_it(logs: list[Any]) -> None:
    """The log names few fields, so that of the last write would be left out."""

    def five(value: str) -> list[Write]:
        one, data = write(value=value), {"data": {"a": value, "b": value}}
        both = json.dumps(data).encode()
        return [one] * 4 + [one._replace(call=one.call._replace(body=both), answer=both)]

    loop = Loop(*(answer(403) for _ in range(5)))
    loop.write(HOT_WRITES, *five("ours"))
    loop.wait_over()
    loop.write(1, *five("another"))
    assert [entry["fields"] for entry in logs] == ["data.a, data.b"]


def test_a_rival_that_we_may_not_see_is_supposed(logs: list[Any]) -> None:
    """The role has no get: two equal writes in a row were undone in between."""
    loop = Loop(answer(403))
    loop.write(HOT_WRITES)
    loop.wait_over()
    loop.write()
    (entry,) = logs
    assert "another writer" in entry["fix"]


def test_a_deletion_that_is_undone_is_reported(logs: list[Any]) -> None:
    """Somebody makes again what we delete."""
    loop = Loop(found(stored("theirs")))
    loop.write(HOT_WRITES, write("DELETE"))
    loop.wait_over()
    assert [entry["fields"] for entry in logs] == ["the whole object"]


def test_what_others_write_beside_us_is_no_rivalry(logs: list[Any]) -> None:
    """Only what we send counts: a status, a label, a version that others write do not."""
    live = stored("ours", "us") | {"status": {"seen": 1}}
    loop = Loop(found({**live, "metadata": {**live["metadata"], "labels": {"b": "c"}}}))
    loop.write(HOT_WRITES)
    loop.wait_over()
    loop.write(1, write(value="another"))
    assert [(entry["fields"], entry["managers"]) for entry in logs] == [("data.a", "us")]


def test_writes_that_alternate_are_told_by_the_fields_of_the_one_that_comes_again(logs: list[Any]) -> None:
    """One that was not made the time before has no fields to compare."""
    loop = Loop(found(stored("ours", "us")))
    loop.write(HOT_WRITES)
    loop.wait_over()
    new = write(value="new")._replace(target=ObjectName("default", "new"))
    loop.write(1, new, write(value="another"))
    assert [entry["fields"] for entry in logs] == ["data.a"]


def test_a_pace_of_another_replicas_name_is_forgotten() -> None:
    """When its slot comes back, it begins anew."""
    loop = Loop()
    loop.write(HOT_WRITES)
    assert loop.wait() > 0
    loop.loops.forget_names(lambda _name: False)
    assert loop.wait() > 0
    loop.loops.forget_names(lambda _name: True)
    assert loop.wait() == 0


def _apply(value: Callable[[], str], foo: Foo, context: Context) -> None:
    metadata = ObjectMeta(name=foo.metadata.name, namespace=foo.metadata.namespace)
    context.apply(ConfigMap(metadata=metadata, data=FrozenMap({"a": value()})))


def fight(manager_name: str) -> Reconcile:
    """A reconcile that wants its own name in a child."""
    return lambda foo, context: _apply(lambda: manager_name, foo, context)


def restless_child(_name: str) -> Reconcile:
    """A reconcile that writes another value each time."""
    numbers = itertools.count()
    return lambda foo, context: _apply(lambda: str(next(numbers)), foo, context)


def restless_status(_name: str) -> Reconcile:
    """A reconcile whose status counts its runs."""
    numbers = itertools.count()

    def reconcile(foo: Foo, context: Context) -> None:
        context.update_status(foo, FooStatus(available_replicas=next(numbers)))

    return reconcile


def other(foo: Foo) -> str:
    """Another name than its Deployment has."""
    return str(int("0" + foo.spec.deployment_name.lstrip("a")) + 1)


def restless_spec(_name: str) -> Reconcile:
    """A reconcile that writes into the spec that it reads, beside a child."""

    def reconcile(foo: Foo, context: Context) -> None:
        _apply(lambda: foo.spec.deployment_name, foo, context)
        spec = {"spec": {"deploymentName": other(foo)}}
        context.client.resource(Foo).patch(foo.metadata.name, spec, namespace=foo.metadata.namespace)

    return reconcile


@pytest.mark.parametrize(
    ("scene", "managers", "fields"),
    [
        (restless_spec, "one", "data.a, spec.deploymentName"),
        (fight, "left, right", "data.a"),
        (restless_child, "one", "data.a"),
        (restless_status, "one", "status.availableReplicas"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_hot_loop_of_controllers_is_logged_and_slowed_down(
    logs: list[Any],
    monkeypatch: pytest.MonkeyPatch,
    scene: Callable[[str], Reconcile],
    managers: str,
    fields: str,
) -> None:
    """Once per controller; the real client, answers and managed fields."""
    monkeypatch.setattr(hot_loops, "FIRST_SECONDS", 0.1)
    cluster, names = ManagedSandbox(), managers.split(", ")
    cluster.install(Foo)
    manager = cluster.manager()
    for name in names:
        controller_for(manager, name).for_(Foo).watches(ConfigMap, own_name).complete(scene(name))
    metadata = ObjectMeta(name="a", namespace="default")
    cluster.client.resource(Foo).create(Foo(metadata=metadata, spec=FooSpec(deployment_name="a")))

    def told() -> list[Any]:
        return [entry for entry in logs if entry["event"] == SLOWED]

    with cluster.running(manager):
        eventually(lambda: len(told()) == len(names), "told")
    assert {(entry["fields"], entry["managers"]) for entry in told()} == {(fields, managers)}
    assert all(cluster.metric("handloop_hot_loops_total", controller=name) == 1 for name in names)
