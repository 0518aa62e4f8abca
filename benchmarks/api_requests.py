"""
Measures requests per second and watch fan-out of the sandbox and of a kube-apiserver on the same machine.

    python benchmarks/api_requests.py --tls --beside KUBECONFIG --beside-pids 123,456

The same load generator measures the servers alternately in each phase, and ratios are computed per round. The
kubeconfig must contain a token or a certificate as text. The pids are those of kube-apiserver and etcd.
Without --beside, only the sandbox is measured. No controllers run in the sandbox, and none should run in the
other cluster.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from http_load import Lap, Watches, send
from load_server import deployment
from servers import Server, cpu_seconds, resident_mib, servers
from tables import Row, Table, emit, parse

from handloop.apis.crd import custom_resource_definition
from handloop.controller.foo.types import Foo

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
KINDS = ["foos", "deployments"]
RETRIES = 3
CANARIES = 10
"""One in this many objects has the label that the lists select."""
LISTED_OBJECTS = 40_000
"""The number of objects that are requested with each kind of list, in at least five responses."""


@dataclass(frozen=True, slots=True)
class Figure:
    """
    The result of one phase on one server: the rate, the server's CPU time per item, and latencies.

    Times are in seconds.
    """

    rate: float
    cpu: float
    p50: float
    p99: float


Results = dict[tuple[str, str], dict[str, list[Figure]]]
"""The measurements of each round, first by kind and phase, then by server."""


@dataclass(slots=True)
class Round:
    """One server during one round: its namespace, and the responses that later phases use."""

    server: Server
    namespace: str
    objects: int
    answers: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def path(self, plural: str) -> str:
        """The collection in the round's namespace."""
        group = "samplecontroller.k8s.io/v1alpha1" if plural == "foos" else "apps/v1"
        return f"/apis/{group}/namespaces/{self.namespace}/{plural}"

    def item(self, plural: str, number: int) -> str:
        """One object of it."""
        return f"{self.path(plural)}/app-{number:06d}"


def new_object(plural: str, number: int) -> dict[str, Any]:
    """Return a Foo, or a Deployment of 4 kB, as a client sends it."""
    labels = {"app": f"app-{number:06d}", "track": "stable" if number % CANARIES else "canary"}
    metadata = {"name": f"app-{number:06d}", "labels": labels}
    if plural == "foos":
        spec = {"deploymentName": f"app-{number:06d}", "replicas": 3}
        return {
            "apiVersion": "samplecontroller.k8s.io/v1alpha1",
            "kind": "Foo",
            "metadata": metadata,
            "spec": spec,
        }
    full = deployment(number, 1)
    annotations = full["metadata"]["annotations"]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata | {"annotations": annotations},
        "spec": full["spec"],
    }


def with_status(obj: dict[str, Any], number: int) -> bytes:
    """Return the object with another status, as a controller sends it to the server."""
    if obj["kind"] == "Foo":
        status: dict[str, Any] = {"availableReplicas": number % 7 + 1}
    else:
        status = deployment(number, 1)["status"] | {"observedGeneration": number % 7 + 1}
    return json.dumps(obj | {"status": status}).encode()


async def create(plural: str, round_: Round) -> Lap:
    """POST every object."""
    requests = [
        round_.server.request("POST", round_.path(plural), json.dumps(new_object(plural, number)).encode())
        for number in range(round_.objects)
    ]
    lap = await send(round_.server, requests, keep=True)
    answers = [json.loads(body) for body in lap.bodies]
    round_.answers[plural] = sorted(answers, key=lambda obj: str(obj["metadata"]["name"]))
    return lap


async def update_status(plural: str, round_: Round) -> Lap:
    """PUT the status of every object, with the object's current resource version."""
    requests = [
        round_.server.request("PUT", f"{round_.item(plural, number)}/status", with_status(obj, number))
        for number, obj in enumerate(round_.answers.pop(plural))
    ]
    return await send(round_.server, requests)


