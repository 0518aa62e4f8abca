from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from handloop.apis.conditions import Condition, Conditions
from handloop.apis.crd import custom_resource_definition
from handloop.apis.grammar.times import parse_time
from handloop.apis.meta import APIStruct, Kind
from handloop.apis.unstructured import Unstructured
from handloop.controller.runtime.builder import controller_for
from handloop.controller.runtime.manager import Manager
from handloop.controller.runtime.reconcile import DONE, ReconcileError, Result, WaitError
from handloop.controller.runtime.reconciling.context import Context
from handloop.controller.runtime.reconciling.controller import Controller
from handloop.controller.runtime.sources.predicates import LabelsMatch
from handloop.informers.keys import ObjectName
from handloop.kinds.core_v1 import ConfigMap
from handloop.testing import assert_rbac_exact, eventually
from handloop.testing.eventually import SECONDS
from handloop.testing.running_operator import RunningOperator, running_operator
from handloop.testing.running_sandbox import RunningSandbox, running_sandbox


class GreetingSpec(APIStruct):
    """Who is greeted."""

    name: str


class Greeting(Kind, group="example.org", version="v1"):
    """A greeting."""

    spec: GreetingSpec


WORLD = {"apiVersion": "example.org/v1", "kind": "Greeting", "metadata": {"name": "world"}}
WORLD |= {"spec": {"name": "World"}}


def greet(greeting: Greeting, context: Context) -> None:
    """Keep a ConfigMap with the text."""
    text = f"Hello, {greeting.spec.name}!"
    context.apply(ConfigMap.named(greeting, data={"text": text}), owner=greeting)


def controller_of(operator: RunningOperator) -> Controller:
    """The one that a set_up has added."""
    (found,) = (each for each in operator.manager.runnables().values() if isinstance(each, Controller))
    return found


def set_up_with(reconcile: Any, *verbs: str) -> Any:
    """A set_up with that reconcile."""

    def set_up(manager: Manager) -> None:
        builder = controller_for(manager, "greeter").for_(Greeting).owns(ConfigMap)
        builder.writes(ConfigMap, *(verbs or ("create", "patch"))).complete(reconcile)

    return set_up


@pytest.fixture
def running(tmp_path: Path) -> Iterator[RunningSandbox]:
    """A sandbox on which nothing happens by itself."""
    with running_sandbox(tmp_path, controllers=(), seed=1) as found:
        yield found


def test_a_good_operator_passes(running: RunningSandbox) -> None:
    """Its kind is installed, it works, and all checks are content."""
    with running_operator(running, set_up_with(greet)) as operator:
        running.apply(WORLD)
        found = running.wait_for(ConfigMap, "world", lambda found: found.data == {"text": "Hello, World!"})
        assert [str(write) for write in operator.writes()] == ["patch configmaps default/world"]
        running.delete(ConfigMap, "world")
        again = running.wait_for(ConfigMap, "world", lambda made: made.metadata.uid != found.metadata.uid)
        assert again.data == found.data
        assert_rbac_exact(operator)


def test_a_kind_without_a_type_works_once_its_definition_is_there(running: RunningSandbox) -> None:
    """No other program can apply it: the kit raises at once."""
    kind = Unstructured.of("example.org/v1", "Greeting")

    def greet_raw(greeting: Unstructured, context: Context) -> None:
        name = greeting.content()["spec"]["name"]
        context.apply(ConfigMap.named(greeting, data={"text": f"Hello, {name}!"}), owner=greeting)

    def set_up(manager: Manager) -> None:
        builder = controller_for(manager, "greeter").for_(kind).owns(ConfigMap)
        builder.writes(ConfigMap, "create", "patch").complete(greet_raw)

    with (
        pytest.raises(AssertionError, match=r"does not serve greetings\.example\.org/v1"),
        running_operator(running, set_up),
    ):
        pass
    running.apply(custom_resource_definition(Greeting))
    with running_operator(running, set_up):
        running.apply(WORLD)
        running.wait_for(ConfigMap, "world", lambda found: found.data == {"text": "Hello, World!"})


