"""A Foo controller on a sandbox without sockets, as the live page sees it."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from handloop_learn.live.cluster_acts import ClusterActs
from handloop_learn.live.controls import Controls
from handloop_learn.live.server import LiveServer
from support.builders.live_page import new_server, serving
from support.rigs import foo_program
from support.servers.live_browser import chromium
from tools.recorded_runs.page import write_live_page


class FooProgram(foo_program.FooProgram):
    """The same with controls."""

    def __init__(self) -> None:
        super().__init__()
        self.controls = Controls(self.parts, ClusterActs(self.cluster.transport()), in_sandbox=True)

    def make_available(self, name: str) -> None:
        """Write what the Deployment controller writes once the pods run."""
        path = f"/apis/apps/v1/namespaces/default/deployments/{name}/status"
        status = {"replicas": 1, "readyReplicas": 1, "availableReplicas": 1}
        self.cluster.transport().request(
            "PATCH",
            path,
            headers={"Content-Type": "application/merge-patch+json"},
            body=json.dumps({"status": status}).encode(),
        )


@pytest.fixture
def program() -> Iterator[FooProgram]:
    with FooProgram().running() as program:
        yield program
        program.controls.undo_all()


@pytest.fixture
def live(program: FooProgram) -> Iterator[LiveServer]:
    """The page of a running Foo controller."""
    server = new_server(recorder=program.recorder)
    server.show(program.parts, program.controls)
    with serving(server):
        yield server


@pytest.fixture(scope="session")
def recorded_page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a page without a program, in a folder, with all recordings."""
    folder = tmp_path_factory.mktemp("live-page")
    write_live_page(folder)
    return (folder / "index.html").as_uri()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """
    One browser for the tests of a file; each page has a profile of its own.

    While it runs, its event loop runs in this thread: the tests of other files could not run one of theirs.
    """
    with chromium() as started:
        yield started
