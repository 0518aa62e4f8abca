"""
Measures what gzip costs and saves: bytes and time of first lists of 2,000 Deployments and 2,000 ConfigMaps.

    python benchmarks/wire.py --kubeconfig ~/.kube/config --pids 123,456

The benchmark creates the objects in a new namespace on a real server, and removes them at the end. An
informer lists them in pages, alternately with and without gzip, over loopback and over slower links. The
reading thread imitates slower links: it waits for as long as the link would take.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).parents[1]))

import msgspec
from load_server import deployment
from servers import cpu_seconds_of
from tables import Row, Table, emit, medians, parse

from handloop.apis.apps_v1 import Deployment
from handloop.apis.meta import Kind
from handloop.apis.unstructured import Unstructured
from handloop.client.config import ClientConfig, load_config
from handloop.client.http.sockets import DeadlineSSLSocket
from handloop.client.resource_client import Client, PatchType, codec_of
from handloop.client.transport import HTTPTransport
from handloop.controller.runtime.life.collector import relax_collector
from handloop.informers.listwatch import ListWatch
from handloop.informers.shared_informer import SharedIndexInformer
from handloop.kinds.core_v1 import ConfigMap

NAMESPACE: Final = "handloop-wire"
PAGE: Final = 500
KINDS: Final[tuple[type[Kind], ...]] = (Deployment, ConfigMap)


class Link:
    """
    Counts the bytes that TLS sockets receive, and waits as a link with so many Mbit/s would.

    0 Mbit/s means that there is no wait.
    """

    def __init__(self, mbits: float) -> None:
        self.received = 0
        self._seconds_each = 8e-6 / mbits if mbits else 0.0
        self._free_at = 0.0

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Let all TLS sockets of the process receive over this link."""
        receive = DeadlineSSLSocket.recv_into

        def recv_into(sock: DeadlineSSLSocket, *args: Any) -> int:
            count = receive(sock, *args)
            self.received += count
            now = time.perf_counter()
            self._free_at = max(now, self._free_at) + count * self._seconds_each
            # Shorter sleeps would take longer than requested.
            if self._free_at - now > 0.0005:
                time.sleep(self._free_at - now)
            return count

        setattr(DeadlineSSLSocket, "recv_into", recv_into)  # noqa: B010 - mypy takes it for a method of this class
        try:
            yield
        finally:
            setattr(DeadlineSSLSocket, "recv_into", receive)  # noqa: B010 - as above


