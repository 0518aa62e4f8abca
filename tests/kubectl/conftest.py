"""
The stock kubectl against one sandbox per module, at a high speed.

KUBECTL or PATH names the program; without one the tests are skipped. KUBECTL_TEST_KUBECONFIG runs them against
another server instead, to see that they say what a real one does.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from sandbox.server import Sandbox
from support.kubectl import Kubectl

SPEED = 20.0
_numbers = count(1)
_OTHER_SERVER = os.environ.get("KUBECTL_TEST_KUBECONFIG", "")


@pytest.fixture(scope="module")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The kubeconfig of a running sandbox."""
    if _OTHER_SERVER:
        yield Path(_OTHER_SERVER)
        return
    with Sandbox(seed=1, speed=SPEED) as sandbox:
        yield sandbox.write_kubeconfig(tmp_path_factory.mktemp("sandbox") / "kubeconfig")


@pytest.fixture(scope="module")
def cluster(kubeconfig: Path, tmp_path_factory: pytest.TempPathFactory) -> Kubectl:
    """kubectl in the namespace default."""
    binary = os.environ.get("KUBECTL") or shutil.which("kubectl")
    if not binary:
        pytest.skip("no kubectl: set KUBECTL or install it in PATH")
    return Kubectl(binary, kubeconfig, tmp_path_factory.mktemp("home"))


@pytest.fixture
def kubectl(cluster: Kubectl) -> Kubectl:
    """kubectl in a namespace of the test's own."""
    name = f"test-{os.getpid()}-{next(_numbers)}"
    cluster("create", "namespace", name)
    return Kubectl(cluster.binary, cluster.kubeconfig, cluster.home, name)


@pytest.fixture
def sandbox_only() -> None:
    """Skips a test about what only the sandbox does."""
    if _OTHER_SERVER:
        pytest.skip("only the sandbox does this")
