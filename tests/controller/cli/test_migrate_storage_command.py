"""`migrate-storage` as people type it."""

from __future__ import annotations

from pathlib import Path

import pytest

from handloop.apis.crd import custom_resource_definition
from handloop.controller.cli.main import run_command
from handloop.controller.cli.migrate_storage_command import _teller
from handloop.controller.cli.storage_migration import Progress
from handloop.controller.foo.types import Foo
from handloop.controller.myapp.types import MyApp
from handloop.controller.program import PROGRAM
from handloop.testing.running_sandbox import running_sandbox


def test_the_programs_kinds_are_looked_at(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Those that are stored in one version need nothing; one that is refused is exit code 1."""
    foo = custom_resource_definition(Foo)
    (old,) = foo["spec"]["versions"]
    with running_sandbox(tmp_path) as sandbox:
        kubeconfig = f"--kubeconfig={sandbox.kubeconfig}"
        sandbox.apply(foo, custom_resource_definition(MyApp))
        assert run_command(PROGRAM, ["migrate-storage", kubeconfig]) == 0
        nothing = "nothing to do, all objects are stored in the newest version\n"
        assert (
            capsys.readouterr().out == f"foos.samplecontroller.k8s.io: {nothing}myapps.example.com: {nothing}"
        )
        names = {"apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": "Foo", "metadata": {"name": "a"}}
        sandbox.apply({**names, "spec": {"deploymentName": "a"}})
        spec = {**foo["spec"], "versions": [{**old, "name": "v1"}, {**old, "storage": False}]}
        sandbox.apply({**foo, "spec": spec})
        only = ["migrate-storage", "foos.samplecontroller.k8s.io", kubeconfig]
        with sandbox.faults.deny(verbs=["patch"], resources=["foos"]):
            assert run_command(PROGRAM, only) == 1
        said = capsys.readouterr().out
        assert "foos.samplecontroller.k8s.io: default/a cannot be written: " in said
        assert said.endswith("1 objects, 0 of them rewritten; 1 cannot be written: fix them, and try again\n")
        assert run_command(PROGRAM, only) == 0
        assert "1 objects, 1 of them rewritten; status.storedVersions is shortened" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["--rate=0"], ["--rate=-1"], ["--rate=inf"], ["--rate=x"]])
def test_a_rate_is_above_0(words: list[str]) -> None:
    """Otherwise nothing would be written, or all at once."""
    with pytest.raises(SystemExit):
        run_command(PROGRAM, ["migrate-storage", *words])


def test_what_cannot_be_asked_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2."""
    assert run_command(PROGRAM, ["migrate-storage", "--kubeconfig=nothing"]) == 2
    assert "no such file" in capsys.readouterr().err


def test_progress_is_told_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    """With how long it will take."""
    now = [0.0]
    tell = _teller(lambda: now[0])
    for seconds, done in ((1.0, 10), (2.5, 25), (3.0, 30), (5.0, 50)):
        now[0] = seconds
        tell(Progress("sites.example.org", total=100, done=done))
    assert capsys.readouterr().err == (
        "sites.example.org: 25 of 100 (25%), 8 s left\nsites.example.org: 50 of 100 (50%), 5 s left\n"
    )
