from __future__ import annotations

import json
import socket
import stat
from pathlib import Path

import yaml

from handloop_sandbox.requests.request import User
from handloop_sandbox.server import Sandbox
from support.servers.local_server import ManualClock

_PATH = "/apis/apps/v1/namespaces/default/deployments"


def _deployment(replicas: int) -> bytes:
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return json.dumps({"metadata": {"name": "web"}, "spec": spec}).encode()


def test_a_sandbox_serves_from_its_start_to_its_stop() -> None:
    """Once start has returned it listens; a stop leaves nothing, and a second one does nothing."""
    sandbox = Sandbox()
    host, _, port = sandbox.start().removeprefix("http://").partition(":")
    assert host == "127.0.0.1"
    with socket.create_connection((host, int(port)), timeout=20):
        pass
    sandbox.stop()
    assert sandbox.url == ""
    sandbox.stop()


def test_tokens_are_random_and_needed() -> None:
    """Each sandbox has a token of its own; with an empty one no client needs any."""
    first, second = Sandbox(controllers=()), Sandbox(controllers=())
    assert first.token != second.token
    assert first.transport().request("GET", _PATH).status == 200
    assert first.transport(token="").request("GET", _PATH).status == 403
    assert Sandbox(token="", controllers=()).transport().request("GET", _PATH).status == 200
    other = Sandbox(users={"a": User("alice", ("system:authenticated",))}, controllers=())
    assert other.transport(token="a").request("GET", _PATH).status == 403


def test_the_kubeconfig_leads_to_the_sandbox(tmp_path: Path) -> None:
    """The file has the URL and token of the running sandbox, and is private."""
    with Sandbox(controllers=()) as sandbox:
        path = sandbox.write_kubeconfig(tmp_path / "k")
        document = yaml.safe_load(path.read_text())
        assert document["clusters"][0]["cluster"]["server"] == f"{sandbox.url}/{sandbox.token}"
        assert document["users"][0]["user"]["token"] == sandbox.token
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert sandbox.kubeconfig_text() == path.read_text()


def test_without_starting_time_is_the_callers() -> None:
    """A sandbox that was not started lives when ticked: a Deployment comes up as the clock is moved."""
    clock = ManualClock()
    sandbox = Sandbox(clock=clock, seed=3)
    transport = sandbox.transport()
    assert transport.request("POST", _PATH, body=_deployment(2)).status == 201
    steps = 0
    while steps < 1000:
        steps += 1
        status = json.loads(transport.request("GET", f"{_PATH}/web").body)["status"]
        if status.get("availableReplicas") == 2:
            break
        wake = sandbox.tick()
        assert wake is not None
        clock.now = max(wake, clock.now)
    assert steps < 1000
    assert 1.0 < clock.now - ManualClock().now < 10.0


def test_simulations_repeat() -> None:
    """The same seed and the same steps give the same objects to the byte."""
    runs = []
    for _ in range(2):
        clock = ManualClock()
        sandbox = Sandbox(clock=clock, seed=9)
        transport = sandbox.transport(token=sandbox.token)
        transport.request("POST", _PATH, body=_deployment(3))
        for _ in range(40):
            sandbox.tick()
            clock.now += 0.25
        runs.append(transport.request("GET", "/api/v1/pods").body)
    assert runs[0] == runs[1]
    assert len(json.loads(runs[0])["items"]) == 3


def test_it_lives_by_itself_once_started() -> None:
    """A started sandbox brings a Deployment up without help."""
    with Sandbox(speed=50.0, seed=1) as sandbox:
        transport = sandbox.transport()
        transport.request("POST", _PATH, body=_deployment(1))
        stream = transport.stream("GET", _PATH, query={"watch": "1", "timeoutSeconds": "20"})
        available = False
        while not available and (block := stream.read_block()):
            for line in block.splitlines():
                status = json.loads(line)["object"].get("status", {})
                available = available or status.get("availableReplicas") == 1
        stream.close()
        assert available
