"""
`sandbox` and `--sandbox`: the built-in API server, alone or under the controller. Nothing else imports it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from apis.crd import custom_resource_definition
from apis.samplecontroller_v1alpha1 import Foo
from controller.cli.options import Options
from sandbox.server import Sandbox

WHAT_IT_IS_NOT = """\
It runs no containers and checks no RBAC; pods are simulated. It keeps everything in memory.
"""


@contextmanager
def running_sandbox(options: Options) -> Iterator[Path]:
    """
    A sandbox with the CRDs installed, for as long as the context lasts.

    Returns: the path of the kubeconfig it wrote, which is removed at the end.
    Raises: OSError when the port is taken or the kubeconfig cannot be written.
    """
    sandbox = Sandbox(port=options.sandbox_port, speed=options.sandbox_speed)
    sandbox.start()
    try:
        sandbox.apply(custom_resource_definition(Foo))
        path = Path(options.sandbox_kubeconfig)
        sandbox.write_kubeconfig(path)
        yield path
    finally:
        sandbox.stop()


def sandbox_hint(kubeconfig: Path, stream: TextIO) -> None:
    """Tell what to type next."""
    shown = os.path.relpath(kubeconfig) if kubeconfig.is_relative_to(Path.cwd()) else str(kubeconfig)
    stream.write(
        f"sandbox ready; in another terminal:\n"
        f"  export KUBECONFIG={shown}\n"
        f"  kubectl apply -f manifests/samples/foo.yaml\n"
        f"  kubectl get foo,deployment,pod -w\n"
    )
    stream.flush()


def run_sandbox(options: Options, stop: threading.Event, stream: TextIO) -> None:
    """Serve until stop is set."""
    with running_sandbox(options) as kubeconfig:
        stream.write(WHAT_IT_IS_NOT)
        sandbox_hint(kubeconfig.resolve(), stream)
        stop.wait()