def objects_of(kind: type[Kind], count: int) -> Iterator[dict[str, Any]]:
    """Return objects as a user applies them. A paused Deployment creates no Pods, and gets a status."""
    for number in range(count):
        if kind is ConfigMap:
            metadata = {"name": f"settings-{number:06d}", "namespace": NAMESPACE, "labels": {"team": "a"}}
            data = {f"setting-{i}": f"value {number * i} of {i}" for i in range(20)}
            yield {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
            continue
        obj = deployment(number, 0)
        metadata = {key: obj["metadata"][key] for key in ("name", "labels", "annotations")}
        spec = {**obj["spec"], "replicas": 0, "paused": True}
        head = {"apiVersion": obj["apiVersion"], "kind": obj["kind"]}
        yield {**head, "metadata": {**metadata, "namespace": NAMESPACE}, "spec": spec}


@contextmanager
def objects(client: Client, count: int) -> Iterator[None]:
    """Create all objects, and delete them at the end of the block."""
    namespaces = client.resource(Unstructured.of("v1", "Namespace", scope="Cluster"))
    namespaces.patch(NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
                     patch_type=PatchType.APPLY, field_manager="wire")  # fmt: skip
    try:
        for kind in KINDS:
            for obj in objects_of(kind, count):
                client.resource(kind).patch(
                    obj["metadata"]["name"],
                    obj,
                    namespace=NAMESPACE,
                    patch_type=PatchType.APPLY,
                    field_manager="deployer",
                )
        yield
    finally:
        # The namespace is not deleted: without a controller manager it would remain, and accept no more
        # objects.
        for kind in KINDS:
            for obj in objects_of(kind, count):
                client.resource(kind).delete(obj["metadata"]["name"], namespace=NAMESPACE)


def first_list(
    config: ClientConfig, kind: type[Kind], link: Link, count: int, pids: Sequence[int]
) -> dict[str, float]:
    """Run an informer from its start until it has all objects."""
    stop = threading.Event()
    with closing(HTTPTransport(config)) as transport, link.in_use():
        client = Client(transport)
        source = ListWatch(client.resource(kind), namespace=NAMESPACE, supports_watch_list=False)
        informer = SharedIndexInformer(source, kind)
        client.version()  # the handshake is not measured
        received, server = link.received, sum(map(cpu_seconds_of, pids))
        cpu, start = time.process_time(), time.perf_counter()
        thread = threading.Thread(target=informer.run, args=(stop,))
        thread.start()
        while not informer.has_synced():
            time.sleep(0.001)
        laps = {
            "wall ms": (time.perf_counter() - start) * 1e3,
            "client ms": (time.process_time() - cpu) * 1e3,
            "server ms": (sum(map(cpu_seconds_of, pids)) - server) * 1e3,
            "MB": (link.received - received) / 1e6,
        }
        stop.set()
        informer.stop()
        thread.join()
        assert len(informer.indexer) >= count
        return laps


def without_managed_fields(body: bytes) -> bytes:
    """Return a list as a server with KEP-5958 sends it."""
    listed = msgspec.json.decode(body)
    for item in listed["items"]:
        item["metadata"].pop("managedFields", None)
    return msgspec.json.encode(listed)


def decode_us(kind: type[Kind], body: bytes, rounds: int) -> float:
    """Return the microseconds for decoding an object of a page, from the best of several rounds."""
    pages, seconds = codec_of(kind).pages, []
    for _ in range(rounds):
        start = time.perf_counter()
        pages.decode(body)
        seconds.append(time.perf_counter() - start)
    return min(seconds) / PAGE * 1e6


def measure(config: ClientConfig, kind: type[Kind], arguments: argparse.Namespace) -> dict[str, Row]:
    """The rows of one kind."""
    rows: dict[str, Row] = {}
    pids = [int(pid) for pid in arguments.pids.split(",") if pid]
    for mbits in arguments.mbits:
        laps: dict[bool, list[dict[str, float]]] = {False: [], True: []}
        for _ in range(arguments.rounds):
            for gzip, found in laps.items():
                asked = replace(config, disable_compression=not gzip)
                found.append(first_list(asked, kind, Link(mbits), arguments.objects, pids))
        ratio = statistics.median(
            zipped["wall ms"] / plain["wall ms"] for plain, zipped in zip(*laps.values(), strict=True)
        )
        link = f"{mbits:g} Mbit/s" if mbits else "loopback"
        for gzip, found in laps.items():
            name = f"{kind.__name__}, {link}, {'gzip' if gzip else 'plain'}"
            rows[name] = {**medians(found), "gzip/plain": ratio if gzip else None}
    return rows


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--kubeconfig")
    parser.add_argument(
        "--pids",
        default="",
        help=("pids of the server and etcd, separated by commas, to count their CPU time"),
    )
    parser.add_argument("--objects", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--mbits", type=float, nargs="*", default=[0, 1000, 100])
    arguments = parse(parser, objects=20, rounds=1, mbits=[0])
    relax_collector()
    config = load_config(kubeconfig=arguments.kubeconfig)
    with closing(HTTPTransport(config)) as transport, objects(Client(transport), arguments.objects):
        rows = [measure(config, kind, arguments) for kind in KINDS]
        pages: dict[str, Row] = {}
        for kind in KINDS:
            page = {"limit": str(PAGE)}
            body = transport.request("GET", kind.resource.path(namespace=NAMESPACE), query=page).body
            for name, each in (("as sent", body), ("dropped", without_managed_fields(body))):
                us = decode_us(kind, each, arguments.rounds)
                pages[f"{kind.__name__}, managedFields {name}"] = {"MB": len(each) / 1e6, "decode us": us}
    setting = (
        f"First lists of {arguments.objects} objects, medians of {arguments.rounds} rounds. client ms and "
        "server ms are CPU time. gzip/plain is the ratio of the wall times; below 1, gzip is faster."
    )
    emit(
        [
            Table("gzip over links of some speed", setting, {**rows[0], **rows[1]}),
            Table(
                "managedFields",
                f"A page of {PAGE} objects. decode us is the wall time per object in the best round.",
                pages,
            ),
        ],
        arguments.json,
    )


if __name__ == "__main__":
    main()
