"""`sandbox` and `--sandbox`: the built-in API server, alone or under the controller."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final, TextIO

from apis.crd import custom_resource_definition
from apis.samplecontroller_v1alpha1 import Foo
from client.config import ClientConfig
from client.credentials import StaticCredentials
from client.transport import HTTPTransport
from controller.cli.options import Options

CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

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
    # its HTTP server takes a third of a second to import, and a controller in a cluster never needs it
    from sandbox.server import Sandbox  # noqa: PLC0415

    sandbox = Sandbox(port=options.sandbox_port, speed=options.sandbox_speed)
    sandbox.start()
    try:
        _install(sandbox.url, sandbox.token, custom_resource_definition(Foo))
        path = Path(options.sandbox_kubeconfig)
        sandbox.write_kubeconfig(path)
        yield path
    finally:
        sandbox.stop()


def _install(url: str, token: str, definition: dict[str, Any]) -> None:
    """Create a CRD the way everybody does: by a request."""
    transport = HTTPTransport(ClientConfig(host=url, credentials=StaticCredentials(f"Bearer {token}")))
    body = json.dumps(definition).encode()
    answer = transport.request("POST", CRDS, headers={"Content-Type": "application/json"}, body=body)
    transport.close()
    if answer.status != HTTPStatus.CREATED:
        raise OSError(f"the sandbox refused the CRD: {answer.body.decode(errors='replace')}")


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
