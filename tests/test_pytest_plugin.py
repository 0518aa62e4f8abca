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

ROOT = Path(__file__).parents[1]


def _pytest(folder: Path, **files: str) -> str:
    """Run tests with the plugin, warnings being errors; returns the report."""
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": str(ROOT)}
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # an installed one would be registered twice
    options = [
        "-p",
        "handloop.pytest_plugin",
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
    (packages,) = document["tool"]["setuptools"]["packages"]["find"]["include"]
    assert fnmatch(name.rpartition(".")[0], packages)


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


def test_a_longer_scope_is_a_fixture_of_its_own(tmp_path: Path) -> None:
    """Tests of a module share sandbox_module, those of a run sandbox_session; a module's mark counts."""
    text = """
import pytest

pytestmark = pytest.mark.sandbox(controllers=())
KIND = {"apiVersion": "v1", "kind": "ConfigMap"}

def test_one(sandbox_module, sandbox_session):
    for each in (sandbox_module, sandbox_session):
        each.apply({**KIND, "metadata": {"name": "a"}})

def test_two(sandbox, sandbox_module, sandbox_session):
    path = "/api/v1/configmaps"
    found = [len(each.get(path)["items"]) for each in (sandbox, sandbox_module)]
    assert found == [0, 1]
    assert "a" in [one["metadata"]["name"] for one in sandbox_session.get(path)["items"]]
"""
    assert "2 passed" in _pytest(tmp_path, test_mine=text)


def test_an_operator_is_checked_at_the_end_of_its_test(tmp_path: Path) -> None:
    """The checks are those of running_operator: what they find is an error of the test."""
    text = """
import pytest
from handloop import ReconcileError, controller_for
from handloop.kinds.core_v1 import ConfigMap

def set_up_with(reconcile):
    return lambda manager: controller_for(manager, "c").for_(ConfigMap).complete(reconcile)

def fail(config_map, context):
    raise ReconcileError("not today")

@pytest.mark.sandbox(controllers=())
@pytest.mark.parametrize("reconcile", [lambda config_map, context: None, fail])
def test_it(sandbox, operator, reconcile):
    running = operator(set_up_with(reconcile))
    sandbox.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
    assert running.writes() == []
"""
    report = _pytest(tmp_path, test_mine=text)
    assert "2 passed, 1 error" in report
    assert "not today" in report


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


@pytest.mark.parametrize("missing", ["aiohttp", "multidict"])
def test_without_the_extra_the_fixture_says_what_to_install(tmp_path: Path, missing: str) -> None:
    """One line for each test that asks for it, without a traceback; the other tests run."""
    conftest = f"import sys\nsys.modules['{missing}'] = None\n"
    text = "def test_it(sandbox):\n    pass\n\ndef test_other():\n    pass\n"
    report = _pytest(tmp_path, conftest=conftest, test_mine=text)
    assert "1 passed, 1 error" in report
    assert f'the fixture "sandbox" needs {missing}: pip install "handloop[sandbox]"' in report
    assert "Traceback" not in report
    assert "ModuleNotFoundError" not in report


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
