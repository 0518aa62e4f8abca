"""
Runs the Foo controller on an example Foo, and records the values that each of the twelve steps handles.

A sandbox listens on loopback, and the Foo controller runs on it. `sightings` creates the Foo, and then scales
it while the server refuses three changes of its Deployment.

All runs are the same, because the cluster's clock stands still, the controller has one worker, and the first
sync ends only after the watches have delivered its own writes (see `_PatientRecorder`).
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import msgspec
import structlog
import yaml

from handloop.apis.apps_v1 import Deployment
from handloop.apis.crd import custom_resource_definition
from handloop.apis.meta import decode_hook
from handloop.client.config import ClientConfig
from handloop.client.resource_client import Client
from handloop.client.transport import HTTPTransport
from handloop.controller.foo.controller import FooController
from handloop.controller.foo.types import Foo
from handloop.controller.runtime.caching.multi_namespace_informer import MultiNamespaceInformer
from handloop.informers.factory import SharedInformerFactory
from handloop.informers.keys import object_name
from handloop.seams.seams import Seams
from handloop.workqueue.rate_limiting_queue import RateLimitingQueue
from handloop_sandbox.clock import SettableClock
from handloop_sandbox.server import Sandbox
from tools.step_tracer import Probe, Sighting, Tracer, noted_locks
from tools.steps import ROOT

EXAMPLE: Final = ROOT / "manifests/samples/foo.yaml"
START: Final = 1_700_000_000.0
FAILURES: Final = 3
PATIENCE_SECONDS: Final = 30.0
_DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def _name(obj: Any) -> str:
    """Return an object's or tombstone's kind, key and resource version."""
    metadata = obj.metadata
    key = f"{metadata.namespace}/{metadata.name}"
    return f"{obj.resource.kind} {key} at {metadata.resource_version}"


def _deltas(deltas: Iterable[Any]) -> str:
    return "[" + ", ".join(f"{delta.type} {_name(delta.object)}" for delta in deltas) + "]"


def _line(block: bytes) -> str:
    """Return a watch event as sent over the network, without the object's managed fields."""
    event = msgspec.json.decode(block)
    event["object"]["metadata"]["managedFields"] = "..."
    return f"{len(block)} bytes: {msgspec.json.encode(event).decode()}"


def _batch(batch: list[tuple[Any, bool]]) -> str:
    return ", ".join(f"{_deltas(deltas)}, is_in_initial_list={initial}" for deltas, initial in batch)


def _notification(notification: Any) -> str:
    word = type(notification).__name__
    return f"{word}({_name(notification.new)})"


def _indexes(indexer: Any) -> str:
    return "; ".join(f"{name}: {index._keys}" for name, index in indexer._indexes.items())


def _sets(queue: Any) -> str:
    def names(items: Iterable[Any]) -> str:
        return "{" + ", ".join(map(str, items)) + "}"

    waiting, dirty, processing = queue._container, queue._dirty, queue._processing
    return f"queue {names(waiting)} dirty {names(dirty)} processing {names(processing)}"


PROBES: Final = (
    Probe(
        1,
        "WatchStream._take",
        lambda seen: _line(seen["block"]),
        lambda _, events: ", ".join(f"{event.type} {_name(event.object)}" for event in events),
    ),
    Probe(
        2,
        "DeltaFIFO._append_locked",
        lambda seen: ", ".join(f"{key}: {_deltas([delta])}" for key, delta in seen["entries"]),
        lambda seen, _: (
            f"line {list(seen['queue'])}, deltas of {{{', '.join(seen['items'])}}}: "
            f"{', '.join(map(_deltas, seen['items'].values()))}"
        ),
    ),
    Probe(
        3,
        "DeltaFIFO.pop_batch",
        lambda seen: f"line {list(seen['self']._queue)}",
        lambda seen, _: _batch(seen["batch"]),
    ),
    Probe(
        4,
        "Indexer._put_locked",
        lambda seen: f"{seen['key']}: old {seen['old']}, new {_name(seen['obj'])}",
        lambda seen, _: _indexes(seen["self"]),
    ),
    Probe(
        5,
        "Indexer._put_locked",
        lambda seen: f"{seen['key']}: {_name(seen['obj'])}",
        lambda seen, old: f"items {list(seen['self']._items)}; returned, as the old state: {old}",
    ),
    Probe(
        6,
        "SharedProcessor.distribute",
        lambda seen: ", ".join(map(_notification, seen["notifications"])),
        lambda seen, _: f"the same, in the buffer of {seen['listener'].name}",
    ),
    Probe(
        7,
        "FooController._enqueue_foo",
        lambda seen: _name(seen["obj"]),
        lambda seen, _: repr(object_name(seen["obj"])),
    ),
    Probe(
        8,
        "Queue._take_locked",
        lambda seen: _sets(seen["self"]),
        lambda seen, item: f"{item}; {_sets(seen['self'])}",
    ),
    Probe(9, "Lister.get", lambda seen: repr(seen["name"]), lambda _, obj: _name(obj)),
    Probe(
        10,
        "RESTClient.send",
        lambda seen: f"{seen['call'].method} {seen['call'].path} {seen['call'].body.decode()}",
        lambda _, answer: (
            f"{answer.status}, at {msgspec.json.decode(answer.body)['metadata']['resourceVersion']}"
        ),
        times=2,
    ),
    Probe(
        11,
        "RateLimited.forget",
        lambda seen: f"{seen['item']}, a success",
        lambda seen, _: f"failures {seen['self'].num_requeues(seen['item'])}",
    ),
    Probe(
        11,
        "DelayingQueue.add_after",
        lambda seen: f"{seen['item']}, failure {seen['self'].num_requeues(seen['item'])}",
        lambda seen, _: f"again after {seen['delay_seconds'] * 1000:g} ms",
        times=1 + FAILURES,
    ),
    Probe(
        12,
        "Queue._take_back_locked",
        lambda seen: _sets(seen["self"]),
        lambda seen, _: _sets(seen["self"]),
    ),
)


