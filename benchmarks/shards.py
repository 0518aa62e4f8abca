"""
Compares one process with four sharded replicas: CPU and memory of each, on a running kube-apiserver.

    python benchmarks/shards.py KUBECONFIG --foos 2000 --myapps 1000 --namespaces 64 --replicas 4 --slots 16

The cluster should have neither a controller manager nor nodes, because they would use the same machine. For
each layout, the objects are created while the processes run (make); then all Foos are changed (change); then
the processes are restarted with all objects present (start). Each figure is for one process, with its ratio
to the single process. Both layouts have the same time for make and change, because a longer time contains
more resyncs and Lease renewals.

With --by uid, owners have children with labels, and nine of ten are in one namespace; --foos is their number.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

import yaml
from servers import ENVIRONMENT, cpu_seconds_of, resident_mib_of

from handloop.apis.crd import custom_resource_definition
from handloop.client.config import load_config
from handloop.client.http.response import Response
from handloop.client.transport import HTTPTransport
from handloop.controller.foo.types import Foo
from handloop.controller.myapp.types import MyApp

ROOT = Path(__file__).parents[1]
PROGRAM = Path(__file__).parent / "subjects/sharded_owners.py"
PROCESS = ENVIRONMENT | {"PYTHONPATH": str(ROOT)}
"""The environment of what is measured."""
QUIET_SECONDS = 5.0
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
FOOS = "/apis/samplecontroller.k8s.io/v1alpha1/namespaces/{}/foos"
MYAPPS = "/apis/example.com/v1/namespaces/{}/myapps"
BY_UID = "/apis/bench.handloop.dev/v1/namespaces/{}/owners"
OWNERS = (FOOS, MYAPPS, BY_UID)
CHILDREN = (
    "/apis/apps/v1/namespaces/{}/deployments",
    "/api/v1/namespaces/{}/services",
    "/apis/autoscaling/v2/namespaces/{}/horizontalpodautoscalers",
)
MERGE = "application/merge-patch+json"


class Layout(NamedTuple):
    """How many processes, with which flags."""

    name: str
    replicas: int
    flags: tuple[str, ...]


class Figures(NamedTuple):
    """Measurements of one process in one phase: CPU seconds, and resident MiB at the end."""

    cpu: float
    memory: float


Phase = tuple[float, list[Figures]]
Phases = dict[str, Phase]


def main() -> None:
    """Measure and print."""
    options = _options()
    lease = ("--leader-elect-resource-name=bench", "--leader-elect-resource-namespace=default")
    by = (f"--shards={options.slots}", f"--shards-by={options.by}", *lease)
    sharded = Layout(f"{options.replicas} replicas", options.replicas, by)
    layouts = [Layout("one process", 1, ()), sharded]
    bench = Bench(options)
    bench.install()
    results = {layout: bench.measure(layout) for layout in layouts}
    what = f"{options.foos} Foos, {options.myapps} MyApps, {options.namespaces} namespaces, {options.slots}"
    print(f"{what} slots; Python {platform.python_version()}, {os.cpu_count()} cores")
    whole = results[layouts[0]]
    for layout, phases in results.items():
        print(
            f"\n{layout.name:16}" + "".join(f"{'process ' + str(n + 1):>24}" for n in range(layout.replicas))
        )
        for phase, (seconds, figures) in phases.items():
            one = whole[phase][1][0]
            cells = (f"{f.cpu:7.2f} s {f.cpu / one.cpu:4.0%} {f.memory:5.1f} MiB" for f in figures)
            print(f"{phase:8}{seconds:6.1f} s " + " ".join(cells))
            shares = [figure.cpu / one.cpu for figure in figures]
            if layout.replicas > 1:
                # both, because an uneven distribution of namespaces costs no CPU in total
                print(f"{'':18}mean {sum(shares) / len(shares):.0%}, largest {max(shares):.0%}")


class Bench:
    """The objects in the cluster, and the processes that reconcile them."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._by_uid = options.by == "uid"
        self._transport = HTTPTransport(load_config(kubeconfig=str(options.kubeconfig)))
        self._foreign: list[int] = []
        self._namespaces = [f"bench-{number:03d}" for number in range(options.namespaces)]

    def install(self) -> None:
        """The kinds and the namespaces."""
        for kind in (Foo, MyApp):
            self._post(CRDS, custom_resource_definition(kind))
        printed = subprocess.run(
            [sys.executable, str(PROGRAM), "crd"], env=PROCESS, check=True, capture_output=True
        )
        self._post(CRDS, yaml.safe_load(printed.stdout))
        for namespace in self._namespaces:
            self._post("/api/v1/namespaces", {"metadata": {"name": namespace}})
        time.sleep(QUIET_SECONDS)

    def measure(self, layout: Layout) -> Phases:
        """Return the duration of each phase, and the measurements of each process."""
        paths = [path.format(namespace) for path in (*OWNERS, *CHILDREN) for namespace in self._namespaces]
        self._each(lambda path: self._send("DELETE", path), paths)
        self._foreign = [self._count(path) for path in CHILDREN]
        found: Phases = {}
        with self._processes(layout) as processes:
            found["make"] = self._phase(processes, self._make)
            found["change"] = self._phase(processes, self._change)
        with self._processes(layout) as processes:
            found["start"] = self._phase(processes, lambda: None, from_exec=True)
        return found

    def _phase(
        self,
        processes: Sequence[subprocess.Popen[bytes]],
        work: Callable[[], None],
        *,
        from_exec: bool = False,
    ) -> Phase:
        """
        Start some work, and wait until the processes have had their time; after a start, until they are idle.

        Returns: the duration, which exceeds the given time if the work took longer, and the processes'
        figures.
        Raises: RuntimeError if a process ends.
        """
        began, pids = time.monotonic(), [process.pid for process in processes]
        before = [0.0 if from_exec else cpu_seconds_of(pid) for pid in pids]
        work()
        last, rest, done = sum(map(cpu_seconds_of, pids)), time.monotonic(), False

        def is_over() -> bool:
            # Idle means less than a fiftieth of a core for some time.
            since, seconds = (rest, QUIET_SECONDS) if from_exec else (began, self._options.seconds)
            return done and time.monotonic() - since >= seconds

        while not is_over():
            time.sleep(0.5)
            if any(process.poll() is not None for process in processes):
                raise RuntimeError(f"a process has ended: see {self._options.logs}")
            now, done = sum(map(cpu_seconds_of, pids)), self._is_done()
            if now - last > 0.01 * len(pids) or not done:
                rest = time.monotonic()
            last = now
        return time.monotonic() - began, [
            Figures(cpu_seconds_of(pid) - base, resident_mib_of(pid))
            for pid, base in zip(pids, before, strict=True)
        ]

    def _make(self) -> None:
        if self._by_uid:
            self._each(lambda place: self._post(place[1], owner(place[0])), self._owners())
            return
        foos = [(path, foo(number)) for number, path in self._owners()]
        apps = [(path, app(number)) for number, path in self._placed(self._options.myapps, MYAPPS)]
        self._each(lambda each: self._post(*each), foos + apps)

    def _change(self) -> None:
        change = {"spec": {"replicas": 2}}
        self._each(lambda place: self._send("PATCH", f"{place[1]}/foo-{place[0]}", change), self._owners())

    def _owners(self) -> list[tuple[int, str]]:
        places = self._placed(self._options.foos, BY_UID if self._by_uid else FOOS)
        if self._by_uid:
            places = [(number, path if number % 10 == 0 else places[0][1]) for number, path in places]
        return places

    def _placed(self, count: int, path: str) -> list[tuple[int, str]]:
        spaces = len(self._namespaces)
        return [(number, path.format(self._namespaces[number % spaces])) for number in range(count)]

    def _is_done(self) -> bool:
        """Return whether all Deployments, Services and autoscalers exist."""
        options = self._options
        apps = 0 if self._by_uid else options.myapps
        wanted = (options.foos + apps, apps, apps)
        here = [self._count(path) for path in CHILDREN]
        return all(
            ours == now - others for ours, now, others in zip(wanted, here, self._foreign, strict=True)
        )

    def _count(self, path: str) -> int:
        page = json.loads(self._send("GET", path.replace("/namespaces/{}", ""), query={"limit": "1"}).body)
        return len(page["items"]) + int(page["metadata"].get("remainingItemCount", 0))

    def _post(self, path: str, body: Mapping[str, Any]) -> None:
        self._send("POST", path, body)

    def _send(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        query: Mapping[str, str] | None = None,
    ) -> Response:
        answer = self._transport.request(
            method,
            path,
            query=query,
            headers={"Content-Type": MERGE if method == "PATCH" else "application/json"},
            body=None if body is None else json.dumps(body).encode(),
        )
        if answer.status >= 400 and answer.status != 409:
            raise OSError(f"{method} {path}: {answer.status} {answer.body[:300]!r}")
        return answer

    def _each(self, function: Callable[[Any], object], arguments: Sequence[Any]) -> None:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(function, arguments))

    @contextmanager
    def _processes(self, layout: Layout) -> Iterator[list[subprocess.Popen[bytes]]]:
        """The program, so often."""
        program = [str(PROGRAM)] if self._by_uid else ["-m", "controller"]
        command = [sys.executable, *program, f"--kubeconfig={self._options.kubeconfig}"]
        command += [*layout.flags, "--metrics-bind-address=0", "--health-probe-bind-address=0"]
        command += ["--kube-api-qps=0", "--log-format=klog"]
        with ExitStack() as stack:
            processes = []
            for number in range(layout.replicas):
                log = stack.enter_context((self._options.logs / f"{number}.log").open("ab"))
                processes.append(subprocess.Popen(command, cwd=ROOT, env=PROCESS, stdout=log, stderr=log))
            if layout.replicas > 1:
                time.sleep(self._options.settle)
            try:
                yield processes
            finally:
                for process in processes:
                    process.terminate()
                for process in processes:
                    process.wait()


