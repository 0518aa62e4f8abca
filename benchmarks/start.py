"""
Measures the time from exec to the first request and to a Foo's Deployment, and memory and CPU when idle.

    python benchmarks/start.py KUBECONFIG --rounds 9 --idle 60

The server should have no controllers of its own. Without KUBECONFIG, the server is a sandbox in its own
process. Requests pass through a loopback proxy, which records the time of the first one.
"""

from __future__ import annotations

import argparse
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).parents[1]))

import yaml
from servers import ENVIRONMENT, cpu_seconds_of, resident_mib_of, sandbox_process
from tables import Row, Table, emit, medians, parse

from handloop.apis.crd import custom_resource_definition
from handloop.apis.unstructured import Unstructured
from handloop.client.config import load_config
from handloop.client.decoding.watch_stream import WatchEvent
from handloop.client.errors import NotFound
from handloop.client.options import ListOptions
from handloop.client.resource_client import Client, PatchType
from handloop.client.transport import HTTPTransport
from handloop.controller.foo.types import Foo, FooSpec
from handloop.controller.myapp.types import MyApp
from handloop.kinds.apps_v1 import Deployment

ROOT = Path(__file__).parents[1]
NAME = "bench-start"
NAMESPACE = "default"
GO = "sample-controller in Go"
HANDSHAKE = range(0x14, 0x17)
"""The first bytes of TLS records before any request. A record with a request begins with another byte."""
QUIET = ("--metrics-bind-address=0", "--health-probe-bind-address=0", "-v0")


