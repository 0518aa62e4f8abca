"""The condition Stalled: on a sandbox without sockets, reconcile by reconcile, and with a manager."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import pytest
from msgspec.structs import replace

from handloop.apis.apps_v1 import Deployment
from handloop.apis.conditions import Condition, Conditions, find_condition
from handloop.apis.crd import list_map
from handloop.apis.meta import APIStruct, Kind
from handloop.client.errors import Conflict
from handloop.controller.runtime.builder import controller_for
from handloop.controller.runtime.context import Context
from handloop.controller.runtime.reconcile import DONE, ReconcileError, TerminalError, WaitError
from handloop.controller.runtime.stalled import STALLED, TERMINAL_ERROR, Stalling, can_stall
from handloop.informers.keys import ObjectName
from handloop.kinds.policy_v1 import PodDisruptionBudget
from handloop.testing.eventually import eventually
from handloop.testing.kstatus import assert_kstatus
from handloop.testing.request_trace import RequestTrace
from support.checks.captured_logs import captured_logs
from support.rigs.managed_sandbox import ManagedSandbox

NAME = ObjectName("default", "a")


class SiteSpec(APIStruct):
    """What a user wants."""

    size: int = 0


class SiteStatus(APIStruct):
    """What the controller says."""

    observed_generation: int = 0
    conditions: Annotated[Conditions, list_map("type")] = ()


class Site(Kind, group="example.org", version="v1"):
    """A kind that can stall."""

    spec: SiteSpec = SiteSpec()
    status: SiteStatus = SiteStatus()


class Rig:
    """The Site `a` on a server, a cache of it, and a reconcile that does what `do` does."""

    def __init__(self) -> None:
        self.cluster = ManagedSandbox(Site)
        self.sites = self.cluster.client.resource(Site)
        self.seen: Site | None = self.sites.create(Site.named("a", namespace="default"))
        self.context = Context(controller="sites", client=self.cluster.client)
        self.do: Callable[[], object] = lambda: None
        self.trace = RequestTrace(self.cluster.sandbox.engine, "admin", user_agent="")

    def live(self) -> Site:
        """As the server has it."""
        return self.sites.get("a", namespace="default")

    def reconcile(self, error: Exception | None = None) -> list[str]:
        """Reconcile what the cache has. Returns: the requests' verbs; "told" if the error is no news."""
        before = len(self.trace.asked())

        def reconcile(_name: ObjectName, _context: Context) -> Any:
            self.do()
            if error is not None:
                raise error
            return DONE

        stalling = Stalling(lambda _name: self.seen, reconcile)
        if error is None:
            assert stalling.reconcile(NAME, self.context) is DONE
        else:
            with pytest.raises(type(error)) as raised:
                stalling.reconcile(NAME, self.context)
            assert raised.value is error
        verbs = [one.verb for one in self.trace.asked()[before:]]
        return [*verbs, "told"] if isinstance(error, TerminalError) and error.is_told else verbs

    def stall(self, text: str = "no such image") -> Site:
        """Let it stall, and the cache see that."""
        self.reconcile(TerminalError(text))
        self.seen = self.live()
        return self.seen


def test_a_terminal_error_is_told_and_a_success_takes_it_back() -> None:
    """Its text, before other conditions, with the generation; without news there is no request."""
    rig = Rig()
    ready = Condition(type="Ready", status="False", reason="No", last_transition_time="2026-01-01T00:00:00Z")
    rig.seen = rig.context.update_status(rig.live(), SiteStatus(conditions=(ready,)))
    assert rig.reconcile() == []
    assert rig.reconcile(TerminalError("no such image")) == ["get", "update"]
    rig.seen = rig.live()
    stalled, kept = rig.seen.status.conditions
    assert (stalled.type, stalled.status, stalled.reason) == (STALLED, "True", TERMINAL_ERROR)
    assert (stalled.message, stalled.observed_generation, kept) == ("no such image", 1, ready)
    assert_kstatus(rig.seen, "Failed")
    assert rig.reconcile(TerminalError("no such image")) == ["told"]
    for other in (ReconcileError("no such image"), WaitError("later"), ValueError()):
        assert rig.reconcile(other) == []
    assert rig.stall("x" * 40_000).status.conditions[0].message == "x" * 32_768
    assert rig.reconcile() == ["get", "update"]
    assert rig.live().status.conditions == (ready,)


def test_a_new_object_that_stalls_has_been_observed() -> None:
    """Though its reconcile has written no status: it has failed, and is not in progress."""
    rig = Rig()
    assert_kstatus(rig.live(), "InProgress")
    assert_kstatus(rig.stall(), "Failed")


def test_a_condition_of_the_authors_is_left_alone() -> None:
    """True or False, before the reconcile or since: its reason is another one."""
    rig = Rig()
    theirs = Condition(
        type=STALLED, status="False", reason="Fine", last_transition_time="2026-01-01T00:00:00Z"
    )
    rig.do = lambda: rig.context.update_status(rig.live(), SiteStatus(conditions=(theirs,)))
    assert "update" in rig.reconcile(TerminalError("no such image"))
    rig.seen = rig.live()
    assert rig.seen.status.conditions == (theirs,)
    rig.do = lambda: None
    assert rig.reconcile(TerminalError("no such image")) == []
    assert rig.reconcile() == []


