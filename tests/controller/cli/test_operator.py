"""An operator as the command line knows it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from handloop.controller.cli.operator import Setup, typed_command
from support.rigs.greeter import Greeting


@pytest.mark.parametrize(
    ("started", "module", "typed"),
    [
        ("greeter.py", "", "python greeter.py"),
        ("/opt/my operators/greeter.py", "", "python '/opt/my operators/greeter.py'"),
        ("/src/greeter.py", "greeter", "python -m greeter"),
        ("/src/my_operator/__main__.py", "my_operator.__main__", "python -m my_operator"),
        ("/src/controller/__main__.py", "", "python -m controller"),
        ("/src/.venv/bin/greeter", "", "greeter"),
        ("C:/venv/Scripts/greeter.exe", "", "greeter"),
    ],
)
def test_hints_repeat_what_was_typed(started: str, module: str, typed: str) -> None:
    """A hint that is copied works."""
    assert typed_command(started, module) == typed


def test_a_sample_that_is_not_there_is_not_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Outside a checkout there is no file to apply: then the hint names the command for the fields."""
    setup = Setup(name="g", kinds=(Greeting,), access=(), sample="samples/greeting.yaml")
    monkeypatch.chdir(tmp_path)
    assert setup.sample_fix(" -n demo") == (
        "kubectl apply -f FILE -n demo   (a Greeting; its fields: kubectl explain greetings.m.example.com)"
    )
    (tmp_path / "samples").mkdir()
    (tmp_path / "samples" / "greeting.yaml").touch()
    assert setup.sample_fix() == "kubectl apply -f samples/greeting.yaml"
    absolute = replace(setup, sample=str(tmp_path / "samples" / "greeting.yaml"))
    assert absolute.sample_fix() == "kubectl apply -f samples/greeting.yaml"
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert absolute.sample_fix() == f"kubectl apply -f {absolute.sample}"
