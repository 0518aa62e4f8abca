"""
The stock kubectl against one sandbox per module, at a high speed.

KUBECTL or PATH names the program; without one the tests are skipped. KUBECTL_TEST_KUBECONFIG runs them
against another server instead, to see that they match a real one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import NamedTuple

import pytest

from handloop_sandbox.server import Sandbox
from support.servers.kubectl import Kubectl, kubectl_binary

SPEED = 20.0
_numbers = count(1)
_OTHER_SERVER = os.environ.get("KUBECTL_TEST_KUBECONFIG", "")


class Server(NamedTuple):
    """What the tests talk to; new_namespace is None when only kubectl can make one."""

    kubeconfig: Path
    new_namespace: Callable[[str], None] | None = None


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A running sandbox."""
    if _OTHER_SERVER:
        yield Server(Path(_OTHER_SERVER))
        return
    with Sandbox(seed=1, speed=SPEED) as sandbox:
        path = sandbox.write_kubeconfig(tmp_path_factory.mktemp("sandbox") / "kubeconfig")
        transport = sandbox.transport()

        def new_namespace(name: str) -> None:
            body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            headers = {"Content-Type": "application/json"}
            answer = transport.request(
                "POST", "/api/v1/namespaces", headers=headers, body=json.dumps(body).encode()
            )
            assert answer.status == 201, answer.body

        yield Server(path, new_namespace)


@pytest.fixture(scope="module")
def cluster(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Kubectl:
    """Kubectl in the namespace default."""
    return Kubectl(kubectl_binary(), server.kubeconfig, tmp_path_factory.mktemp("home"))


@pytest.fixture
def kubectl(server: Server, cluster: Kubectl) -> Kubectl:
    """Kubectl in a namespace of the test's own."""
    name = f"test-{os.getpid()}-{next(_numbers)}"
    if server.new_namespace is None:
        cluster("create", "namespace", name)
    else:
        server.new_namespace(name)
    return Kubectl(cluster.binary, cluster.kubeconfig, cluster.home, name)


@pytest.fixture
def sandbox_only() -> None:
    """Skips a test about what only the sandbox does."""
    if _OTHER_SERVER:
        pytest.skip("only the sandbox does this")