def foo(number: int) -> dict[str, Any]:
    """A Foo, which gets a Deployment."""
    return {
        "apiVersion": "samplecontroller.k8s.io/v1alpha1",
        "kind": "Foo",
        "metadata": {"name": f"foo-{number}"},
        "spec": {"deploymentName": f"foo-{number}", "replicas": 1},
    }


def owner(number: int) -> dict[str, Any]:
    """An owner of a Deployment."""
    return {
        "apiVersion": "bench.handloop.dev/v1",
        "kind": "Owner",
        "metadata": {"name": f"foo-{number}"},
        "spec": {"replicas": 1},
    }


def app(number: int) -> dict[str, Any]:
    """Return a MyApp, for which a Deployment, a Service and an autoscaler are created."""
    return {
        "apiVersion": "example.com/v1",
        "kind": "MyApp",
        "metadata": {"name": f"app-{number}"},
        "spec": {
            "image": "nginx:1.27",
            "port": 8080,
            "autoScaling": {"enabled": True, "minReplicas": 1, "maxReplicas": 3},
        },
    }


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("kubeconfig", type=Path)
    parser.add_argument("--by", choices=["namespace", "uid"], default="namespace")
    parser.add_argument("--foos", type=int, default=2000)
    parser.add_argument("--myapps", type=int, default=1000)
    parser.add_argument("--namespaces", type=int, default=64)
    parser.add_argument("--replicas", type=int, default=4)
    parser.add_argument("--slots", type=int, default=16)
    parser.add_argument(
        "--settle", type=float, default=45.0, help="seconds until the slots are distributed (45)"
    )
    parser.add_argument("--seconds", type=float, default=120.0, help="for each of make and change (120)")
    parser.add_argument("--logs", type=Path, required=True, help="folder for the logs of the processes")
    return parser.parse_args()


if __name__ == "__main__":
    main()