def test_what_the_reconcile_has_written_stays() -> None:
    """Its status and its finalizer: the condition joins them."""
    rig = Rig()
    up = Condition(type="Up", status="True", reason="Yes", last_transition_time="2026-01-01T00:00:00Z")

    def write() -> None:
        there = rig.context.update_status(rig.live(), SiteStatus(conditions=(up,)))
        rig.sites.patch("a", {"metadata": {"finalizers": ["example.org/x"]}}, namespace="default")
        assert there.status.observed_generation == 1

    rig.do = write
    after = rig.stall()
    assert [each.type for each in after.status.conditions] == [STALLED, "Up"]
    assert after.metadata.finalizers == ("example.org/x",)


@pytest.mark.parametrize("error", [TerminalError("no such image"), None])
def test_an_object_that_has_changed_since_is_left_to_the_next_reconcile(error: Exception | None) -> None:
    """Of another generation, gone, or another one of its name: this reconcile was not about it."""
    rig = Rig()
    if error is None:
        rig.stall()
    rig.sites.patch("a", {"spec": {"size": 2}}, namespace="default")
    before = rig.live()
    assert rig.reconcile(error) == ["get"]
    assert rig.live() == before
    rig.sites.delete("a", namespace="default")
    assert rig.reconcile(error) == ["get"]
    again = rig.sites.create(Site.named("a", namespace="default"))
    assert rig.reconcile(error) == ["get"]
    assert rig.live() == again
    rig.seen = None
    assert rig.reconcile(error) == []


def test_a_race_that_is_lost_is_for_the_next_try() -> None:
    """Somebody else's write came between the read and ours: a Conflict, and not the TerminalError."""
    rig = Rig()
    stalling = Stalling(lambda _name: rig.seen, lambda _name, _context: fail())
    with rig.cluster.sandbox.faults.conflict(verbs=["update"]), pytest.raises(Conflict):
        stalling.reconcile(NAME, rig.context)


def fail() -> Any:
    """Raise a TerminalError."""
    raise TerminalError("no such image")


def test_with_a_manager_it_is_an_own_write_and_survives_a_conflict() -> None:
    """One condition and no error but the TerminalError; nothing follows, and a change ends it."""
    cluster = ManagedSandbox(Site)
    sites = cluster.client.resource(Site)
    manager = cluster.manager()

    def reconcile(site: Site, context: Context) -> None:
        context.update_status(site, site.status)
        if site.spec.size < 1:
            raise TerminalError("size is 0")

    controller = controller_for(manager, "sites").for_(Site).complete(reconcile)
    resource = Site.resource
    assert any((each.resource, each.subresource) == (resource, "status") for each in manager.access())
    lost = cluster.sandbox.faults.conflict(verbs=["update"], skip=1, count=1)
    sites.create(Site.named("a", namespace="default"))

    def stalled() -> Condition | None:
        return find_condition(sites.get("a", namespace="default").status.conditions, STALLED)

    with captured_logs() as lines, cluster.running(manager):
        eventually(stalled, "stalled")
        assert_kstatus(sites.get("a", namespace="default"), "Failed")
        sites.patch("a", {"spec": {"size": 1}}, namespace="default")
        eventually(lambda: not stalled(), "at work again")
        assert_kstatus(sites.get("a", namespace="default"))
    assert lost.hits == 1
    assert [line["err"] for line in lines if line["log_level"] == "error"] == ["size is 0"]
    assert any("status updated" in str(line.get("changes")) for line in lines)
    assert controller.statistics().unexpected == 0


def test_the_first_controller_of_a_kind_tells() -> None:
    """Another one that succeeds with the same object leaves the condition alone, or they would fight."""
    cluster = ManagedSandbox(Site)
    sites, manager = cluster.client.resource(Site), cluster.manager()
    controller_for(manager, "first").for_(Site).complete(lambda _site, _context: fail())
    seen: list[Conditions] = []
    second = controller_for(manager, "second").for_(Site)
    second.complete(lambda site, _context: seen.append(site.status.conditions))
    with captured_logs() as lines, cluster.running(manager):
        sites.create(Site.named("a", namespace="default"))
        eventually(lambda: [each for each in seen if each], "seen by both")
        sites.patch("a", {"metadata": {"labels": {"a": "b"}}}, namespace="default")
        eventually(lambda: len([each for each in seen if each]) > 1, "seen again")
        assert_kstatus(sites.get("a", namespace="default"), "Failed")
    assert {line["controller"] for line in lines if line["event"] == "Wrote"} == {"first"}


class Plain(Kind, group="example.org", version="v1"):
    """A kind without a status."""


class Counted(Kind, group="example.org", version="v1"):
    """A kind whose status has no conditions."""

    status: SiteSpec = SiteSpec()


class Optional(Kind, group="example.org", version="v1"):
    """A kind whose status may be absent, and whose conditions are in no list map."""

    class Status(APIStruct):
        """Conditions."""

        conditions: Conditions = ()

    status: Status | None = None


class View(Kind, group="example.org", version="v1", kind="Site", partial=True):
    """A part of another program's kind."""

    status: SiteStatus = SiteStatus()


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (Site, True),
        (Optional, True),
        (Plain, False),
        (Counted, False),
        (View, False),
        (Deployment, False),
        (PodDisruptionBudget, False),
    ],
)
def test_which_kinds_can_stall(kind: type[Kind], expected: bool) -> None:
    """Those of our own whose status has conditions."""
    assert can_stall(kind) == expected


def test_a_status_that_is_absent_stays_so() -> None:
    """There is nothing to read the conditions of."""
    rig = Rig()
    rig.seen = replace(rig.live(), status=None)
    assert rig.reconcile(TerminalError("no such image")) == []
