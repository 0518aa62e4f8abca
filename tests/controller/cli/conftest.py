"""Whatever a test makes of logging and signals is undone; clusters."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import structlog

from handloop.client.request_reports import set_verbosity
from support.servers.cluster import SandboxCluster, sandbox_cluster, usual_definition
from support.servers.turns import real_kubeconfig


@pytest.fixture(autouse=True)
def _restore_process() -> Iterator[None]:
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)
    handlers = {number: signal.getsignal(number) for number in numbers}
    configuration = structlog.get_config()
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)
    structlog.configure(**configuration)
    set_verbosity(0)


@pytest.fixture
def beside_real() -> Callable[[str], Path]:
    """Finds a file beside the kubeconfig of the real server; skips the test without one."""

    def find(name: str) -> Path:
        path = real_kubeconfig().with_name(name)
        if not path.exists():
            pytest.skip(f"there is no {path}")
        return path

    return find


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[SandboxCluster]:
    """A sandbox with the CRD of Foo."""
    with sandbox_cluster(tmp_path, definition=usual_definition()) as made:
        yield made


@pytest.fixture
def bare(tmp_path: Path) -> Iterator[SandboxCluster]:
    """A sandbox without CRDs."""
    with sandbox_cluster(tmp_path, definition=None) as made:
        yield made