class _PatientRecorder:
    """
    Delays the end of the first sync until the caches have that sync's writes, and the handlers have queued
    the Foo again.

    State: synced, how many syncs have succeeded. Each of them reports one Event.
    """

    def __init__(self, echoed: Callable[[], bool]) -> None:
        self._echoed = echoed
        self.synced = 0

    def event(self, *_report: Any, **_options: Any) -> None:
        """Count an Event, and wait at the first one. Threads: runs on the worker's thread."""
        if not self.synced:
            _until(self._echoed)
        self.synced += 1


def _until(holds: Callable[[], bool]) -> None:
    pause, tries = threading.Event(), int(PATIENCE_SECONDS / 0.002)
    if not any(holds() or pause.wait(0.002) for _ in range(tries)):
        raise TimeoutError(f"the example's run has made no progress for {PATIENCE_SECONDS:g} s")


class Run:
    """
    The Foo controller on a sandbox. The context manager `running` starts and stops the controller.

    Threads: runs on the caller's thread; the threads of the informers and the controller are traced.
    """

    def __init__(self, url: str) -> None:
        self.transport = HTTPTransport(ClientConfig(host=url))
        self.tracer = Tracer(PROBES)
        self.foos = Client(self.transport).resource(Foo)
        self.example: Foo = msgspec.convert(
            yaml.safe_load(EXAMPLE.read_text(encoding="utf-8")), type=Foo, dec_hook=decode_hook
        )
        seams = Seams(spawn=self.tracer.spawn)
        client = Client(self.transport, seams=seams)
        self._stop = threading.Event()
        self._factory = SharedInformerFactory(client, seams=seams)
        self._deployments = self._factory.informer_for(Deployment)
        self._foo_informer = self._factory.informer_for(Foo)
        self._recorder = _PatientRecorder(self._echoed)
        self.controller = FooController(
            client,
            MultiNamespaceInformer(Deployment, {"": self._deployments}),
            MultiNamespaceInformer(Foo, {"": self._foo_informer}),
            self._recorder,
            seams=seams,
        )
        self.queue: RateLimitingQueue[Any] = self.controller._workqueue

    @contextmanager
    def running(self) -> Iterator[None]:
        """Return a context manager. In its block, one worker and the informers run with full caches."""
        controller = threading.Thread(target=self.controller.run, args=(1, self._stop))
        try:
            self._factory.start(self._stop)
            controller.start()
            _until(lambda: any(thread.name == "worker-0" for thread in threading.enumerate()))
            self.tracer.armed = True
            yield
        finally:
            self._stop.set()
            controller.join()
            self._factory.shutdown()
            self.transport.close()

    def create(self) -> None:
        """Create the example Foo, and wait until the controller is idle."""
        self.foos.create(self.example, namespace="default")
        _until(lambda: self._recorder.synced >= 2 and self._is_idle())  # noqa: PLR2004 - and the echo

    def scale(self, replicas: int) -> None:
        """Change the example's replicas, and wait until its Deployment has the same number."""
        self.foos.patch(self.example.metadata.name, {"spec": {"replicas": replicas}}, namespace="default")
        _until(lambda: self._deployment_replicas() == replicas and self._is_idle())

    def _deployment_replicas(self) -> int | None:
        return next((deployment.spec.replicas for deployment in self._deployments.indexer.list()), None)

    def _echoed(self) -> bool:
        """Return whether the caches have the Deployment and the Foo's status, and the Foo is queued again."""
        has_status = any(
            foo.status.available_replicas is not None for foo in self._foo_informer.indexer.list()
        )
        return has_status and bool(self._deployments.indexer.list()) and self.queue.statistics().readded == 1

    def _is_idle(self) -> bool:
        return sum(self.queue.statistics()) == 0


def sightings() -> list[Sighting]:
    """
    Run the example. Returns: the sightings, which are the values that the steps handled, sorted by step.

    Blocks: for about a second. Raises: TimeoutError if the run makes no progress.
    """
    clock = SettableClock(START, frozen=True)
    with Sandbox(token="", clock=clock, seed=1, controllers=()) as sandbox, noted_locks():
        definition = msgspec.json.encode(custom_resource_definition(Foo))
        headers = {"Content-Type": "application/json"}
        sandbox.transport().request("POST", _DEFINITIONS, headers=headers, body=definition)
        run = Run(sandbox.url)
        with run.running():
            run.create()
            sandbox.faults.error(500, verbs=["patch"], resources=["deployments.apps"], count=FAILURES)
            run.scale(3)
    return sorted(run.tracer.sightings, key=lambda seen: seen.step)


def mute() -> None:
    """Disable the controller's log, which would mix with a tool's output."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))


if __name__ == "__main__":
    mute()
    for sighting in sightings():
        print(*sighting, sep="\n    ")  # noqa: T201 - the output
