"""
Measures how fast owners get their Deployments on a running kube-apiserver: handloop and its peers,
alternately.

    python benchmarks/reconciling.py KUBECONFIG --go BINARY --owners 1000 --workers 2 4 --rounds 3

Foos are reconciled by handloop and by Go's sample-controller, MyApps by handloop and by kopf. The cluster
should have neither a controller manager nor nodes, because they would use the same machine. BINARY is
sample-controller, built with two more flags: -workers, and -qps for the client's limit (-1 means none). All
owners exist before a program starts. A round ends once all Deployments exist and the program is idle.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

import tables
from servers import ENVIRONMENT, cpu_seconds_of, resident_mib_of
from shards import CRDS, FOOS, MYAPPS, app, foo

from handloop.apis.crd import custom_resource_definition
from handloop.apis.meta import Kind
from handloop.client.config import load_config
from handloop.client.transport import HTTPTransport
from handloop.controller.foo.types import Foo
from handloop.controller.myapp.types import MyApp

ROOT = Path(__file__).parents[1]
NAMESPACE = "reconciling"
DEPLOYMENTS = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments"
SERVICES = f"/api/v1/namespaces/{NAMESPACE}/services"
AUTOSCALERS = f"/apis/autoscaling/v2/namespaces/{NAMESPACE}/horizontalpodautoscalers"
EVENTS = f"/api/v1/namespaces/{NAMESPACE}/events"
QUIET_SECONDS = 1.5


class Owner(NamedTuple):
    """A kind that is reconciled. new creates the object with a number."""

    type: type[Kind]
    path: str
    new: Callable[[int], dict[str, Any]]


FOO = Owner(Foo, FOOS.format(NAMESPACE), foo)
MYAPP = Owner(MyApp, MYAPPS.format(NAMESPACE), app)


class Server:
    """The kube-apiserver, with the owners of one round."""

    def __init__(self, kubeconfig: Path, count: int) -> None:
        self._transport = HTTPTransport(load_config(kubeconfig=str(kubeconfig)))
        self._count = count
        for owner in (FOO, MYAPP):
            self._send("POST", CRDS, custom_resource_definition(owner.type))
        self._send("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        time.sleep(QUIET_SECONDS)

    def clear(self) -> None:
        """Delete the owners, and the objects that were created for them."""
        for path in (FOO.path, MYAPP.path, DEPLOYMENTS, SERVICES, AUTOSCALERS, EVENTS):
            self._send("DELETE", path)

    def renew(self, owner: Owner) -> None:
        """Replace all owners by new ones of one kind."""
        self.clear()
        with ThreadPoolExecutor(4) as pool:
            list(
                pool.map(lambda number: self._send("POST", owner.path, owner.new(number)), range(self._count))
            )

    def deployments(self) -> int:
        """Return the number of Deployments."""
        page = json.loads(self._send("GET", DEPLOYMENTS, query={"limit": "1"}))
        return len(page["items"]) + int(page["metadata"].get("remainingItemCount", 0))

    def _send(
        self, method: str, path: str, body: dict[str, Any] | None = None, query: dict[str, str] | None = None
    ) -> bytes:
        encoded = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        answer = self._transport.request(method, path, query=query, headers=headers, body=encoded)
        if answer.status >= 400 and answer.status != 409:
            raise OSError(f"{method} {path}: {answer.status} {answer.body[:300]!r}")
        return answer.body


def measure(server: Server, owner: Owner, command: list[str], count: int) -> dict[str, float]:
    """Run one program until all owners are reconciled. Raises: RuntimeError if the program ends early."""
    server.renew(owner)
    began = time.monotonic()
    process = subprocess.Popen(
        command, cwd=ROOT, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        while not server.deployments():
            time.sleep(0.005)
        first = time.monotonic()
        while server.deployments() < count:
            if process.poll() is not None:
                raise RuntimeError(f"{command[0]} has ended with {process.returncode}")
            time.sleep(0.1)
        last = time.monotonic()
        cpu = wait_for_rest(process.pid)
        memory = resident_mib_of(process.pid)
    finally:
        process.terminate()
        process.wait()
    return {
        "owners /s": count / (last - first),
        "CPU ms/owner": cpu / count * 1e3,
        "MiB": memory,
        "first s": first - began,
    }


def wait_for_rest(pid: int) -> float:
    """Wait until a process uses less than a fiftieth of a core for some time. Returns: its CPU seconds."""
    cpu = cpu_seconds_of(pid)
    while True:
        time.sleep(QUIET_SECONDS)
        before, cpu = cpu, cpu_seconds_of(pid)
        if cpu - before < QUIET_SECONDS / 50:
            return cpu


def programs(options: argparse.Namespace) -> dict[str, tuple[Owner, list[str]]]:
    """What each subject reconciles, and its command."""
    found = {}
    for count in options.workers:
        found[f"Foo: handloop, {count} workers"] = FOO, handloop("foo", count, options)
    for count in options.workers if options.go else ():
        go = [str(options.go), f"-kubeconfig={options.kubeconfig}", f"-workers={count}", "-qps=-1"]
        found[f"Foo: sample-controller, {count} workers"] = FOO, go
    most = max(options.workers)
    found[f"MyApp: handloop, {most} workers"] = MYAPP, handloop("myapp", most, options)
    if importlib.util.find_spec("kopf"):  # of benchmarks/requirements.lock
        found[f"MyApp: kopf, {most} threads"] = MYAPP, kopf(most, options)
    return found


def handloop(controller: str, workers: int, options: argparse.Namespace) -> list[str]:
    """Return the command for our program with one controller and without a request limit."""
    return [
        *(sys.executable, "-m", "controller", f"--kubeconfig={options.kubeconfig}", "--kube-api-qps=0"),
        *("--metrics-bind-address=0", "--health-probe-bind-address=0"),
        *(f"--controllers={controller}", f"--workers={workers}"),
    ]


def kopf(threads: int, options: argparse.Namespace) -> list[str]:
    """The MyApp operator of peers."""
    operator = str(ROOT / "benchmarks/peers/kopf_myapp.py")
    return [
        *("env", f"KUBECONFIG={options.kubeconfig}", f"WORKERS={threads}", sys.executable, "-m", "kopf"),
        *("run", operator, "--standalone", "--quiet", f"--namespace={NAMESPACE}"),
    ]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("kubeconfig", type=Path)
    parser.add_argument(
        "--go", type=Path, help=("sample-controller, built with the additional flags -workers and -qps")
    )
    parser.add_argument("--owners", type=int, default=1000)
    parser.add_argument("--workers", type=int, nargs="*", default=[2, 4])
    parser.add_argument("--rounds", type=int, default=3)
    options = tables.parse(parser, owners=20, rounds=1)
    server = Server(options.kubeconfig, options.owners)
    rounds: dict[str, list[dict[str, float]]] = {}
    for number in range(options.rounds):
        for subject, (owner, command) in programs(options).items():
            rounds.setdefault(subject, []).append(measure(server, owner, command, options.owners))
        print(f"round {number + 1} of {options.rounds} done", file=sys.stderr)
    server.clear()  # remaining objects would be work for the next program
    title = "Owners into Deployments on a kube-apiserver"
    setting = (
        f"{options.owners} owners, medians of {options.rounds} rounds. CPU time includes process startup."
    )
    rows = {subject: tables.medians(found) for subject, found in rounds.items()}
    tables.emit([tables.Table(title, setting, rows)], options.json)


if __name__ == "__main__":
    main()
