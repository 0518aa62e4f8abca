"""The real program as a process of its own, so that a chapter can kill it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from handloop.sandbox.server import Sandbox
from handloop.walkthrough.screen import Screen
from handloop.walkthrough.source import PACKAGE
from handloop.walkthrough.stage import DEPLOYMENTS, FOOS, Stage
from handloop.walkthrough.waiting import until


@contextmanager
def child_program(sandbox: Sandbox) -> Iterator[subprocess.Popen[bytes]]:
    """The Foo controller on a sandbox, for the length of the context; then it is killed."""
    arguments = ["--controllers=foo", "--metrics-bind-address=0", "--health-probe-bind-address=0"]
    with tempfile.TemporaryDirectory() as folder:
        kubeconfig = sandbox.write_kubeconfig(Path(folder) / "kubeconfig")
        program = subprocess.Popen(  # noqa: S603 - this interpreter, with words of our own
            [sys.executable, "-m", "handloop", f"--kubeconfig={kubeconfig}", "--preflight=off", *arguments],
            env={**os.environ, "PYTHONPATH": str(PACKAGE.parent)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            yield program
        finally:
            program.kill()
            program.wait()


def killed_in_mid_sync(screen: Screen) -> tuple[str, str]:
    """
    Kill the program after it made a Deployment and before it wrote the status, then let another one run.

    Returns: the UIDs of the Deployment before and after. Blocks: until the status is written.
    """
    uids = []
    with Stage() as stage:
        stage.sandbox.faults.silence(verbs=["update"], resources=["foos/status"], count=1, executed=False)
        stage.apply()
        for wanted in (None, {"availableReplicas": 1}):
            with child_program(stage.sandbox) as program:
                until(lambda: stage.send("GET", DEPLOYMENTS)["items"], "the Deployment")
                until(lambda wanted=wanted: _status(stage) == wanted, "the status")  # type: ignore[misc]
                (deployment,) = stage.send("GET", DEPLOYMENTS)["items"]
                uids.append(deployment["metadata"]["uid"])
                screen.show(process=program.pid, status=_status(stage), deployment_uid=uids[-1])
    return uids[0], uids[1]


def _status(stage: Stage) -> dict[str, int] | None:
    status: dict[str, int] | None = stage.send("GET", f"{FOOS}/example-foo").get("status")
    return status
