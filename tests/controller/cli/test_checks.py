"""The checks for a command line."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from handloop.client.auth.credentials import StaticCredentials
from handloop.client.config import ClientConfig
from handloop.client.errors import ConfigError, ConfigProblem
from handloop.client.resource_client import Client
from handloop.controller.cli.checks import preflight_for
from handloop.controller.cli.declared import declared_access
from handloop.controller.cli.options import Options
from handloop.controller.cli.permissions import needs
from handloop.sandbox.server import Sandbox
from handloop.workqueue.clock import REAL_CLOCK


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    """A cluster without CRDs that nobody listens for."""
    cluster = Sandbox(token="admin", controllers=(), seed=1)
    yield cluster
    cluster.stop()


def test_they_ask_for_all_that_was_declared_where_it_is_watched(sandbox: Sandbox) -> None:
    """Each kind of ours, and each permission in the namespace of -n; a path stays out of what is shown."""
    options = Options(namespace="demo")
    client = Client(sandbox.transport(token="admin"))  # type: ignore[arg-type] # same shapes, other classes
    config = ClientConfig(host="https://10.0.0.1:6443/secret")
    report = preflight_for(client, config, options, REAL_CLOCK).check(threading.Event())
    asked = [finding.subject for finding in report.findings if finding.check == "permission"]
    wanted = needs(declared_access(options), ("demo",))
    assert asked == [f"{need.what} {need.scope}" for need in wanted]
    assert 'list foos.samplecontroller.k8s.io in namespace "demo"' in asked
    (server,) = [finding.subject for finding in report.findings if finding.check == "server"]
    assert server.startswith("https://10.0.0.1:6443 (v1.")


def test_the_login_comes_first(sandbox: Sandbox) -> None:
    """With credentials that cannot be had nothing is asked of the server."""

    class Refused(StaticCredentials):
        def authorization(self, *_: object) -> str:
            raise ConfigError(ConfigProblem.EXEC_PLUGIN, "no login")

    client = Client(sandbox.transport(token="admin"))  # type: ignore[arg-type] # same shapes, other classes
    config = ClientConfig(host="https://10.0.0.1:6443", credentials=Refused())
    report = preflight_for(client, config, Options(), REAL_CLOCK).check(threading.Event())
    assert [(problem.code, problem.what) for problem in report.problems] == [("E06", "no login")]
