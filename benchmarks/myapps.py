"""
1,000 MyApps reconciled from nothing: this program, and kopf with the same writes, on both servers.

    python benchmarks/myapps.py --beside KUBECONFIG --beside-pids 123,456

The MyApps are there before the operator starts. The time runs from the first child to the moment when every
MyApp has its Deployment, its Service, an event and a status about its generation, as watches of the four
kinds show it: both operators send events behind the rest, and neither gains by being late with them. No
Deployment controller and no kubelet run: replicas stay at 0, and no simulation of pods is measured.
For the options see api_requests.py.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPResponse, HTTPSConnection
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from http_load import send
from servers import Server, cpu_seconds, cpu_seconds_of, resident_bytes_of, servers

from handloop.apis.crd import custom_resource_definition
from handloop.controller.myapp.types import MyApp

ROOT = Path(__file__).parents[1]
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WORKERS = 4
LIMIT_SECONDS = 900
OPERATORS: dict[str, Callable[[str], list[str]]] = {
    "handloop": lambda namespace: [
        *(sys.executable, "-m", "controller", "--controllers=myapp", f"--namespace={namespace}"),
        *(f"--workers={WORKERS}", "--preflight=off", "-v0", "--health-probe-bind-address=0"),
        "--metrics-bind-address=0",
    ],
    "kopf": lambda namespace: [
        *(sys.executable, "-m", "kopf", "run", str(ROOT / "benchmarks/peers/kopf_myapp.py")),
        *("--standalone", "--quiet", f"--namespace={namespace}"),
    ],
}
CHILDREN = {"deployments": "/apis/apps/v1", "services": "/api/v1"}
PLURALS = {"myapps": "/apis/example.com/v1", "events": "/api/v1", **CHILDREN}


@dataclass(frozen=True, slots=True)
class Figure:
    """One operator on one server; each is for one MyApp, but for memory."""

    rate: float
    operator_cpu: float
    server_cpu: float
    writes: float
    memory: float


def new_myapp(number: int) -> dict[str, Any]:
    """A MyApp as in manifests/samples."""
    return {
        "apiVersion": "example.com/v1",
        "kind": "MyApp",
        "metadata": {"name": f"app-{number:05d}"},
        "spec": {
            "image": "nginx:1.27",
            "replicas": 2,
            "env": [{"name": "GREETING", "value": "hello"}],
            "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"memory": "128Mi"}},
        },
    }


class Progress:
    """
    What the watches have shown of a namespace.

    State, under _lock: _done holds the names that are complete, by kind. Threads: one follows each kind.
    """

    def __init__(self, server: Server, namespace: str, wanted: int) -> None:
        self.first_child = threading.Event()
        self.complete = threading.Event()
        self._server = server
        self._namespace = namespace
        self._wanted = wanted
        self._lock = threading.Lock()
        self._done: dict[str, set[str]] = {plural: set() for plural in PLURALS}
        self._open: list[tuple[HTTPConnection, HTTPResponse]] = []
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Begin to watch."""
        for plural, prefix in PLURALS.items():
            connection = self._connection()
            path = f"{prefix}/namespaces/{self._namespace}/{plural}?watch=true"
            connection.request("GET", path, headers={"Authorization": f"Bearer {self._server.token}"})
            answer = connection.getresponse()
            self._open.append((connection, answer))
            thread = threading.Thread(target=self._follow, args=(plural, answer), daemon=True)
            thread.start()
            self._threads.append(thread)

    def stop(self) -> None:
        """Stop watching."""
        for connection, _ in self._open:
            if connection.sock is not None:
                connection.sock.close()

    def text(self) -> str:
        """How many are complete."""
        with self._lock:
            return ", ".join(f"{len(names)} {plural}" for plural, names in self._done.items())

    def _connection(self) -> HTTPConnection:
        host, port = self._server.address
        if self._server.tls is None:
            return HTTPConnection(host, port)
        return HTTPSConnection(host, port, context=self._server.tls)

    def _follow(self, plural: str, answer: HTTPResponse) -> None:
        while not self.complete.is_set() and (line := answer.readline()):
            obj = json.loads(line)["object"]
            if (plural == "myapps" and not is_told(obj)) or (plural == "events" and not is_ours(obj)):
                continue
            if plural in CHILDREN:
                self.first_child.set()
            about = obj["involvedObject"] if plural == "events" else obj["metadata"]
            with self._lock:
                self._done[plural].add(about["name"])
                if all(len(names) == self._wanted for names in self._done.values()):
                    self.complete.set()


def is_told(obj: dict[str, Any]) -> bool:
    """Whether a status is about the generation."""
    status = obj.get("status") or {}
    return bool(status.get("conditions")) and status["observedGeneration"] == obj["metadata"]["generation"]


def is_ours(event: dict[str, Any]) -> bool:
    """Whether an event is about a MyApp, and not of a cluster's own controllers."""
    return bool(event["involvedObject"]["kind"] == "MyApp")


