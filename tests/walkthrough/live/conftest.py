"""A Foo controller on a sandbox without sockets, as the live page sees it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser

from docs.extensions.live_page import build
from handloop.controller.foo.runnable import add_foo
from handloop.controller.foo.types import Foo
from handloop.informers.shared_informer import SharedIndexInformer
from handloop.testing.eventually import eventually
from handloop.walkthrough.live.cluster_acts import ClusterActs
from handloop.walkthrough.live.controls import Controls
from handloop.walkthrough.live.parts import Parts
from handloop.walkthrough.live.recorder import Recorder, Step
from handloop.walkthrough.live.server import LiveServer
from support.builders.live_page import new_server, serving
from support.rigs.managed_sandbox import ManagedSandbox
from support.servers.live_browser import chromium


class FooProgram:
    """A running Foo controller, its parts, its controls, and a recorder that is on."""

    def __init__(self) -> None:
        self.cluster = ManagedSandbox(Foo)
        manager = self.cluster.manager()
        self.manager = manager
        self.parts = Parts(manager, {"foo": add_foo(manager, workers=2)})
        self.recorder = Recorder()
        self.controls = Controls(self.parts, ClusterActs(self.cluster.transport()), in_sandbox=True)

    def foo(self, name: str, replicas: int = 1, **metadata: Any) -> None:
        """Make a Foo, as another client would."""
        self.cluster.foo(name, replicas, **metadata)

    def synced_foo(self) -> None:
        """Make the Foo `a`, and wait until it was synced."""
        self.foo("a")
        self.wait_idle()

    def foos(self) -> SharedIndexInformer[Foo]:
        """The informer of Foos."""
        return next(one for one in self.parts.informers() if one.kind is Foo)

    def told(self, number: int, key: str = "default/a") -> list[Step]:
        """The steps of a number and key so far."""
        return [step for step in self.recorder.steps() if (step.number, step.key) == (number, key)]

    def retries(self, key: str = "default/a") -> list[float]:
        """The seconds of each add rate limited of a key so far."""
        return [step.facts["seconds"] for step in self.told(11, key) if "error" in step.facts]

    def get(self, path: str) -> Any:
        """An object, as the server has it."""
        return json.loads(self.cluster.transport().request("GET", path).body)

    def wait_for_steps(self, number: int, key: str = "default/a") -> None:
        """Wait until there was a step of a number and key."""
        eventually(lambda: self.told(number, key), f"a step ({number}) of {key}")

    def wait_idle(self, key: str = "default/a") -> None:
        """Wait until a Foo was synced and nothing is left to do."""
        queue = self.parts.queues()["foo"]
        self.wait_for_steps(12, key)
        eventually(lambda: queue.statistics() == (0, 0, 0, 0), "nothing to do")


@pytest.fixture
def program() -> Iterator[FooProgram]:
    program = FooProgram()
    program.recorder.join()
    try:
        with program.cluster.running(program.manager):
            eventually(program.parts.queues, "the queue")
            eventually(lambda: all(one.has_synced() for one in program.parts.informers()), "the caches")
            yield program
            program.controls.undo_all()
    finally:
        program.recorder.close()


@pytest.fixture
def live(program: FooProgram) -> Iterator[LiveServer]:
    """The page of a running Foo controller."""
    server = new_server(recorder=program.recorder)
    server.show(program.parts, program.controls)
    with serving(server):
        yield server


@pytest.fixture(scope="session")
def recorded_page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a page without a program, in a folder, with all recorded runs."""
    folder = tmp_path_factory.mktemp("live-page")
    build(folder)
    return (folder / "index.html").as_uri()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """
    One browser for the tests of a file; each page has a profile of its own.

    While it runs, its event loop runs in this thread: the tests of other files could not run one of theirs.
    """
    with chromium() as started:
        yield started
