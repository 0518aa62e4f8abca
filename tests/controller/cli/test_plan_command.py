"""`plan` as people type it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from handloop.apis.crd import custom_resource_definition
from handloop.controller.cli.main import run_command
from handloop.controller.foo.types import Foo
from handloop.controller.myapp.types import MyApp
from handloop.controller.program import PROGRAM
from handloop.testing.request_trace import RequestTrace
from handloop.testing.running_sandbox import running_sandbox
from support.builders.myapp_builders import new_app

FOO = {"apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": "Foo", "metadata": {"name": "f"}}


def test_the_program_is_planned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Foos and MyApps, in words and in JSON; one name alone; no write of its own reaches the server."""
    with running_sandbox(tmp_path) as sandbox:
        sandbox.apply(custom_resource_definition(Foo), custom_resource_definition(MyApp))
        words = ["plan", f"--kubeconfig={sandbox.kubeconfig}"]
        assert run_command(PROGRAM, words) == 0
        assert capsys.readouterr() == ("nothing would change\n", "")
        sandbox.client.resource(MyApp).create(new_app("a"), namespace="default")
        sandbox.apply({**FOO, "spec": {"deploymentName": "f", "replicas": 1}})
        trace = RequestTrace(sandbox.server.engine, sandbox.token, user_agent="handloop")
        assert run_command(PROGRAM, words) == 1
        said = capsys.readouterr().out
        assert said.startswith("2 Deployments, 1 Service would be created; the status of 1 Foo, 1 MyApp")
        assert run_command(PROGRAM, [*words, "-o", "json", "default/f"]) == 1
        document = json.loads(capsys.readouterr().out)
        assert {each["owner"] for each in document["writes"]} == {"Foo default/f"}
        assert run_command(PROGRAM, [*words, "--only-restarts", "-n", "default", "a"]) == 0
        capsys.readouterr()
        assert run_command(PROGRAM, [*words, "default/typo"]) == 2
        assert capsys.readouterr().out == (
            "nothing would change; 1 name fails, for 1 reason\n\n"
            "failed\n  no controller would reconcile it\n    default/typo\n"
        )
        resources = {each.resource for each in trace.asked() if each.writes}
        assert resources == {"deployments", "services", "foos/status", "myapps/status"}
        kept = sandbox.client.resource(MyApp).get("a", namespace="default")
        assert kept.status.conditions == ()


def test_what_cannot_be_planned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The exit codes of the checks; a missing right alone is told, and its names fail."""
    assert run_command(PROGRAM, ["plan", "--kubeconfig=nothing"]) == 3
    with running_sandbox(tmp_path) as sandbox:
        words = ["plan", f"--kubeconfig={sandbox.kubeconfig}", "--controllers=foo"]
        assert run_command(PROGRAM, words) == 6
        sandbox.apply(custom_resource_definition(Foo))
        sandbox.apply({**FOO, "spec": {"deploymentName": "f", "replicas": 1}})
        capsys.readouterr()
        with sandbox.faults.deny(verbs=["create"], resources=["deployments"]):
            assert run_command(PROGRAM, words) == 2
    assert "1 name fails, for 1 reason" in capsys.readouterr().out