async def writes(server: Server) -> int:
    """How many requests the server has had that change something."""
    lap = await send(server, [server.request("GET", "/metrics")], keep=True)
    counts = re.findall(
        rb'^apiserver_request_total\{[^}]*verb="(?:POST|PUT|PATCH|APPLY|DELETE)"[^}]*\} (\S+)',
        lap.bodies[0],
        re.MULTILINE,
    )
    return int(sum(map(float, counts)))


async def prepare(server: Server, namespace: str, count: int) -> None:
    """The definition, a namespace, and the MyApps."""
    known = await send(server, [server.request("GET", CRDS)], keep=True)
    if b"myapps.example.com" not in known.bodies[0]:
        definition = json.dumps(custom_resource_definition(MyApp)).encode()
        await send(server, [server.request("POST", CRDS, definition)])
        await asyncio.sleep(3)  # a definition is served a moment after it was created
    body = json.dumps({"metadata": {"name": namespace}}).encode()
    await send(server, [server.request("POST", "/api/v1/namespaces", body)])
    path = f"{PLURALS['myapps']}/namespaces/{namespace}/myapps"
    bodies = [json.dumps(new_myapp(number)).encode() for number in range(count)]
    await send(server, [server.request("POST", path, body) for body in bodies])


def measure(server: Server, operator: str, count: int, namespace: str) -> Figure:
    """
    Run an operator until every MyApp is complete.

    Raises: TimeoutError.
    """
    asyncio.run(prepare(server, namespace, count))
    progress = Progress(server, namespace, count)
    progress.start()
    before = asyncio.run(writes(server))
    with tempfile.NamedTemporaryFile("w", suffix=".kubeconfig") as kubeconfig:
        kubeconfig.write(server.kubeconfig)
        kubeconfig.flush()
        environment = os.environ | {"KUBECONFIG": kubeconfig.name, "WORKERS": str(WORKERS)}
        command = OPERATORS[operator](namespace)
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            return _watched(process.pid, server, progress, count, before)
        finally:
            progress.stop()
            process.terminate()
            process.wait(30)


def _watched(pid: int, server: Server, progress: Progress, count: int, before: int) -> Figure:
    if not progress.first_child.wait(LIMIT_SECONDS):
        raise TimeoutError("no child was created")
    began, cpu, server_cpu = time.perf_counter(), cpu_seconds_of(pid), cpu_seconds(server)
    if not progress.complete.wait(LIMIT_SECONDS):
        raise TimeoutError(f"of {count} there are {progress.text()}")
    seconds = time.perf_counter() - began
    return Figure(
        rate=count / seconds,
        operator_cpu=(cpu_seconds_of(pid) - cpu) / count,
        server_cpu=(cpu_seconds(server) - server_cpu) / count,
        writes=(asyncio.run(writes(server)) - before) / count,
        memory=resident_bytes_of(pid),
    )


def table(results: dict[tuple[str, str], list[Figure]]) -> str:
    """Medians, and ratios of ours to the peer taken round by round."""
    columns = ("MyApps/s", "operator ms", "server ms", "writes each", "MiB", "rate ratio")
    lines = [" " * 28 + "".join(f"{column:>13}" for column in columns)]
    for (server, operator), figures in results.items():
        rate, cpu, server_cpu, each, memory = (
            statistics.median(getattr(figure, column) for figure in figures)
            for column in ("rate", "operator_cpu", "server_cpu", "writes", "memory")
        )
        line = f"{server:16}{operator:12}{rate:13.1f}{cpu * 1e3:13.2f}{server_cpu * 1e3:13.2f}{each:13.2f}"
        line += f"{memory / 2**20:13.0f}"
        ours = results[server, "handloop"]
        if figures is not ours:
            pairs = zip(ours, figures, strict=True)
            line += f"{statistics.median(mine.rate / other.rate for mine, other in pairs):12.2f}x"
        lines.append(line)
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--objects", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", choices=list(OPERATORS), default=list(OPERATORS))
    parser.add_argument("--tls", action="store_true", help="the sandbox with TLS, too")
    parser.add_argument("--beside", type=Path, help="the kubeconfig of a kube-apiserver on this machine")
    parser.add_argument("--beside-pids", default="", help="its processes and etcd's, with commas")
    options = parser.parse_args()
    results: dict[tuple[str, str], list[Figure]] = {}
    with servers(options.beside, options.beside_pids, *(["--tls"] if options.tls else [])) as found:
        for number in range(options.rounds):
            for server in found:
                for operator in options.only:
                    namespace = f"{operator}-{os.getpid()}-{number}"
                    figure = measure(server, operator, options.objects, namespace)
                    results.setdefault((server.name, operator), []).append(figure)
                    print(f"round {number + 1}: {operator} on {server.name}: {figure}", file=sys.stderr)
    print(
        f"{options.objects} MyApps, {WORKERS} workers, {options.rounds} rounds, medians; "
        f"Python {platform.python_version()}, {os.cpu_count()} cores\n"
        "operator and server: CPU milliseconds for each MyApp; rate ratio: handloop's over the peer's\n"
    )
    print(table(results))


if __name__ == "__main__":
    main()
