"""The clock over HTTP: time passes as fast as a test wants, and the cluster lives through it."""

from __future__ import annotations

import json

import pytest

from handloop_sandbox.clock import SettableClock
from handloop_sandbox.controls import moved_clock
from handloop_sandbox.controls.moved_clock import Move
from handloop_sandbox.server import Sandbox
from handloop_sandbox.wire.status import StatusError
from support.servers.local_server import LocalServer

_START = 1_700_000_000.0


@pytest.fixture
def sandbox() -> Sandbox:
    """A lively one whose time stands still."""
    return Sandbox(clock=SettableClock(_START, frozen=True), seed=1)


def _deployment(sandbox: Sandbox) -> None:
    labels = {"app": "web"}
    container = {"name": "web", "image": "nginx"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    spec = {"replicas": 3, "selector": {"matchLabels": labels}, "template": template}
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}
    path = "/apis/apps/v1/namespaces/default/deployments"
    assert sandbox.transport().request("POST", path, body=json.dumps(body).encode()).status == 201


def _available(sandbox: Sandbox) -> int:
    path = "/apis/apps/v1/namespaces/default/deployments/web"
    body = json.loads(sandbox.transport().request("GET", path).body)
    return int(body["status"].get("availableReplicas", 0))


def test_the_cluster_lives_through_the_time(sandbox: Sandbox) -> None:
    """A minute in one request brings what a minute brings: every step of the pods, one after another."""
    _deployment(sandbox)
    assert _available(sandbox) == 0
    moved_clock.move(sandbox.engine, Move(advance_seconds=60))
    assert _available(sandbox) == 3
    assert moved_clock.shown(sandbox.engine) == {"time": "2023-11-14T22:14:20.000000Z", "running": False}


def test_a_long_time_is_gone_through_in_large_steps(sandbox: Sandbox) -> None:
    """Ten years end in this test."""
    _deployment(sandbox)
    moved_clock.move(sandbox.engine, Move(advance_seconds=10 * 365 * 86400))
    assert _available(sandbox) == 3


def test_it_goes_to_a_time_and_runs_on(sandbox: Sandbox) -> None:
    """Whether it runs afterwards is what it did before, unless it is told."""
    moved_clock.move(sandbox.engine, Move(time="2030-01-01T00:00:00Z"))
    assert moved_clock.shown(sandbox.engine) == {"time": "2030-01-01T00:00:00.000000Z", "running": False}
    moved_clock.move(sandbox.engine, Move(running=True))
    assert moved_clock.shown(sandbox.engine)["running"]
    moved_clock.move(sandbox.engine, Move(advance_seconds=5))
    assert moved_clock.shown(sandbox.engine)["running"]
    moved_clock.move(sandbox.engine, Move(running=False))
    first = moved_clock.shown(sandbox.engine)
    assert first == moved_clock.shown(sandbox.engine)
    assert first["time"] > "2030-01-01T00:00:05"


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        (Move(time="2000-01-01T00:00:00Z"), "the clock cannot go back: it is 2023-11-14T22:13:20.000000Z"),
        (Move(time="9999-12-31T23:59:59Z"), "the clock ends at 9000-01-01T00:00:00.000000Z"),
        (Move(time="tomorrow"), "not an RFC 3339 time: 'tomorrow'"),
        (Move(time="2030-01-01T00:00:00Z", advance_seconds=1), "either advanceSeconds or a time"),
    ],
)
def test_what_cannot_be_is_refused(sandbox: Sandbox, wanted: Move, says: str) -> None:
    """With a reason, and the clock is as it was."""
    before = moved_clock.shown(sandbox.engine)
    with pytest.raises(StatusError) as refused:
        moved_clock.move(sandbox.engine, wanted)
    assert refused.value.code == 400
    assert refused.value.status["message"] == says
    assert moved_clock.shown(sandbox.engine) == before


def test_a_clock_that_cannot_be_set_is_told(server: LocalServer) -> None:
    """A program may give the sandbox a clock of its own."""
    assert server.request("GET", "/sandbox/clock").body["running"] is True
    refused = server.request("POST", "/sandbox/clock", {"advanceSeconds": 1})
    assert (refused.status, refused.message) == (409, "this sandbox's clock cannot be set")
