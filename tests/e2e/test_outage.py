from __future__ import annotations

import re

from handloop.testing.eventually import eventually as until
from support.rigs.foo_story import wait_available
from support.rigs.managed_sandbox import post
from support.rigs.program import SECONDS, Program, Run
from support.servers.cluster import SandboxCluster, foo

INFORMERS = ("foos.samplecontroller.k8s.io", "deployments.apps")


def failed_requests(program: Program) -> float:
    """How many requests found no server."""
    page = program.page("metrics", "/metrics")[1]
    counts = re.findall(r'^rest_client_requests_total{code="<error>".*} (\S+)$', page, re.MULTILINE)
    return sum(map(float, counts))


def test_it_outlives_the_api_server(sandbox: SandboxCluster, run: Run) -> None:
    """Gone, that is one line per informer, then silence and growing pauses; back, it goes on by itself."""
    with run() as program:
        program.wait_ready()
        sandbox.create_foo("before")
        wait_available(sandbox, "before", 1)
        port = sandbox.stop_serving()
        for informer in INFORMERS:
            program.wait_line(f'Failed to (list|watch)".*{informer}')
        until(lambda: failed_requests(program) >= 4, "trying again", seconds=SECONDS)
        trouble = program.lines_with("Failed to (list|watch)")
        assert sorted(re.findall(r'reflector="([^"]+)"', "\n".join(trouble))) == sorted(INFORMERS)
        assert {line[0] for line in trouble} == {"W"}
        assert program.page("health", "/healthz")[0] == 200

        wanted = foo("meanwhile", {"deploymentName": "meanwhile", "replicas": 2})
        post(sandbox.sandbox, sandbox.foos, wanted)

        sandbox.serve_again(port)
        wait_available(sandbox, "meanwhile", 2)
        for informer in INFORMERS:
            program.wait_line(f'Watching again".*{informer}')
        sandbox.change(sandbox.foos, "before", {"spec": {"replicas": 2}})
        wait_available(sandbox, "before", 2)
        assert len(program.lines_with("Failed to (list|watch)")) == len(INFORMERS)
        assert program.stop() == 0


def test_a_start_without_an_api_server_waits_for_it(sandbox: SandboxCluster, run: Run) -> None:
    """Started too early it prints the trouble and how to check, is alive but not ready, and then works."""
    port = sandbox.stop_serving()
    with run() as program:
        program.wait_line("handloop errors E04")
        program.wait_line('Failed to (list|watch)".*foos')
        assert program.page("health", "/healthz")[0] == 200
        assert program.page("health", "/readyz")[0] == 500
        sandbox.serve_again(port)
        program.wait_ready()
        sandbox.create_foo("late")
        wait_available(sandbox, "late", 1)
        assert program.page("health", "/readyz") == (200, "ok")
