"""
Measures an informer's memory after its first list and after later lists, as ratios.

    python benchmarks/relists.py --objects 20000 --relists 10

The load generator serves the lists over loopback. Each subject runs in its own process: an informer with one
handler, whose watches expire. After every list, the benchmark waits until the handler has received every
object.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[1]))

from msgspec.structs import replace
from tables import Row, Table, emit, parse

from handloop.apis.apps_v1 import Deployment
from handloop.client.config import ClientConfig
from handloop.client.decoding.pages import ListPage
from handloop.client.decoding.watch_stream import Bookmark, WatchEvent
from handloop.client.errors import error_from_status
from handloop.client.errors.status import Status
from handloop.client.options import ListOptions
from handloop.client.resource_client import Client
from handloop.client.transport import HTTPTransport
from handloop.controller.bundled import ABRIDGED
from handloop.controller.runtime.life.collector import relax_collector
from handloop.informers.handlers import ResourceEventHandlerFuncs
from handloop.informers.indexer import NAMESPACE_INDEX, namespace_index_func
from handloop.informers.listwatch import ListWatch, Watch
from handloop.informers.shared_informer import SharedIndexInformer
from handloop.seams.clock import RealClock
from handloop.seams.seams import Seams

HERE: Final = Path(__file__).parent
TIMEOUT_SECONDS: Final = 600
MIB: Final = 2**20
SUBJECTS: Final = {
    "pages, all fields": ["--all-fields"],
    "pages, the program's fields": [],
    "stream, all fields": ["--all-fields", "--stream"],
    "pages, all fields, a tenth changes": ["--all-fields", "--changing", "10"],
    "pages, all fields, all change": ["--all-fields", "--changing", "1"],
}

Memory = dict[str, int]


class ImpatientClock(RealClock):
    """Cuts the pauses before a list short."""

    def sleep(self, seconds: float, stop: threading.Event) -> bool:
        """Wait for a hundredth of a second."""
        return super().sleep(min(seconds, 0.01), stop)


class ExpiringWatch:
    """Reads a streamed list, if the watch has one, and then returns no events until it expires."""

    def __init__(self, watch: Watch[Deployment], expire: threading.Event, *, lists: bool) -> None:
        self.close = watch.close
        self._read = watch.read
        self._expire = expire
        self._lists = lists

    def read(self) -> list[WatchEvent[Deployment]]:
        """Events of the list, or 410 on command."""
        if self._lists:
            events = self._read()
            self._lists = not isinstance(events[-1].object, Bookmark)
            return events
        assert self._expire.wait(TIMEOUT_SECONDS)
        self._expire.clear()
        raise error_from_status(Status(code=410, reason="Expired", message="too old resource version"))


class ExpiringListWatch(ListWatch[Deployment]):
    """A server's Deployments. In each paged list, every changing-th one has a new version (0: none has)."""

    def __init__(self, port: int, *, stream: bool, changing: int, all_fields: bool) -> None:
        api = Client(HTTPTransport(ClientConfig(host=f"http://127.0.0.1:{port}")))
        abridged = None if all_fields else ABRIDGED[0]
        super().__init__(api.resource(Deployment), abridged=abridged, supports_watch_list=stream)
        self.expire = threading.Event()
        self._changing = changing
        self._version = 10**9

    def list(self, options: ListOptions) -> ListPage[Deployment]:
        """One page."""
        page = super().list(options)
        for number in range(0, len(page.items), self._changing) if self._changing else ():
            self._version += 1
            obj = page.items[number]
            metadata = replace(obj.metadata, resource_version=str(self._version))
            page.items[number] = replace(obj, metadata=metadata)
        return page

    def watch(self, options: ListOptions) -> Watch[Deployment]:
        """Open a stream."""
        return ExpiringWatch(super().watch(options), self.expire, lists=options.send_initial_events)


def resident() -> Memory:
    """Return this process's resident bytes after a garbage collection, and their peak since the last call."""
    gc.collect()
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    Path("/proc/self/clear_refs").write_text("5")
    return {
        name: int(status[field].split()[0]) * 1024 for name, field in (("now", "VmRSS"), ("peak", "VmHWM"))
    }


def measure(source: ExpiringListWatch, objects: int, relists: int) -> list[Memory]:
    """Return the memory at the start, after the first list, and after each of the later lists."""
    told, all_told = 0, threading.Event()

    def tell(_obj: Deployment) -> None:
        nonlocal told
        told += 1
        if told % objects == 0:
            all_told.set()

    informer = SharedIndexInformer(
        source,
        Deployment,
        indexers={NAMESPACE_INDEX: namespace_index_func},
        seams=Seams(clock=ImpatientClock()),
    )
    informer.add_event_handler(ResourceEventHandlerFuncs(add_func=tell, update_func=lambda _, new: tell(new)))
    memory = [resident()]
    threading.Thread(target=informer.run, args=(threading.Event(),), daemon=True).start()
    for _ in range(relists + 1):
        assert all_told.wait(TIMEOUT_SECONDS), f"told of {told}"
        all_told.clear()
        memory.append(resident())
        source.expire.set()
    return memory


def run(arguments: list[str], objects: int, relists: int) -> list[Memory]:
    """Run one subject and its server, each in its own process."""
    counts = ["--objects", str(objects)]
    server = subprocess.Popen(
        [sys.executable, str(HERE / "load_server.py"), *counts, "--events", "0", "--stream"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdin is not None
    assert server.stdout is not None
    try:
        more = ["--relists", str(relists), "--port", server.stdout.readline().strip(), *arguments]
        command = [sys.executable, __file__, *counts, *more]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        memory: list[Memory] = json.loads(done.stdout.splitlines()[-1])
        return memory
    finally:
        server.stdin.close()
        server.wait()


def row(memory: list[Memory]) -> Row:
    """Return the growth from the first list, and the growth from later lists relative to it."""
    base = memory[0]["now"]
    first, *later = (entry["now"] - base for entry in memory[1:])
    peak = max(entry["peak"] - base for entry in memory[2:])
    names = ("after 2", f"after {len(memory) - 1}", "peak")
    ratios = zip(names, (later[0] / first, later[-1] / first, peak / first), strict=True)
    return {"first MiB": first / MIB, **dict(ratios)}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--objects", type=int, default=20_000)
    parser.add_argument("--relists", type=int, default=10)
    parser.add_argument("--only", nargs="*", choices=list(SUBJECTS), default=list(SUBJECTS))
    parser.add_argument("--all-fields", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--stream", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--changing", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    options = parse(
        parser, objects=500, relists=2, only=["pages, the program's fields", "stream, all fields"]
    )
    if options.port:
        relax_collector()
        source = ExpiringListWatch(
            options.port,
            stream=options.stream,
            changing=options.changing,
            all_fields=options.all_fields,
        )
        memory = measure(source, options.objects, options.relists)
        print(json.dumps(memory), flush=True)
        os._exit(0)
    rows = {name: row(run(SUBJECTS[name], options.objects, options.relists)) for name in options.only}
    setting = (
        f"{options.objects} Deployments of 4 kB. The first column is the memory that the first list uses. "
        "The other columns are the memory after later lists, and the peak, relative to the first."
    )
    emit([Table("Memory of relists", setting, rows)], options.json)


if __name__ == "__main__":
    main()