def test_a_wait_in_vain_lists_dropped_events(running: RunningSandbox) -> None:
    """Otherwise it would be silent that nothing happens."""

    def set_up(manager: Manager) -> None:
        builder = controller_for(manager, "greeter").for_(Greeting, predicates=(LabelsMatch("app=web"),))
        builder.complete(greet)

    with running_operator(running, set_up) as operator:
        running.apply(WORLD)
        eventually(operator._drops, "dropped")
        with pytest.raises(AssertionError, match="still not as wanted, the ConfigMap") as caught:
            running.wait_for(ConfigMap, "world", seconds=0)
    as_it_is, drops = caught.value.__notes__
    assert as_it_is == "current state: it does not exist"
    # listed, if the controller's handler joins the running informer after it
    assert re.fullmatch(r"predicates dropped watch events: Greeting (added|listed) \(1\)", drops)
    with pytest.raises(AssertionError) as caught:
        running.wait_for(ConfigMap, "world", seconds=0)
    assert caught.value.__notes__ == [as_it_is]


def test_writes_without_end_are_found(running: RunningSandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """An operator that changes its child with each reconcile wakes itself for ever."""
    from handloop.testing import quiet  # noqa: PLC0415 - patched here alone

    monkeypatch.setattr(quiet.assert_quiet, "__kwdefaults__", {"seconds": 0.3, "within_seconds": 0.5})
    count = iter(range(1_000_000))

    def restless(greeting: Greeting, context: Context) -> None:
        context.apply(ConfigMap.named(greeting, data={"n": str(next(count))}), owner=greeting)

    def tell() -> None:
        with running_operator(running, set_up_with(restless)):
            running.apply(WORLD)
            running.wait_for(ConfigMap, "world")

    with pytest.raises(AssertionError, match=r"not quiet: .* patch configmaps default/world"):
        tell()


def test_a_write_at_every_start_is_found(running: RunningSandbox) -> None:
    """It is quiet after it, but a restart writes existing objects."""

    def set_up(manager: Manager) -> None:
        seen: set[str] = set()

        def once(greeting: Greeting, context: Context) -> None:
            if greeting.metadata.name not in seen:
                seen.add(greeting.metadata.name)
                patch = {"metadata": {"annotations": {"started": str(id(seen))}}}
                context.client.resource(Greeting).patch("world", patch, namespace="default")

        controller_for(manager, "greeter").for_(Greeting).writes(Greeting, "patch").complete(once)

    def tell() -> None:
        with running_operator(running, set_up):
            running.apply(WORLD)
            running.wait_for(Greeting, "world", lambda found: found.metadata.annotations)

    words = r"a second run wrote: patch greetings\.example\.org default/world"
    with pytest.raises(AssertionError, match=words):
        tell()


@pytest.mark.parametrize("tells", [False, True])
def test_an_event_of_handloop_is_no_write_of_a_second_run(running: RunningSandbox, tells: bool) -> None:
    """A name is taken in each run anew; an author's own Event at each start is found."""

    def greet_aloud(greeting: Greeting, context: Context) -> None:
        if tells:
            context.event(greeting, "Seen", "again")
        greet(greeting, context)

    def reasons() -> set[str]:
        return {event["reason"] for event in running.get("/api/v1/events")["items"]}

    running.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "world"}})
    with ExitStack() as stack:
        if tells:
            words = "a second run wrote: create events"
            stack.enter_context(pytest.raises(AssertionError, match=words))
        with running_operator(running, set_up_with(greet_aloud), expected_errors="already exists"):
            running.apply(WORLD)
            eventually(lambda: "NameTaken" in reasons(), "told")


@pytest.mark.parametrize("expected", [None, "no greeting today"])
def test_an_error_line_is_found_unless_it_is_expected(running: RunningSandbox, expected: str | None) -> None:
    """A reconcile that failed once was logged."""
    failed = threading.Event()

    def fails_once(_greeting: Greeting, _context: Context) -> None:
        if not failed.is_set():
            failed.set()
            raise ReconcileError("no greeting today")

    def tell() -> None:
        with running_operator(running, set_up_with(fails_once), expected_errors=expected):
            running.apply(WORLD)
            assert failed.wait(20)

    if expected:
        tell()
        return
    with pytest.raises(AssertionError, match=r"the operator logged errors:\n.*no greeting today"):
        tell()


