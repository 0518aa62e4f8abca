"""The plugin as somebody else's project uses it: pytest in a process of its own, in an empty folder."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def _pytest(folder: Path, **files: str) -> str:
    """Run tests with the plugin, warnings being errors; returns the report."""
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": str(ROOT)}
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # an installed one would be registered twice
    options = [
        "-p",
        "handloop.sandbox.pytest_plugin",
        "-p",
        "no:cacheprovider",
        "--strict-markers",
    ]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "pytest", "-q", *options],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    return done.stdout + done.stderr


def test_pytest_finds_it_by_its_entry_point() -> None:
    """The name in pyproject.toml is a module with the fixture."""
    document = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (name,) = document["project"]["entry-points"]["pytest11"].values()
    assert hasattr(import_module(name), "sandbox")
    patterns = document["tool"]["setuptools"]["packages"]["find"]["include"]
    assert any(fnmatch(name, pattern) for pattern in patterns)


def test_a_test_asks_for_it(tmp_path: Path) -> None:
    """Each test has a server of its own; the marker hands it arguments."""
    text = """
import pytest

seen = []

def test_one(sandbox):
    sandbox.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
    seen.append(sandbox.url)
    assert sandbox.kubeconfig.exists()

@pytest.mark.sandbox(tls=True, seed=3, controllers=())
def test_two(sandbox):
    assert sandbox.url.startswith("https://")
    assert sandbox.get("/api/v1/configmaps")["items"] == []
    assert sandbox.url not in seen
"""
    assert "2 passed" in _pytest(tmp_path, test_mine=text)


def test_arguments_of_the_marker_have_names(tmp_path: Path) -> None:
    """One without would be ignored, without a word."""
    text = "import pytest\n@pytest.mark.sandbox(50)\ndef test_it(sandbox):\n    pass\n"
    report = _pytest(tmp_path, test_mine=text)
    assert "1 error" in report
    assert "TypeError: pytest.mark.sandbox takes arguments by name, such as speed=50: (50,)" in report


def test_nobody_pays_for_it_unasked(tmp_path: Path) -> None:
    """A run without the fixture imports no server."""
    text = """
import sys

def test_nothing():
    assert "handloop.sandbox.server" not in sys.modules
    assert "aiohttp" not in sys.modules
"""
    assert "1 passed" in _pytest(tmp_path, test_mine=text)


def test_a_fixture_of_the_same_name_wins(tmp_path: Path) -> None:
    """A project that has a `sandbox` of its own keeps it."""
    conftest = """
import pytest

@pytest.fixture
def sandbox():
    return "mine"
"""
    assert "1 passed" in _pytest(
        tmp_path, conftest=conftest, test_mine="def test_it(sandbox):\n    assert sandbox == 'mine'\n"
    )


@pytest.mark.parametrize("outcome", ["assert False", "sandbox.faults.silence(); assert False"])
def test_a_failing_test_leaves_nothing_behind(tmp_path: Path, outcome: str) -> None:
    """The server ends, faults or not, and the failure is the only one."""
    text = f"def test_it(sandbox):\n    {outcome}\n\ndef test_next(sandbox):\n    sandbox.get('/version')\n"
    assert "1 failed, 1 passed" in _pytest(tmp_path, test_mine=text)
