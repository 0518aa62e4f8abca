"""What a running program says of definitions: once, again when they change, and never in the way."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any, Final

import pytest
from prometheus_client import CollectorRegistry

from handloop.apis.crd import custom_resource_definition
from handloop.client.errors import ConnectionRefused
from handloop.client.resource_client import Client
from handloop.controller.cli.fit_check import SETTLE_SECONDS
from handloop.controller.cli.fit_watch import AGAIN_SECONDS, LATER_SECONDS, FitWatch
from handloop.controller.cli.problems import Problem
from handloop.controller.foo.types import Foo
from handloop.controller.runtime.serving.health import Well
from handloop.seams.seams import Seams
from handloop.testing.eventually import eventually as until
from handloop.testing.fake_clock import FakeClock
from handloop_sandbox.server import Sandbox
from support.builders.changed_definitions import schema_of
from support.builders.options import new_options
from support.checks.captured_logs import captured_logs
from support.rigs.managed_sandbox import post

CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NAME: Final = "foos.samplecontroller.k8s.io/v1alpha1"


class Rig:
    """A watch over the definitions of Foo, each of whose looks a test lets it have."""

    def __init__(self) -> None:
        self.sandbox = Sandbox(token="admin", controllers=(), seed=1)
        self.transport: Any = self.sandbox.transport(token="admin")
        self.clock = FakeClock()
        self.registry = CollectorRegistry()
        self.said: list[Problem] = []
        self.fails: Exception | None = None
        self.asked: list[str] = []
        self.watch = FitWatch(
            Client(self),  # type: ignore[arg-type] # same shapes, other classes
            new_options(controllers=("foo",)),
            self.said.append,
            self.registry,
            Seams(clock=self.clock),
        )

    def request(self, *args: Any, **keywords: Any) -> Any:
        """Of the sandbox, unless it fails."""
        self.asked.append(args[1].removeprefix("/openapi/v3/apis/"))
        if self.fails is not None:
            raise self.fails
        return self.transport.request(*args, **keywords)

    def serve(self, **gone: str) -> None:
        """Serve a definition without these fields: part of the object, field."""
        definition = custom_resource_definition(Foo)
        for part, field in gone.items():
            del schema_of(definition)["properties"][part]["properties"][field]
        path = f"{CRDS}/foos.samplecontroller.k8s.io"
        body = json.dumps({"spec": definition["spec"]}).encode()
        headers = {"Content-Type": "application/merge-patch+json"}
        if self.transport.request("PATCH", path, headers=headers, body=body).status == 404:
            post(self.sandbox, CRDS, definition)

    def rests(self, seconds: float, *, goes_on: bool = True) -> None:
        """Wait until the thread waits for so long, and then let it go on."""
        at = self.clock.now() + seconds
        self.clock.wait_for_deadline(at)
        if goes_on:
            self.clock.advance(seconds)

    def misfits(self) -> float | None:
        """The metric."""
        return self.registry.get_sample_value("handloop_definition_misfits", {"kind": NAME})

    def shown(self) -> str:
        """The detail on `/readyz`, "" = ok."""
        detail = self.watch.check()
        assert detail is None or isinstance(detail, Well)
        return detail.detail if detail else ""


@pytest.fixture
def rig() -> Iterator[Rig]:
    """A rig that is closed."""
    rig = Rig()
    yield rig
    rig.sandbox.stop()


def test_a_misfit_is_said_once_and_its_end_too(rig: Rig) -> None:
    """On /readyz, which stays ready, and as a number; a look each minute, and then every ten."""
    rig.serve(status="availableReplicas")
    assert rig.shown() == "not looked at yet"
    with captured_logs() as logs, rig.watch:
        for _ in range(3):
            rig.rests(SETTLE_SECONDS)
            rig.rests(AGAIN_SECONDS)
        assert [each.code for each in rig.said] == ["E20"]
        assert rig.shown() == f"{NAME} does not fit: status.availableReplicas (E20)"
        assert rig.misfits() == 1.0
        rig.rests(SETTLE_SECONDS)
        rig.rests(AGAIN_SECONDS, goes_on=False)
        rig.serve()
        rig.rests(AGAIN_SECONDS)
        rig.rests(LATER_SECONDS, goes_on=False)
        assert (rig.shown(), rig.misfits()) == ("", 0.0)
        assert [each["event"] for each in logs if each["log_level"] == "info"] == ["The definition fits now"]
        rig.serve(status="availableReplicas", spec="replicas")
        rig.rests(LATER_SECONDS)
        rig.rests(SETTLE_SECONDS)
        until(lambda: len(rig.said) == 2, "said again", seconds=20.0)


def test_what_fits_of_others_is_read_once(rig: Rig) -> None:
    """Their documents are large, and change with the cluster."""
    rig.serve()
    with rig.watch:
        rig.rests(LATER_SECONDS)
        rig.rests(LATER_SECONDS, goes_on=False)
    assert rig.asked == ["apps/v1", "samplecontroller.k8s.io/v1alpha1", "samplecontroller.k8s.io/v1alpha1"]


def test_what_is_not_known_is_no_number(rig: Rig) -> None:
    """And is asked for again; what was known before is not."""
    rig.serve()
    with rig.watch:
        rig.rests(LATER_SECONDS, goes_on=False)
        assert rig.misfits() == 0.0
        rig.fails = ConnectionRefused("connection refused")
        rig.rests(LATER_SECONDS)
        rig.rests(AGAIN_SECONDS, goes_on=False)
        assert rig.shown() == f"{NAME} is not known: connection refused"
        assert (rig.misfits(), rig.said) == (None, [])


def test_newer_fields_are_said_at_2(rig: Rig) -> None:
    """They are no trouble."""
    definition = custom_resource_definition(Foo)
    schema_of(definition)["properties"]["spec"]["properties"]["tier"] = {"type": "string"}
    post(rig.sandbox, CRDS, definition)
    with captured_logs() as logs, rig.watch:
        rig.rests(LATER_SECONDS, goes_on=False)
    (line,) = [each for each in logs if "fields" in each]
    assert (line["log_level"], line["v"], line["fields"]) == ("debug", 2, "spec.tier")
    assert rig.shown() == ""


def test_a_slow_answer_holds_nobody_up(rig: Rig) -> None:
    """Neither the start nor the end waits for it."""
    asked, answered = threading.Event(), threading.Event()

    def wait(*_: Any, **__: Any) -> Any:
        asked.set()
        assert answered.wait(20.0)
        raise ConnectionRefused("at last")

    rig.request = wait  # type: ignore[method-assign] # a server that hangs
    with rig.watch:
        assert asked.wait(20.0)
        assert rig.shown() == "not looked at yet"
    answered.set()
    until(
        lambda: not [each for each in threading.enumerate() if each.name == "definitions"],
        "ended",
        seconds=20.0,
    )
    assert rig.shown() == "not looked at yet"