def test_an_error_of_each_try_is_reported_once_and_before_what_follows_from_it(
    running: RunningSandbox,
) -> None:
    """A second run writes another Event, because the index fails again: the reason comes first."""

    def fails(_greeting: Greeting, _context: Context) -> None:
        raise ReconcileError("no greeting today")

    def set_up(manager: Manager) -> None:
        manager.informer_for(Greeting).add_indexers({"name": lambda _: (str(1 // 0),)})
        set_up_with(fails)(manager)

    def tell() -> None:
        with running_operator(running, set_up) as operator:
            running.apply(WORLD)
            registry = operator.manager.registry
            labels = {"controller": "greeter", "result": "error"}
            name = "controller_runtime_reconcile_total"
            eventually(lambda: (registry.get_sample_value(name, labels) or 0) > 2, "tried again")

    with pytest.raises(AssertionError, match=r"the operator logged errors:\n.*Index function") as failure:
        tell()
    message = failure.value.args[0].partition("\nassert")[0]
    assert message.count("no greeting today") == 1
    assert message.count("Index function") == 1
    assert message.endswith("operator(set_up, expected_errors=...)")


class SiteStatus(APIStruct):
    """What a controller says."""

    observed_generation: int = 0
    conditions: Conditions = ()


class Site(Kind, group="example.org", version="v1"):
    """A kind whose status says what was observed."""

    spec: GreetingSpec
    status: SiteStatus = SiteStatus()


def not_done(how: str) -> Condition | None:
    """A condition by which kstatus sees that a Site is not done, and none else."""
    status: dict[str, Any] = {"Ready": "False", "Reconciling": "True"}
    return Condition(type=how, status=status[how], reason="Tried") if how in status else None


@pytest.mark.parametrize("error", [ReconcileError("not today"), WaitError("not today"), None])
@pytest.mark.parametrize("how", ["Ready", "Reconciling", "untold"])
def test_an_object_that_hides_what_is_queued_is_found(
    running: RunningSandbox, error: Exception | None, how: str
) -> None:
    """A retry or a wait that the status does not tell; a requeue_after of one that is done is none."""
    condition = not_done(how)

    def reconcile(site: Site, context: Context) -> Result:
        conditions = context.set_conditions(site, *([condition] if condition else []))
        context.update_status(site, SiteStatus(conditions=conditions))
        if error is not None:
            raise error
        return Result(requeue_after=600)

    def set_up(manager: Manager) -> None:
        controller_for(manager, "sites").for_(Site).complete(reconcile)

    def tell() -> None:
        with running_operator(running, set_up, expected_errors="not today"):
            running.apply(WORLD | {"kind": "Site"})
            running.wait_for(Site, "world", lambda site: site.status.observed_generation == 1)

    if condition or error is None:
        tell()
        return
    words = "Current for kstatus, but its last reconcile failed, or waits: Site default/world\n"
    with pytest.raises(AssertionError, match=words):
        tell()


def test_a_watch_event_of_an_own_write_hides_nothing(running: RunningSandbox) -> None:
    """It waits behind a slow reconcile of another object, and nothing has failed."""
    is_slow, goes_on = threading.Event(), threading.Event()

    def reconcile(site: Site, context: Context) -> None:
        if site.metadata.name == "slow":
            is_slow.set()
            goes_on.wait()
        else:
            slow = WORLD | {"kind": "Site", "metadata": {"name": "slow"}}
            running.apply(slow)
            seen = context.lister_for(Site).get
            eventually(lambda: seen(ObjectName("default", "slow")), "in the cache")
        context.update_status(site, SiteStatus())

    def set_up(manager: Manager) -> None:
        controller_for(manager, "sites").for_(Site).complete(reconcile)

    with running_operator(running, set_up) as operator:
        running.apply(WORLD | {"kind": "Site"})
        assert is_slow.wait(SECONDS)
        sites = controller_of(operator)
        try:
            eventually(lambda: sites.has_work(ObjectName("default", "world")), "queued")
            assert operator.untold() == []
        finally:
            goes_on.set()


def test_a_definition_of_the_test_stays(running: RunningSandbox) -> None:
    """It serves another version, too."""
    merged = custom_resource_definition(Greeting)
    (newer,) = merged["spec"]["versions"]
    merged["spec"]["versions"] = [newer, {**newer, "name": "v1alpha1", "storage": False}]
    running.apply(merged)
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/greetings.example.org"

    def versions() -> list[str]:
        return [one["name"] for one in running.get(path)["spec"]["versions"]]

    with running_operator(running, set_up_with(greet)):
        running.apply(WORLD | {"apiVersion": "example.org/v1alpha1"})
        running.wait_for(ConfigMap, "world")
    assert versions() == ["v1", "v1alpha1"]


def test_the_right_to_tell_of_a_terminal_error_may_stay_unused(running: RunningSandbox) -> None:
    """The runtime declares it for every kind with conditions."""

    def set_up(manager: Manager) -> None:
        controller_for(manager, "sites").for_(Site).complete(lambda _site, _context: None)

    with running_operator(running, set_up) as operator:
        assert_rbac_exact(operator)


def test_a_kind_that_cannot_tell_is_not_asked(running: RunningSandbox) -> None:
    """Without an observed_generation every object counts as Current."""

    def fails(_greeting: Greeting, _context: Context) -> None:
        raise ReconcileError("not today")

    with running_operator(running, set_up_with(fails), expected_errors="not today") as operator:
        running.apply(WORLD)
        greeter = controller_of(operator)
        eventually(lambda: greeter.has_work(ObjectName("default", "world")), "failed")


def test_a_thread_that_stays_is_found(running: RunningSandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its name."""
    from handloop.testing import running_operator as module  # noqa: PLC0415 - patched here alone

    monkeypatch.setattr(module, "_LEAK_SECONDS", 0.01)
    end = threading.Event()
    threads: list[threading.Thread] = []

    def set_up(manager: Manager) -> None:
        threads.append(threading.Thread(target=end.wait, name="forgotten"))
        threads[-1].start()
        set_up_with(greet)(manager)

    try:
        with (
            pytest.raises(AssertionError, match=r"threads outlived the operator: .*forgotten, forgotten"),
            running_operator(running, set_up),
        ):
            pass
    finally:
        end.set()
        for thread in threads:
            thread.join()


def test_a_run_that_fails_raises_its_error(running: RunningSandbox) -> None:
    """As Manager.run: here there is nothing to run."""
    with (
        pytest.raises(RuntimeError, match="nothing to run"),
        running_operator(running, lambda _manager: None),
    ):
        pass


def test_one_clock_moves_the_operator_and_the_server(tmp_path: Path) -> None:
    """
    A reconcile due in 30 days comes when the test moves the clock, and the reconcile's time is the server's.

    Also if the time is moved while a reconcile is under way, which has asked for it before.
    """
    seen: list[datetime] = []
    moved = threading.Event()

    def expire(greeting: Greeting, context: Context) -> Result:
        made = datetime.fromtimestamp(parse_time(greeting.metadata.creation_timestamp or ""), UTC)
        left = made + timedelta(days=30) - context.now()
        seen.append(context.now())
        assert moved.wait(20)
        if left > timedelta():
            return Result(requeue_after=left.total_seconds())
        context.client.resource(Greeting).delete(greeting.metadata.name, namespace="default")
        return DONE

    def set_up(manager: Manager) -> None:
        controller_for(manager, "expiry").for_(Greeting).writes(Greeting, "delete").complete(expire)

    with running_sandbox(tmp_path) as sandbox, running_operator(sandbox, set_up, clock=sandbox.clock):
        sandbox.apply(WORLD)
        eventually(lambda: seen, "a first look")
        sandbox.clock.advance(timedelta(days=30).total_seconds())
        moved.set()
        sandbox.wait_for_gone(Greeting, "world")
        assert abs(sandbox.clock.time() - seen[-1].timestamp()) < 60
