"""
The fixture `sandbox`: an API server of its own for every test that asks for it.

    def test_mine(sandbox):
        sandbox.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
        assert my_program(kubeconfig=sandbox.kubeconfig) == 0

`@pytest.mark.sandbox(speed=50, seed=3)` hands arguments to handloop.sandbox.server.Sandbox. pytest loads this
module by its entry point in every run, so it imports nothing heavy before a test asks for the fixture.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

_MARKER = "sandbox(**arguments): arguments of handloop.sandbox.server.Sandbox for the fixture of that name"
_EXTRA = ("aiohttp", "multidict")
_NOT_INSTALLED = 'the fixture "sandbox" needs {missing}: pip install "handloop[sandbox]"'


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line("markers", _MARKER)


@pytest.fixture
def sandbox(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A running handloop.sandbox.fixture.RunningSandbox; it ends with the test."""
    try:
        from handloop.sandbox.fixture import running_sandbox  # noqa: PLC0415 - for those who ask for it
    except ModuleNotFoundError as error:
        if error.name not in _EXTRA:
            raise
        pytest.fail(_NOT_INSTALLED.format(missing=error.name), pytrace=False)
    marker = request.node.get_closest_marker("sandbox")
    if marker and marker.args:
        raise TypeError(f"pytest.mark.sandbox takes arguments by name, such as speed=50: {marker.args!r}")
    folder: Path = tmp_path_factory.mktemp("sandbox")
    with running_sandbox(folder, **(marker.kwargs if marker else {})) as running:
        yield running
