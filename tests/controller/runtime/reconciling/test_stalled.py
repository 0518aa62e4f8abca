"""The condition Stalled: on a sandbox without sockets, reconcile by reconcile, and with a manager."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import pytest
from msgspec.structs import replace

from handloop.apis.apps_v1 import Deployment
from handloop.apis.conditions import Condition, Conditions, find_condition
from handloop.apis.meta import APIStruct, Kind
from handloop.apis.schema_annotations import list_map
from handloop.client.errors import Conflict
from handloop.controller.runtime.builder import controller_for
from handloop.controller.runtime.reconcile import DONE, ReconcileError, TerminalError, WaitError
from handloop.controller.runtime.reconciling.context import Context
from handloop.controller.runtime.reconciling.stalled import STALLED, TERMINAL_ERROR, Stalling, can_stall
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

    def reconcile(self, error: BaseException | None = None) -> list[str]:
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
    assert rig.reconcile(TerminalError("no such image")) == ["get", "patch"]
    rig.seen = rig.live()
    stalled, kept = rig.seen.status.conditions
    assert (stalled.type, stalled.status, stalled.reason) == (STALLED, "True", TERMINAL_ERROR)
    assert (stalled.message, stalled.observed_generation, kept) == ("no such image", 1, ready)
    assert_kstatus(rig.seen, "Failed")
    assert rig.reconcile(TerminalError("no such image")) == ["told"]
    assert rig.stall("x" * 40_000).status.conditions[0].message == "x" * 32_768
    assert rig.stall("\udcff" * 40_000).status.conditions[0].message == ("\\udcff" * 32_768)[:32_768]
    assert rig.reconcile() == ["get", "patch"]
    assert rig.live().status.conditions == (ready,)


def test_a_new_object_that_stalls_has_been_observed() -> None:
    """Though its reconcile has written no status: it has failed, and is not in progress."""
    rig = Rig()
    assert_kstatus(rig.live(), "InProgress")
    assert_kstatus(rig.stall(), "Failed")


def test_a_condition_of_the_authors_is_left_alone() -> None:
    """True or False, before the reconcile or since. But the generation is told: nothing is in progress."""
    rig = Rig()
    theirs = Condition(
        type=STALLED, status="False", reason="Fine", last_transition_time="2026-01-01T00:00:00Z"
    )
    rig.do = lambda: rig.context.update_status(rig.live(), SiteStatus(conditions=(theirs,)))
    assert "patch" in rig.reconcile(TerminalError("no such image"))
    rig.seen = rig.live()
    assert rig.seen.status.conditions == (theirs,)
    rig.do = lambda: None
    assert rig.reconcile(TerminalError("no such image")) == []
    assert rig.reconcile() == []
    rig.seen = rig.sites.patch("a", {"spec": {"size": 2}}, namespace="default")
    assert rig.reconcile(TerminalError("no such image")) == ["get", "patch"]
    assert (rig.live().status.observed_generation, rig.live().status.conditions) == (2, (theirs,))


@pytest.mark.parametrize(
    "error", [ReconcileError("no answer"), WaitError("later"), ValueError(), SystemExit()]
)
def test_an_object_that_is_tried_again_is_not_stalled(error: BaseException) -> None:
    """`helm --wait` would end with the text of an error that is gone."""
    rig = Rig()
    rig.stall()
    assert rig.reconcile(error) == ["get", "patch"]
    assert_kstatus(rig.live(), "InProgress")
    rig.seen = rig.live()
    assert rig.reconcile(error) == []
    assert rig.reconcile() == ["get", "patch"]
    assert rig.live().status.conditions == ()
    rig.seen = rig.live()
    assert rig.reconcile(error) == []


def test_the_last_of_some_tries_stalls() -> None:
    """As after a TerminalError nothing happens until something changes; a wait is no try."""
    cluster = ManagedSandbox(Site)
    sites, manager = cluster.client.resource(Site), cluster.manager()
    errors: list[Exception] = [WaitError("later"), *(ReconcileError("no answer") for _ in range(3))]
    for error in errors[:1]:
        error.retry_seconds = 0.01  # type: ignore[attr-defined]
    builder = controller_for(manager, "sites").for_(Site).with_options(max_retries=2)
    builder.complete(lambda _site, _context: fail(errors.pop(0)))
    with captured_logs(), cluster.running(manager):
        sites.create(Site.named("a", namespace="default"))
        eventually(lambda: not errors and sites.get("a", namespace="default").status.conditions, "told")
        told = sites.get("a", namespace="default")
        assert_kstatus(told, "Failed")
        assert [each.message for each in told.status.conditions] == ["no answer"]


def test_an_error_that_is_tried_again_is_told_whatever_becomes_of_the_condition() -> None:
    """The condition is written after the next error, too."""
    rig = Rig()
    rig.stall()
    stalling = Stalling(lambda _name: rig.seen, lambda _name, _context: fail(WaitError("later")))
    with rig.cluster.sandbox.faults.conflict(verbs=["patch"]), pytest.raises(WaitError):
        stalling.reconcile(NAME, rig.context)


def test_a_text_that_is_no_unicode_is_told_in_escapes() -> None:
    """Bytes of a subprocess may be in it; the error is as terminal as any."""
    assert rig_text("half \ud800 of it") == "half \\ud800 of it"


def rig_text(text: str) -> str:
    """What the condition says of a TerminalError."""
    return Rig().stall(text).status.conditions[0].message


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
    with rig.cluster.sandbox.faults.conflict(verbs=["patch"]), pytest.raises(Conflict):
        stalling.reconcile(NAME, rig.context)


def fail(error: Exception | None = None) -> Any:
    """Raise an error, a TerminalError unless given."""
    raise error or TerminalError("no such image")


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
    lost = cluster.sandbox.faults.conflict(verbs=["patch"], skip=1, count=1)
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
    assert any("status patched" in str(line.get("changes")) for line in lines)
    assert controller.statistics().unexpected == 0


@pytest.mark.parametrize("writes_status", [False, True])
def test_a_terminal_error_is_an_end_whatever_its_text(writes_status: bool) -> None:
    """A cloud's text differs each time. Our own change of the object wakes nobody, a user's does."""
    cluster = ManagedSandbox(Site)
    sites, manager = cluster.client.resource(Site), cluster.manager()
    runs: list[int] = []

    def reconcile(site: Site, context: Context) -> None:
        runs.append(site.metadata.generation)
        if writes_status:
            context.update_status(site, SiteStatus())
        raise TerminalError(f"denied, request {len(runs)}")

    controller = controller_for(manager, "sites").for_(Site).complete(reconcile)

    def settled() -> bool:
        there = sites.get("a", namespace="default").metadata
        seen = manager.informer_for(Site).get("a", namespace="default")
        at = None if seen is None else seen.metadata.resource_version
        return at == there.resource_version and not controller.has_work(NAME)

    with captured_logs(), cluster.running(manager):
        sites.create(Site.named("a", namespace="default"))
        eventually(lambda: runs and settled(), "the first end")
        assert runs == [1]
        sites.patch("a", {"metadata": {"labels": {"a": "b"}}}, namespace="default")
        eventually(lambda: len(runs) == 2 and settled(), "the second end")
        sites.patch("a", {"spec": {"size": 2}}, namespace="default")
        eventually(lambda: len(runs) == 3 and settled(), "the third end")
        assert runs == [1, 1, 2]
        assert_kstatus(sites.get("a", namespace="default"), "Failed")


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
