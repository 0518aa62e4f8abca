"""How the program finds what it does not import: the sandbox, explore, walkthrough, top and the live page."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from importlib.util import find_spec
from pathlib import Path

import pytest

from handloop.controller.cli import extensions
from handloop.controller.cli.extensions import NotInstalledError, extension, is_installed

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("name", ["sandbox", "explore", "walkthrough", "top", "live-page"])
def test_a_checkout_has_all_of_them(name: str) -> None:
    """By the entry points of its own projects, whether or not it is installed."""
    assert is_installed(name)
    assert extension(name).__name__.endswith(".program")


def test_a_checkout_finds_its_neighbours_by_itself(tmp_path: Path) -> None:
    """Where no environment leads to them, as after `pip install` of the dependencies alone."""
    code = (
        f"import sys; ours = {tuple(extensions.NEIGHBOURS)};"
        "sys.path[:] = [each for each in sys.path if not each.endswith(ours)];"
        f"sys.path.insert(0, {str(ROOT)!r});"
        "from handloop.controller.cli.extensions import extension;"
        "print(*(extension(name).__name__ for name in ('sandbox', 'explore', 'walkthrough')))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert ended.stdout == "handloop_sandbox.program handloop_explore.program handloop_learn.program\n"


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """No checkout; the entry points, by name, are those that a test puts in."""
    points: dict[str, str] = {}

    def entry_points(group: str) -> list[EntryPoint]:
        return [EntryPoint(name, value, group) for name, value in points.items()]

    monkeypatch.setattr(extensions, "checkout", lambda *_: {})
    monkeypatch.setattr("importlib.metadata.entry_points", entry_points)
    extensions._modules.cache_clear()
    yield points
    extensions._modules.cache_clear()


def test_what_is_not_installed_is_missed_in_one_sentence(installed: dict[str, str]) -> None:
    """With what to type."""
    assert not installed
    assert not is_installed("sandbox")
    with pytest.raises(NotInstalledError) as caught:
        extension("sandbox")
    assert str(caught.value) == 'the sandbox is not installed: pip install "handloop[sandbox]"'


@pytest.mark.parametrize(
    ("name", "library"),
    [
        ("sandbox", "re2"),
        ("explore", "greenlet"),
        ("walkthrough", "handloop_sandbox"),
        ("live-page", "aiohttp_sse"),
        ("top", "rich"),
    ],
)
def test_it_needs_the_libraries_of_its_extra(
    name: str, library: str, installed: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The package alone may be there, as where somebody removed a library."""
    installed[name] = extension_module(name)
    assert is_installed(name)
    monkeypatch.setattr(extensions, "find_spec", lambda each: None if each == library else find_spec(each))
    assert not is_installed(name)


def extension_module(name: str) -> str:
    """The module that the projects of this repository name for an extension."""
    for folder in extensions.NEIGHBOURS:
        text = (ROOT / folder / "pyproject.toml").read_text(encoding="utf-8")
        points = tomllib.loads(text)["project"]["entry-points"]["handloop_extensions"]
        if name in points:
            return str(points[name])
    raise AssertionError(name)


def test_an_error_of_the_extension_itself_comes_out(
    installed: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A module that it lacks and that no extra brings is no reason to install the extra again."""
    (tmp_path / "broken_extension.py").write_text("import no_such_module_anywhere\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    installed["top"] = "broken_extension"
    with pytest.raises(ModuleNotFoundError, match="no_such_module_anywhere"):
        extension("top")
