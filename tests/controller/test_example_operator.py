"""The operator that `python -m controller` runs."""

from __future__ import annotations

import pytest

from handloop.controller.cli.operator import typed_command
from handloop.controller.example_operator import EXAMPLES, NAMES, main, our_command


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


def test_what_is_known_beforehand_is_what_is_set_up() -> None:
    """Its two controllers are described without their code, under the names by which they run."""
    assert tuple(setup.name for setup in EXAMPLES.setups()) == NAMES == EXAMPLES.names
    assert EXAMPLES.workers == 2
