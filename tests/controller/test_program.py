"""The operator that `python -m controller` runs."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from handloop.controller import program
from handloop.controller.cli.operator import typed_command
from handloop.controller.program import main, our_command

README: Final = Path(__file__).parents[2] / "README.md"


@pytest.mark.parametrize(
    ("started", "typed"),
    [
        ("/src/controller/__main__.py", "python -m controller"),
        ("/lib/python3.12/site-packages/handloop/__main__.py", "python -m handloop"),
        ("/src/.venv/bin/handloop", "handloop"),
        ("C:/venv/Scripts/handloop.exe", "handloop"),
        ("/bin/pytest", "python -m controller"),
    ],
)
def test_our_own_hints_repeat_what_was_typed(started: str, typed: str) -> None:
    """A hint that is copied works: an installed handloop has no module `controller`."""
    assert our_command(typed_command(started)) == typed


def test_it_is_an_operator_as_any_other(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its command line goes the same way."""
    monkeypatch.setattr("sys.argv", ["controller", "crd", "--controllers=foo"])
    assert main() == 0
    assert capsys.readouterr().out.startswith("# made by `python -m controller manifests crd`; do not edit\n")


def test_without_the_libraries_it_shows_which_environment_has_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A checkout, and a Python that is not that of `make venv`: no traceback. A module of ours is a bug."""

    def lacking(name: str) -> None:
        def run(*_: object) -> int:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

        monkeypatch.setattr(program, "run_command", run)

    monkeypatch.setattr("sys.argv", ["handloop", "doctor"])
    lacking("structlog")
    assert main() == 2
    said = capsys.readouterr().err
    assert said.startswith("error: structlog is not installed for ")
    assert said.endswith("fix: make venv, and then . .venv/bin/activate\n")
    lacking("handloop.gone")
    with pytest.raises(ModuleNotFoundError):
        main()


def test_the_readme_gives_the_environment_before_its_commands() -> None:
    """After `make run` alone, `python` is one without our libraries."""
    before, activates, after = README.read_text(encoding="utf-8").partition(". .venv/bin/activate")
    assert activates
    assert "python -m" not in before
    assert "python -m controller top" in after
