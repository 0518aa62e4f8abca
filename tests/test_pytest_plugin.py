"""The plugin in a user's project: pytest in a process of its own, in an empty folder."""

from __future__ import annotations

import re
import shlex
import tomllib
from fnmatch import fnmatch
from importlib import import_module
from pathlib import Path

import pytest

from support.checks.docs_page import run_tests

ROOT = Path(__file__).parents[1]


UNASKED = """
import sys

def test_nothing():
    assert "handloop_sandbox.server" not in sys.modules
    assert "aiohttp" not in sys.modules
    assert "handloop.testing.explore" not in sys.modules
    assert "handloop_explore" not in sys.modules
"""

ASKS = """
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

SCOPES = """
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

OPERATOR = """
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

REWRITES = 'import pytest\npytest.register_assert_rewrite("handloop.testing")\n'
"""As pytest does by itself with modules that are installed together with a plugin."""

MESSAGES = """
from types import SimpleNamespace
import pytest
from handloop.testing import RequestAttributes, assert_rbac_exact

def test_lines_stay_as_they_are():
    asked = RequestAttributes("get", "pods", "", streaming_list=False)
    manager = SimpleNamespace(access=lambda: (), reconciled_kinds=lambda: ())
    with pytest.raises(AssertionError) as failed:
        assert_rbac_exact(SimpleNamespace(asked=lambda: [asked], manager=manager, namespaces=()))
    assert str(failed.value) == "declared access differs from used access\\nused, but not declared: get pods"
"""

EXPLORES = """
from handloop import controller_for
from handloop.kinds.core_v1 import ConfigMap
from handloop.testing.explore import Workload, applied, explore

CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}

def set_up(manager):
    def say(config_map, context):
        if config_map.metadata.name == "a" and not config_map.data:
            context.client.resource(ConfigMap).patch("a", {"data": {"said": "yes"}}, namespace="default")
    controller_for(manager, "c").for_(ConfigMap).writes(ConfigMap, "patch").complete(say)

WORKLOAD = Workload(set_up, [applied(CONFIG)])

def test_it(explore):
    explore(WORKLOAD, plans=9).check()

@explore(WORKLOAD, plans=9)
def test_nobody_touches_it(cluster, tmp_path):
    found = cluster.find(cluster.path_of(CONFIG))
    assert "labels" not in found["metadata"], "a rival was here"
"""

NAMELESS = "import pytest\n@pytest.mark.sandbox(50)\ndef test_it(sandbox):\n    pass\n"

FAILS = """
def test_it(sandbox):
    assert False

def test_next(sandbox):
    sandbox.get("/version")

def test_silent(sandbox):
    sandbox.faults.silence()
    assert False

def test_after(sandbox):
    sandbox.get("/version")
"""


def _pytest(folder: Path, *options: str, **files: str) -> str:
    """Run tests with the plugin, warnings being errors; returns the report."""
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    done = run_tests(folder, "-rA", "--strict-markers", *options)
    return done.stdout + done.stderr


def test_pytest_finds_it_by_its_entry_point() -> None:
    """The name in pyproject.toml is a module with the fixture."""
    document = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (name,) = document["project"]["entry-points"]["pytest11"].values()
    assert hasattr(import_module(name), "sandbox")
    (packages,) = document["tool"]["setuptools"]["packages"]["find"]["include"]
    assert fnmatch(name.rpartition(".")[0], packages)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    """One run of several modules: a start costs a second. It begins with the one that asks for nothing."""
    return _pytest(
        tmp_path_factory.mktemp("project"),
        conftest=REWRITES,
        test_messages=MESSAGES,
        test_a_unasked=UNASKED,
        test_asks=ASKS,
        test_scopes=SCOPES,
        test_operator=OPERATOR,
        test_nameless=NAMELESS,
        test_fails=FAILS,
    )


def outcomes(report: str, module: str) -> list[str]:
    """What became of the tests of a module, by name; an error at a test's end stands beside its outcome."""
    found = re.findall(rf"^(PASSED|FAILED|ERROR) {module}\.py::(\w+)", report, re.MULTILINE)
    return [f"{name} {outcome}" for outcome, name in sorted(found, key=lambda each: (each[1], each[0]))]


def test_a_test_asks_for_it(report: str) -> None:
    """Each test has a server of its own; the marker hands it arguments."""
    assert outcomes(report, "test_asks") == ["test_one PASSED", "test_two PASSED"]


def test_a_longer_scope_is_a_fixture_of_its_own(report: str) -> None:
    """Tests of a module share sandbox_module, those of a run sandbox_session; a module's mark counts."""
    assert outcomes(report, "test_scopes") == ["test_one PASSED", "test_two PASSED"]


def test_an_operator_is_checked_at_the_end_of_its_test(report: str) -> None:
    """The checks are those of running_operator: what they find is an error of the test."""
    assert outcomes(report, "test_operator") == ["test_it ERROR", "test_it PASSED", "test_it PASSED"]
    assert "not today" in report


def test_the_messages_of_the_kit_are_not_rewritten(report: str) -> None:
    """Where handloop is installed pytest rewrites its assertions."""
    assert outcomes(report, "test_messages") == ["test_lines_stay_as_they_are PASSED"]


def test_arguments_of_the_marker_have_names(report: str) -> None:
    """One without would be ignored, without a word."""
    assert outcomes(report, "test_nameless") == ["test_it ERROR"]
    assert "TypeError: pytest.mark.sandbox takes keyword arguments, such as speed=50: (50,)" in report


def test_it_costs_nothing_unless_asked_for(report: str) -> None:
    """A run without the fixture imports no server."""
    assert outcomes(report, "test_a_unasked") == ["test_nothing PASSED"]


def test_a_failing_test_leaves_nothing_behind(report: str) -> None:
    """The server ends, faults or not, and the failures are the only ones."""
    assert outcomes(report, "test_fails") == [
        "test_after PASSED",
        "test_it FAILED",
        "test_next PASSED",
        "test_silent FAILED",
    ]


def test_an_exploration_fails_with_the_line_that_replays_it(tmp_path: Path) -> None:
    """That line plays the one plan; the other options of the command line come before the test's, too."""
    report = _pytest(tmp_path, "--explore-plans=25", test_explores=EXPLORES)
    assert outcomes(report, "test_explores") == ["test_it PASSED", "test_nobody_touches_it FAILED"]
    assert "nobody touches it: a rival was here" in report
    line = "pytest test_explores.py::test_nobody_touches_it --explore-replay 1:rival-edit"
    assert "25 plans, " in report
    assert line in report
    again = _pytest(tmp_path, *shlex.split(line)[1:])
    assert "1 plan, " in again
    assert line in again


@pytest.mark.parametrize(
    ("missing", "name"),
    [
        ("handloop_sandbox", "sandbox"),
        ("aiohttp", "sandbox"),
        ("multidict", "sandbox"),
        ("handloop_explore", "explore"),
        ("greenlet", "explore"),
    ],
)
def test_without_the_extra_the_fixture_names_what_to_install(tmp_path: Path, missing: str, name: str) -> None:
    """One line for each test that asks for it, without a traceback; the other tests run."""
    conftest = f"import sys\nsys.modules['{missing}'] = None\n"
    text = f"def test_it({name}):\n    pass\n\ndef test_other():\n    pass\n"
    report = _pytest(tmp_path, conftest=conftest, test_mine=text)
    assert "1 passed, 1 error" in report
    assert f'the fixture "{name}" needs {missing}: pip install "handloop[{name}]"' in report
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