class Proxy:
    """Forwards bytes to a server. State: _first_at, set by the thread of the first connection."""

    def __init__(self, host: str, port: int) -> None:
        self._first_at = 0.0
        self._server = (host, port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def taken(self) -> float:
        """Return the time of the first request since the last call, or 0.0 if there was no request."""
        first, self._first_at = self._first_at, 0.0
        return first

    def _accept(self) -> None:
        while True:
            near, _ = self._listener.accept()
            far = socket.create_connection(self._server)
            for one in (near, far):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(
                target=self._pass, args=(near, far), kwargs={"requests": True}, daemon=True
            ).start()
            threading.Thread(target=self._pass, args=(far, near), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket, *, requests: bool = False) -> None:
        try:
            while data := source.recv(65536):
                if requests and not self._first_at and data[0] not in HANDSHAKE:
                    self._first_at = time.perf_counter()
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            target.close()


class Stage:
    """A server with one Foo. A proxy is in front of the server."""

    def __init__(self, kubeconfig: Path, folder: Path) -> None:
        self._client = Client(HTTPTransport(load_config(kubeconfig=str(kubeconfig))))
        document = yaml.safe_load(kubeconfig.read_text())
        cluster = document["clusters"][0]["cluster"]
        url = urlsplit(cluster["server"])
        self.proxy = Proxy(url.hostname or "", url.port or 443)
        cluster["server"] = f"{url.scheme}://127.0.0.1:{self.proxy.port}"
        self.kubeconfig = folder / "kubeconfig"
        self.kubeconfig.write_text(yaml.safe_dump(document))
        self._foos = self._client.resource(Foo)
        self._deployments = self._client.resource(Deployment)

    @contextmanager
    def foo(self) -> Iterator[None]:
        """Create the definitions and one Foo, which is deleted at the end."""
        definitions = self._client.resource(
            Unstructured.of("apiextensions.k8s.io/v1", "CustomResourceDefinition", scope="Cluster")
        )
        for kind in (Foo, MyApp):
            definition = custom_resource_definition(kind)
            definitions.patch(
                definition["metadata"]["name"],
                definition,
                patch_type=PatchType.APPLY,
                field_manager="bench",
                force=True,
            )
        time.sleep(2)  # a definition is served only some time after its creation
        spec = FooSpec(deployment_name=NAME, replicas=1)
        self._foos.create(Foo.named(NAME, namespace=NAMESPACE, spec=spec))
        try:
            yield
        finally:
            self._foos.delete(NAME, namespace=NAMESPACE)
            self._forget()

    def start(self, command: list[str]) -> tuple[subprocess.Popen[bytes], dict[str, float]]:
        """
        Start a process, and wait until it has created the Deployment.

        Returns: the process and the duration.
        """
        self._forget()
        version = self._deployments.list(NAMESPACE).resource_version
        options = ListOptions(resource_version=version)
        self.proxy.taken()
        with closing(self._deployments.watch(NAMESPACE, options=options)) as watch:
            began_at = time.perf_counter()
            process = launch(command)
            try:
                while not any(is_made(event) for event in watch.read()):
                    pass
            except BaseException:
                end(process)
                raise
            made_at = time.perf_counter()
        cpu = cpu_seconds_of(process.pid)
        first = self.proxy.taken()
        times = (first - began_at, made_at - began_at, cpu)
        names = ("first request ms", "first Deployment ms", "CPU ms")
        return process, {name: 1e3 * seconds for name, seconds in zip(names, times, strict=True)}

    def _forget(self) -> None:
        with suppress(NotFound):
            self._deployments.delete(NAME, namespace=NAMESPACE)


def launch(command: list[str]) -> subprocess.Popen[bytes]:
    """Start a process in the root of the checkout."""
    return subprocess.Popen(command, cwd=ROOT, env=ENVIRONMENT, stderr=subprocess.DEVNULL)


def is_made(event: WatchEvent[Deployment]) -> bool:
    """Whether it brings the Deployment."""
    return isinstance(event.object, Deployment) and event.object.metadata.name == NAME


def idle(processes: dict[str, subprocess.Popen[bytes]], seconds: float) -> dict[str, Row]:
    """Return the memory of idle processes, and the fraction of a core that they use."""
    time.sleep(min(5.0, seconds))  # until all the work of a start is finished
    before = {name: cpu_seconds_of(process.pid) for name, process in processes.items()}
    time.sleep(seconds)
    rows: dict[str, Row] = {}
    for name, process in processes.items():
        cpu = cpu_seconds_of(process.pid) - before[name]
        rows[name] = {"MiB": resident_mib_of(process.pid), "idle % of a core": cpu / seconds * 100}
    return rows


def measure(stage: Stage, subjects: dict[str, list[str]], options: argparse.Namespace) -> dict[str, Row]:
    """
    Measure all subjects alternately.

    The first start of each fills the machine's caches and does not count.
    """
    starts: dict[str, list[dict[str, float]]] = {name: [] for name in subjects}
    commands = {
        name: [*command, f"-{'-' * (name != GO)}kubeconfig={stage.kubeconfig}"]
        for name, command in subjects.items()
    }
    for number in range(options.rounds + 1):
        for name, command in commands.items():
            process, row = stage.start(command)
            end(process)
            if number:
                starts[name].append(row)
    # These processes do not wait for a Deployment, because a running one creates it before the next one
    # watches.
    resting = {name: launch(command) for name, command in commands.items()}
    try:
        rest = idle(resting, options.idle)
    finally:
        for process in resting.values():
            end(process)
    return {name: {**medians(starts[name]), **rest[name]} for name in subjects}


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process, because its shutdown is not measured here."""
    process.kill()
    process.wait()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "kubeconfig", type=Path, nargs="?", help="a server without controllers; the default is a sandbox"
    )
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--idle", type=float, default=60.0, help="seconds")
    parser.add_argument("--python", default=sys.executable, help="use only the image's libraries")
    parser.add_argument("--go", type=Path, help="sample-controller, with the flag -qps")
    options = parse(parser, rounds=1, idle=0.5)
    ours = [options.python, "-m", "controller", *QUIET]
    subjects = {"Foo and MyApp": ours, "Foo alone, two kinds": [*ours, "--controllers=foo"]}
    if options.go is not None:
        subjects[GO] = [str(options.go), "-qps=-1"]
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        kubeconfig = options.kubeconfig
        if kubeconfig is None:
            kubeconfig = Path(name, "sandbox")
            kubeconfig.write_text(stack.enter_context(sandbox_process())[1])
        stage = Stage(kubeconfig, Path(name))
        stack.enter_context(stage.foo())
        rows = measure(stage, subjects, options)
    setting = (
        f"On a {'kube-apiserver' if options.kubeconfig else 'sandbox'}, medians of {options.rounds} rounds. "
        "Times are from exec until the first request, and until an existing Foo's "
        "Deployment is created. CPU ms is the CPU time until then. "
        f"MiB and idle are measured over {options.idle:g} s at rest."
    )
    emit([Table("Start, and rest", setting, rows)], options.json)


if __name__ == "__main__":
    main()
