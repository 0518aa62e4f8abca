"""
The fixtures `sandbox`, `operator` and `explore`: an API server, a set_up that runs on it, and explorations.

    def test_mine(sandbox):
        sandbox.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
        assert my_program(kubeconfig=sandbox.kubeconfig) == 0

    def test_my_set_up(sandbox, operator):
        operator(set_up)
        ...

    def test_every_crash_point(explore):
        explore(Workload(set_up, [applied(SITE)])).check()

`sandbox` lives for one test, `sandbox_module` for a module, and `sandbox_session` for the whole run. The
fixture `operator` runs on the test's `sandbox`; for the others use handloop.testing.running_operator.

`@pytest.mark.sandbox(speed=50, seed=3)` passes arguments to handloop_sandbox.server.Sandbox. For
sandbox_module, set the module's `pytestmark`. pytest loads this module through its entry point in every run,
so the module imports large packages only when a test requests a fixture.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

_MARKER = "sandbox(**arguments): arguments of handloop_sandbox.server.Sandbox for the fixture `sandbox`"
_EXTRA = ("handloop_sandbox", "handloop_explore", "aiohttp", "multidict", "re2", "greenlet")
_NOT_INSTALLED = 'the fixture "{name}" needs {missing}: pip install "handloop[{name}]"'


def _from_one(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a whole number of at least 1")
    return number


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options of the fixture `explore`."""
    group = parser.getgroup("handloop")
    group.addoption("--explore-plans", type=_from_one, metavar="N", help="how many plans an exploration runs")
    group.addoption(
        "--explore-seed", type=int, metavar="N", help="the random seed for choosing an exploration's plans"
    )
    group.addoption("--explore-replay", metavar="PLAN", help="run only this plan, such as 3:lost")


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line("markers", _MARKER)


@contextmanager
def _installed(name: str) -> Iterator[None]:
    """Fail the test if a fixture's library is missing. Args: name is the fixture's name and its extra's."""
    try:
        yield
    except ModuleNotFoundError as error:
        missing = str(error.name).partition(".")[0]
        if missing not in _EXTRA:
            raise
        pytest.fail(_NOT_INSTALLED.format(name=name, missing=missing), pytrace=False)


def _running(request: pytest.FixtureRequest, folders: pytest.TempPathFactory) -> Iterator[Any]:
    with _installed("sandbox"):
        from handloop.testing.running_sandbox import running_sandbox  # noqa: PLC0415 - only if it is needed
    marker = request.node.get_closest_marker("sandbox")
    if marker and marker.args:
        raise TypeError(f"pytest.mark.sandbox takes keyword arguments, such as speed=50: {marker.args!r}")
    folder: Path = folders.mktemp("sandbox")
    with running_sandbox(folder, **(marker.kwargs if marker else {})) as running:
        yield running


@pytest.fixture
def sandbox(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A running handloop.testing.running_sandbox.RunningSandbox, which is stopped after the test."""
    yield from _running(request, tmp_path_factory)


@pytest.fixture(scope="module")
def sandbox_module(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A sandbox that is shared by all tests of a module."""
    yield from _running(request, tmp_path_factory)


@pytest.fixture(scope="session")
def sandbox_session(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Any]:
    """A sandbox that is shared by all tests of a run."""
    yield from _running(request, tmp_path_factory)


@pytest.fixture
def operator(sandbox: Any) -> Iterator[Callable[..., Any]]:
    """
    Run set_ups on the test's sandbox: `operator(set_up)`, as in handloop.testing.running_operator.

    Each call returns a RunningOperator. At the end of the test, all of them are stopped and checked.
    """
    from handloop.testing.running_operator import running_operator  # noqa: PLC0415 - only if it is needed

    with ExitStack() as stack:
        yield lambda set_up, **arguments: stack.enter_context(running_operator(sandbox, set_up, **arguments))


@pytest.fixture
def explore(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """
    Create an Exploration: `explore(workload, plans=300).check()`, as handloop.testing.explore.explore does.

    The command line's options take precedence over the call's. A failure prints the command to replay it.
    """
    with _installed("explore"):
        from handloop_explore.exploration import explore_in_test  # noqa: PLC0415 - only if it is needed
    return partial(explore_in_test, request)