async def get(plural: str, round_: Round) -> Lap:
    """GET every object."""
    requests = [round_.server.request("GET", round_.item(plural, number)) for number in range(round_.objects)]
    return await send(round_.server, requests)


async def list_all(plural: str, round_: Round, query: str = "") -> Lap:
    """GET the collection."""
    request = round_.server.request("GET", round_.path(plural) + query)
    return await send(round_.server, [request] * max(5, LISTED_OBJECTS // round_.objects))


async def list_labels(plural: str, round_: Round) -> Lap:
    """GET a tenth of the collection."""
    return await list_all(plural, round_, "?labelSelector=track%3Dcanary")


async def list_pages(plural: str, round_: Round) -> Lap:
    """GET the first half of the collection."""
    return await list_all(plural, round_, f"?limit={round_.objects // 2}")


@dataclass(frozen=True, slots=True)
class FanOut:
    """One writer and many watches."""

    watches: int
    writes: int

    async def __call__(self, plural: str, round_: Round) -> Lap:
        """
        Change objects one after the other. A latency is the time from the request to the event, for every
        watch.
        """
        server = round_.server
        watches = Watches(
            server, f"{round_.path(plural)}?watch=true&resourceVersion={await newest(plural, round_)}"
        )
        present = await watches.open(self.watches, self.writes)
        lap = await send(
            server, [self._patch(plural, round_, number) for number in range(self.writes)], connections=1
        )
        await present
        arrivals = watches.close()
        latencies = [at - sent for arrived in arrivals for sent, at in zip(lap.sent, arrived, strict=True)]
        return Lap(max(arrived[-1] for arrived in arrivals) - lap.sent[0], latencies=latencies)

    def _patch(self, plural: str, round_: Round, number: int) -> bytes:
        body = json.dumps({"metadata": {"annotations": {"n": str(number)}}}).encode()
        path = round_.item(plural, number % round_.objects)
        return round_.server.request("PATCH", path, body, content_type="application/merge-patch+json")


@dataclass(frozen=True, slots=True)
class FirstState:
    """Watches that begin with all there is."""

    watches: int

    async def __call__(self, plural: str, round_: Round) -> Lap:
        """
        Open all watches.

        An event is one object on one watch; a latency is that of a watch's last object.
        """
        query = "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
        watches = Watches(round_.server, f"{round_.path(plural)}?{query}")
        started = time.perf_counter()
        present = await watches.open(self.watches, round_.objects + 1)
        await present
        last = [arrived[-1] - started for arrived in watches.close()]
        return Lap(max(last), latencies=sorted(last) * round_.objects)


Phase = Callable[[str, Round], Awaitable[Lap]]
PHASES: dict[str, Phase] = {
    "create": create,
    "update status": update_status,
    "get": get,
    "list": list_all,
    "list, label selector": list_labels,
    "list, limit half": list_pages,
}


async def newest(plural: str, round_: Round) -> str:
    """Return the resource version at which a watch can begin."""
    lap = await send(
        round_.server, [round_.server.request("GET", f"{round_.path(plural)}?limit=1")], keep=True
    )
    version: str = json.loads(lap.bodies[0])["metadata"]["resourceVersion"]
    return version


async def measure_phase(work: Phase, plural: str, round_: Round) -> Figure:
    """One phase on one server."""
    before = cpu_seconds(round_.server)
    lap = await work(plural, round_)
    await asyncio.sleep(0.05)  # the work that a server does after its last response also counts
    cpu = cpu_seconds(round_.server) - before
    count = len(lap.latencies)
    ranked = sorted(lap.latencies)
    return Figure(
        count / lap.seconds, cpu / count, ranked[count // 2], ranked[min(count * 99 // 100, count - 1)]
    )


async def measure_patiently(work: Phase, plural: str, round_: Round) -> Figure:
    """Repeat a measurement if a busy kube-apiserver disconnects a client for being too slow."""
    for _ in range(RETRIES):
        try:
            return await measure_phase(work, plural, round_)
        except ConnectionError as error:
            print(f"{round_.server.name}: {error}; once more", file=sys.stderr)
            await asyncio.sleep(1)
    return await measure_phase(work, plural, round_)


async def prepare(server: Server, namespaces: list[str]) -> None:
    """Namespaces and the definition of Foo."""
    known = await send(server, [server.request("GET", CRDS)], keep=True)
    if b"foos.samplecontroller.k8s.io" not in known.bodies[0]:
        await send(
            server, [server.request("POST", CRDS, json.dumps(custom_resource_definition(Foo)).encode())]
        )
    for namespace in namespaces:
        body = json.dumps({"metadata": {"name": namespace}}).encode()
        await send(server, [server.request("POST", "/api/v1/namespaces", body)])
    await asyncio.sleep(3)  # a definition is served only some time after its creation


async def measure(
    servers: list[Server], objects: int, rounds: int, fan_out: FanOut, plurals: list[str]
) -> Results:
    """Every phase on each server in turn."""
    names = [f"load-{os.getpid()}-{number}" for number in range(rounds)]
    for server in servers:
        await prepare(server, names)
    results: Results = {}
    watching: dict[str, Phase] = {
        f"first state, {fan_out.watches} watches": FirstState(fan_out.watches),
        f"changes, {fan_out.watches} watches": fan_out,
    }
    for number, name in enumerate(names):
        for plural in plurals:
            states = [Round(server, name, objects) for server in servers]
            for title, work in (PHASES | watching).items():
                for state in states:
                    figure = await measure_patiently(work, plural, state)
                    row = results.setdefault((plural, title), {})
                    row.setdefault(state.server.name, []).append(figure)
            for state in states:
                size = resident_mib(state.server)
                print(f"{state.server.name}: {size:,.0f} MiB after {plural}", file=sys.stderr)
                await send(state.server, [state.server.request("DELETE", state.path(plural))])
        print(f"round {number + 1} of {rounds} done", file=sys.stderr)
    return results


def table(results: Results, names: list[str]) -> dict[str, Row]:
    """Return the medians, and the ratios of the first server to the others, computed per round."""
    rows: dict[str, Row] = {}
    for (plural, title), servers_figures in results.items():
        for name in names:
            figures = servers_figures[name]
            rate, cpu, p50, p99 = (
                statistics.median(getattr(figure, column) for figure in figures)
                for column in ("rate", "cpu", "p50", "p99")
            )
            pairs = list(zip(servers_figures[names[0]], figures, strict=True))
            cpus = [mine.cpu / other.cpu for mine, other in pairs if other.cpu]
            rows[f"{plural} {title}, {name}"] = {
                "per second": rate,
                "CPU us each": cpu * 1e6,
                "p50 ms": p50 * 1e3,
                "p99 ms": p99 * 1e3,
                "rate ratio": statistics.median(mine.rate / other.rate for mine, other in pairs),
                "CPU ratio": statistics.median(cpus) if cpus else None,
            }
    return rows


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--objects", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--watches", type=int, default=50)
    parser.add_argument("--writes", type=int, default=500)
    parser.add_argument("--kinds", nargs="*", choices=KINDS, default=KINDS)
    parser.add_argument("--tls", action="store_true", help="the sandbox with TLS, too")
    parser.add_argument("--beside", type=Path, help="the kubeconfig of a kube-apiserver on this machine")
    parser.add_argument("--beside-pids", default="", help="its processes and etcd's, with commas")
    options = parse(parser, objects=20, rounds=1, watches=2, writes=5, kinds=["foos"])
    fan_out = FanOut(options.watches, options.writes)
    with servers(options.beside, options.beside_pids, *(["--tls"] if options.tls else [])) as found:
        results = asyncio.run(measure(found, options.objects, options.rounds, fan_out, options.kinds))
    rows = table(results, [server.name for server in found])
    setting = (
        f"Objects: {options.objects}. Rounds: {options.rounds} (medians). Each ratio is the sandbox's "
        "value divided by the row's. Higher rate ratios and lower CPU ratios mean a faster sandbox."
    )
    emit([Table("Requests of the sandbox", setting, rows)], options.json)


if __name__ == "__main__":
    main()
