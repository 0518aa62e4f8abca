"""Objects that are paused and poked, by a manager over a sandbox without sockets."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import pytest

from handloop.apis.conditions import Conditions, find_condition
from handloop.apis.core_v1 import Namespace
from handloop.apis.meta import APIStruct, FrozenMap, Kind, ObjectMeta
from handloop.apis.schema_annotations import list_map
from handloop.controller.runtime.builder import controller_for
from handloop.controller.runtime.manager import Manager
from handloop.controller.runtime.reconcile import ReconcileError, Result, TerminalError
from handloop.controller.runtime.reconciling.context import Context
from handloop.controller.runtime.reconciling.stalled import PAUSED
from handloop.controller.runtime.sources.predicates import GenerationChanged
from handloop.informers.keys import ObjectName, object_name
from handloop.testing.eventually import eventually
from support.checks.captured_logs import captured_logs
from support.rigs.managed_sandbox import ManagedSandbox

KEY, AT = "example.org/paused", "example.org/reconcile-at"
A = ObjectName("default", "a")


class SiteSpec(APIStruct):
    """What a user wants."""

    size: int = 0


class SiteStatus(APIStruct):
    """What the controller says."""

    observed_generation: int = 0
    size: int = 0
    conditions: Annotated[Conditions, list_map("type")] = ()


class Site(Kind, group="example.org", version="v1"):
    """A kind whose status has conditions."""

    spec: SiteSpec = SiteSpec()
    status: SiteStatus = SiteStatus()


class Sites:
    """A controller of Sites that copies the size into the status, behind the strictest predicate."""

    def __init__(self) -> None:
        self.cluster = ManagedSandbox(Site)
        self.objects = self.cluster.client.resource(Site)
        self.reconciled: list[ObjectName] = []
        self.others = 0
        self.fails: Exception | None = None
        self.options: dict[str, Any] = {}
        self.manager = self.cluster.manager()

    def reconcile(self, site: Site, context: Context) -> Result | None:
        self.reconciled.append(object_name(site))
        if self.fails is not None and site.metadata.name == "a":
            raise self.fails
        status = SiteStatus(size=site.spec.size, conditions=site.status.conditions)
        context.update_status(site, status)
        return None

    @contextmanager
    def running(self, manager: Manager | None = None) -> Iterator[list[Any]]:
        self.manager = manager or self.manager
        builder = controller_for(self.manager, "sites").for_(Site, predicates=(GenerationChanged(),))
        builder.with_options(**self.options).complete(self.reconcile)
        with captured_logs() as logs, self.cluster.running(self.manager):
            yield logs

    def create(self, **annotations: str) -> Site:
        metadata = ObjectMeta(name="a", namespace="default", annotations=FrozenMap(annotations))
        return self.objects.create(Site(metadata=metadata, spec=SiteSpec(size=1)))

    def settle(self) -> None:
        """Let the one worker do what waits before another Site."""
        self.others += 1
        name = ObjectName("default", f"b{self.others}")
        self.objects.create(Site.named(name.name, namespace="default"))
        eventually(lambda: name in self.reconciled, "the other one")
        self.reconciled.remove(name)

    def annotate(self, key: str, value: str | None) -> None:
        self.objects.patch("a", {"metadata": {"annotations": {key: value}}}, namespace="default")

    def annotate_namespace(self, key: str, value: str | None) -> None:
        namespaces = self.cluster.client.resource(Namespace)
        namespaces.patch("default", {"metadata": {"annotations": {key: value}}})

    def resize(self, size: int) -> None:
        self.objects.patch("a", {"spec": {"size": size}}, namespace="default")

    def live(self) -> Site:
        return self.objects.get("a", namespace="default")

    def has_size(self, size: int) -> None:
        eventually(lambda: self.live().status.size == size, f"of size {size}")

    def is_paused(self) -> bool:
        return find_condition(self.live().status.conditions, PAUSED) is not None

    def count(self) -> float | None:
        return self.manager.registry.get_sample_value("handloop_paused_objects", {"controller": "sites"})


@pytest.fixture
def sites() -> Sites:
    return Sites()


def test_a_paused_object_is_left_alone_until_it_goes_on(sites: Sites) -> None:
    """The condition says so; the generation of the last reconcile stays the one that was observed."""
    with sites.running() as logs:
        sites.create()
        sites.has_size(1)
        sites.annotate(KEY, "true")
        eventually(sites.is_paused, "paused")
        sites.resize(2)
        done = len(sites.reconciled)
        sites.settle()
        assert len(sites.reconciled) == done
        live = sites.live()
        assert (live.status.size, live.status.observed_generation, live.metadata.generation) == (1, 1, 2)
        told = find_condition(live.status.conditions, PAUSED)
        assert told is not None
        assert told.message == "by its annotation example.org/paused"
        assert sites.count() == 1
        sites.annotate(KEY, None)
        sites.has_size(2)
        eventually(lambda: not sites.is_paused(), "told")
        assert sites.count() == 0
    said = [each["event"] for each in logs if each["event"].startswith("Paused")]
    assert said == ["Paused", "Paused no longer"]


def test_a_namespace_pauses_what_is_in_it(sites: Sites) -> None:
    """Also from the start: a controller waits until it knows which namespaces are paused."""
    sites.create()
    sites.annotate_namespace(KEY, "true")
    with sites.running():
        eventually(sites.is_paused, "paused")
        assert sites.reconciled == []
        sites.annotate_namespace("else", "x")
        sites.annotate_namespace(KEY, "no")
        sites.has_size(1)


def test_without_the_right_to_watch_namespaces_objects_can_be_paused(sites: Sites) -> None:
    """Roles of an earlier release lack it. That is told once, and keeps no controller from starting."""
    sites.create(**{KEY: "true"})
    sites.annotate_namespace(KEY, "true")
    with sites.cluster.sandbox.faults.deny(resources=["namespaces"]), sites.running() as logs:
        eventually(sites.is_paused, "paused")
        sites.annotate(KEY, None)
        sites.has_size(1)
    told = [each for each in logs if each["event"].startswith("Namespaces cannot be watched")]
    assert len(told) == 1


def test_another_value_pauses_nothing_and_is_told_once(sites: Sites) -> None:
    """A value that a user wrote is shown in escapes, and not at any length."""
    with sites.running() as logs:
        sites.create(**{KEY: "yes\u202e" + "x" * 300})
        sites.has_size(1)
        sites.resize(2)
        sites.has_size(2)
        sites.annotate(KEY, "True")
        told = [each for each in logs if each["event"].startswith("Not paused")]
        eventually(lambda: len([e for e in logs if e["event"].startswith("Not paused")]) == 2, "told")
    assert len(told) == 1
    assert len(told[0]["annotation"]) < 120


@pytest.mark.parametrize("error", [TerminalError("cannot"), ReconcileError("broken")])
def test_a_new_time_wakes_a_name(sites: Sites, error: Exception) -> None:
    """One that has given up, and one that backs off for long."""
    error.retry_seconds = 600  # type: ignore[attr-defined]
    sites.fails = error
    with sites.running():
        sites.create()
        eventually(lambda: sites.reconciled == [A], "failed")
        sites.fails = None
        sites.settle()
        assert sites.reconciled == [A]
        sites.annotate(AT, "now")
        sites.has_size(1)


def test_what_fails_after_a_pause_is_paused_no_longer(sites: Sites) -> None:
    """For kstatus it is one that is tried again."""
    sites.fails = ReconcileError("broken")
    with sites.running():
        sites.create(**{KEY: "true"})
        eventually(sites.is_paused, "paused")
        sites.annotate(KEY, None)
        eventually(lambda: sites.reconciled and not sites.is_paused(), "told")


@pytest.mark.parametrize("pauses_deletion", [False, True])
def test_a_deletion_goes_on_unless_the_author_pauses_it(sites: Sites, *, pauses_deletion: bool) -> None:
    """A pause that is forgotten keeps no namespace from being deleted."""
    sites.options = {"pauses_deletion": pauses_deletion}
    with sites.running():
        sites.create(**{KEY: "true"})
        sites.objects.patch("a", {"metadata": {"finalizers": ["example.org/x"]}}, namespace="default")
        eventually(sites.is_paused, "paused")
        sites.objects.delete("a", namespace="default")
        if pauses_deletion:
            sites.settle()
            assert not sites.reconciled
        else:
            eventually(lambda: sites.reconciled, "reconciled")


def test_an_object_that_is_gone_is_counted_no_longer(sites: Sites) -> None:
    """Whatever becomes of its last watch event."""
    with sites.running():
        sites.create(**{KEY: "true"})
        eventually(lambda: sites.count() == 1, "counted")
        sites.objects.delete("a", namespace="default")
        eventually(lambda: sites.count() == 0, "gone")
