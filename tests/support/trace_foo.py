"""
The way of one Foo through the source: the files that its bytes, keys and requests pass, and their lines.

    python -m tests.support.trace_foo

A program with Foo alone runs on a sandbox over loopback, and has brought one Foo up to date: its caches are
filled, its connections are open. What runs between the creation of a second Foo and the moment when the
status of that Foo is written is traced, in all threads; the sandbox's own files do not count.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections import defaultdict
from http import HTTPStatus
from pathlib import Path
from types import FrameType
from typing import Any, Final

from prometheus_client import CollectorRegistry

from handloop.apis.crd import custom_resource_definition
from handloop.client.auth.credentials import StaticCredentials
from handloop.client.config import ClientConfig
from handloop.client.resource_client import Client
from handloop.client.transport import HTTPTransport
from handloop.controller.foo.runnable import add_foo
from handloop.controller.foo.types import Foo
from handloop.controller.runtime.manager import Manager
from handloop.sandbox.server import Sandbox

ROOT: Final = Path(__file__).parents[2] / "handloop"
SECONDS: Final = 30.0
CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
FOOS: Final = "/apis/samplecontroller.k8s.io/v1alpha1/namespaces/default/foos"


class Trace:
    """Notes lines of our files while it is on. Threads: any; sets of ints need no lock under the GIL."""

    def __init__(self) -> None:
        self.on = False
        self.lines: defaultdict[str, set[int]] = defaultdict(set)

    def __call__(self, frame: FrameType, event: str, _argument: object) -> Any:
        """Implements a trace function: ours are followed, others are not."""
        name = frame.f_code.co_filename
        if not name.startswith(str(ROOT)) or name.startswith(str(ROOT / "sandbox")):
            return None
        if self.on and event in {"call", "line"}:
            self.lines[name].add(frame.f_lineno)
        return self


def trace() -> dict[str, set[int]]:
    """The lines that ran for one Foo, by file."""
    trace = Trace()
    sandbox = Sandbox(speed=50)
    sandbox.start()
    try:
        config = ClientConfig(host=sandbox.url, credentials=StaticCredentials(f"Bearer {sandbox.token}"))
        transport = HTTPTransport(config)
        client = Client(transport)
        post(transport, CRDS, custom_resource_definition(Foo))
        threading.settrace(trace)
        manager = Manager(client, registry=CollectorRegistry())
        runnable = add_foo(manager, workers=1)
        stop = threading.Event()
        thread = threading.Thread(target=manager.run, args=(stop,))
        thread.start()
        wait_until(lambda: runnable.controller is not None and runnable.controller.workers_alive())
        bring_up("first", transport, client)
        trace.on = True
        bring_up("traced", transport, client)
        trace.on = False
        stop.set()
        thread.join()
    finally:
        threading.settrace(None)
        sandbox.stop()
    return trace.lines


def bring_up(name: str, transport: HTTPTransport, client: Client) -> None:
    """Create a Foo, and wait until its status is written."""
    foo = {
        "apiVersion": Foo.resource.api_version,
        "kind": "Foo",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"deploymentName": name, "replicas": 1},
    }
    post(transport, FOOS, foo)
    foos = client.resource(Foo)
    wait_until(lambda: foos.get(name, namespace="default").status.available_replicas == 1)


def post(transport: HTTPTransport, path: str, body: object) -> None:
    """Create an object as a program that is not ours would."""
    headers = {"Content-Type": "application/json"}
    answer = transport.request("POST", path, headers=headers, body=json.dumps(body).encode())
    if answer.status != HTTPStatus.CREATED:
        raise RuntimeError(answer.body.decode())


def wait_until(check: Any) -> None:
    """Raises: TimeoutError."""
    deadline = time.monotonic() + SECONDS
    while not check():
        if time.monotonic() > deadline:
            raise TimeoutError("the Foo was not brought up to date")
        time.sleep(0.02)


def main() -> None:
    """Print the files by the lines that ran in them."""
    total = ran = 0
    found = trace()
    for name, lines in sorted(found.items(), key=lambda item: -len(item[1])):
        length = len(Path(name).read_text(encoding="utf-8").splitlines())
        total, ran = total + length, ran + len(lines)
        sys.stdout.write(f"{len(lines):5} of {length:4}  {Path(name).relative_to(ROOT)}\n")
    sys.stdout.write(f"{ran:5} of {total:4}  lines ran, in {len(found)} files\n")


if __name__ == "__main__":
    main()
