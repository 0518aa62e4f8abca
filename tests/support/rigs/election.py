"""An API server that knows Leases only, with a switch for every fault, and a run of an election on it."""

from __future__ import annotations

import json
import math
import random
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from prometheus_client import CollectorRegistry

from handloop.apis.coordination_v1 import Lease
from handloop.apis.grammar.times import format_time
from handloop.client.errors import DeadlineExceeded, StreamClosed
from handloop.client.http.response import Response, Stream
from handloop.client.resource_client import Client, ResourceClient
from handloop.controller.runtime.election.candidacy import ElectionStatistics
from handloop.controller.runtime.election.config import LeaderElectionConfig
from handloop.controller.runtime.election.election_metrics import LeaderElectionMetrics
from handloop.controller.runtime.election.leader_election import LeaderCallbacks, LeaderElector
from handloop.controller.runtime.election.lease_lock import LeaseLock
from handloop.controller.runtime.events.fake_recorder import FakeRecorder
from handloop.seams.seams import Seams
from handloop.seams.threads import Joinable, spawn_thread
from handloop.testing.fake_clock import FakeClock
from support.checks.threads import DEADLINE_SECONDS, Background

_VERBS = {"GET": "get", "POST": "create", "PUT": "update", "DELETE": "delete"}
_PREFIX = "/apis/coordination.k8s.io/v1/namespaces/"


class LeaseAPI:
    """
    Implements handloop.client.transport.Transport for Leases.

    ops is every request's verb, with any outcome; holders the holder after each write. before is called
    with the verb before a request takes effect: what it returns is the answer instead, and it may raise, or
    act as another replica. time is that of the server. streams are the watches, once they may be opened.
    Threads: any thread can use it; before runs without holding the lock.
    """

    def __init__(self) -> None:
        self.ops: list[str] = []
        self.timeouts: list[float | None] = []
        self.holders: list[str] = []
        self.before: Callable[[str], Response | None] = lambda _verb: None
        self.may_watch = False
        self.time: Callable[[], float] = time.time
        self.streams: list[LeaseStream] = []
        self._lock = threading.Lock()
        self._leases: dict[str, dict[str, Any]] = {}
        self._version = 100

    def client(self) -> ResourceClient[Lease]:
        """A client of its own, which repeats nothing."""
        stop = threading.Event()
        stop.set()
        return Client(self, stop=stop).resource(Lease)

    def put(self, path: str, **spec: Any) -> None:
        """Write `namespace/name` as another replica; fields that spec leaves out are not in the lease."""
        with self._lock:
            before = self._leases.get(path, {"metadata": {}})["metadata"]
            labels = {key: before[key] for key in before if key == "labels"}
            self._store(path, {"metadata": labels, "spec": spec})

    def label(self, path: str, labels: Mapping[str, str]) -> None:
        """Give `namespace/name` these labels as another client."""
        with self._lock:
            before = self._leases[path]
            self._store(path, {"metadata": {"labels": dict(labels)}, "spec": before["spec"]})

    def delete(self, path: str) -> None:
        """Delete `namespace/name` as another client."""
        with self._lock:
            self._tell("DELETED", self._leases.pop(path))

    def paths(self) -> list[str]:
        """`namespace/name` of all leases."""
        with self._lock:
            return sorted(self._leases)

    def lease(self, path: str) -> dict[str, Any]:
        """`namespace/name` as JSON."""
        with self._lock:
            found: dict[str, Any] = json.loads(json.dumps(self._leases[path]))
            return found

    def spec(self, path: str) -> dict[str, Any]:
        """The content of the lease."""
        found: dict[str, Any] = self.lease(path)["spec"]
        return found

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        timeout_seconds: float | None = None,
        **_options: Any,
    ) -> Response:
        verb = "list" if method == "GET" and path.endswith("/leases") else _VERBS[method]
        with self._lock:
            self.ops.append(verb)
            self.timeouts.append(timeout_seconds)
        instead = self.before(verb)
        if instead is not None:
            return instead
        namespace, _, name = path.removeprefix(_PREFIX).partition("/leases")
        given = json.loads(body or b"{}")
        with self._lock:
            if verb == "list":
                return self._list(namespace, (query or {}).get("labelSelector", ""))
            return self._act(verb, f"{namespace}/{name.strip('/') or given['metadata']['name']}", given)

    def stream(
        self, method: str, path: str, *, query: Mapping[str, str] | None = None, **_options: Any
    ) -> Stream:
        """A watch of one lease by its name, refused unless they may be watched."""
        assert query is not None, method
        with self._lock:
            self.ops.append("watch")
        refused = self.before("watch") or (None if self.may_watch else refusal(403, "Forbidden"))
        if refused is not None:
            return LeaseStream(refused)
        namespace, name = path.removeprefix(_PREFIX).removesuffix("/leases"), query["fieldSelector"]
        with self._lock:
            stream = LeaseStream(path=f"{namespace}/{name.removeprefix('metadata.name=')}")
            self.streams.append(stream)
            lease = self._leases.get(stream.path)
            if lease and int(lease["metadata"]["resourceVersion"]) > int(query["resourceVersion"]):
                stream.send("MODIFIED", lease)
        return stream

    def _act(self, verb: str, path: str, given: dict[str, Any]) -> Response:
        stored = self._leases.get(path)
        if verb == "create":
            return refusal(409, "AlreadyExists") if stored else self._answer(path, given, 201)
        if stored is None:
            return refusal(404, "NotFound")
        if verb == "get":
            return Response(200, {}, json.dumps(stored).encode())
        if verb == "delete":
            return self._delete(path, given.get("preconditions", {}))
        if given["metadata"].get("resourceVersion") != stored["metadata"]["resourceVersion"]:
            return refusal(409, "Conflict")
        return self._answer(path, given, 200)

    def _delete(self, path: str, preconditions: Mapping[str, str]) -> Response:
        metadata = self._leases[path]["metadata"]
        if any(metadata[key] != value for key, value in preconditions.items()):
            return refusal(409, "Conflict")
        self._tell("DELETED", self._leases.pop(path))
        return Response(200, {}, b'{"kind": "Status", "apiVersion": "v1", "status": "Success"}')

    def _list(self, namespace: str, selector: str) -> Response:
        key, _, value = selector.partition("=")
        items = [
            lease
            for path, lease in self._leases.items()
            if path.startswith(f"{namespace}/") and lease["metadata"].get("labels", {}).get(key) == value
        ]
        head = {"apiVersion": "coordination.k8s.io/v1", "kind": "LeaseList"}
        page = {**head, "metadata": {"resourceVersion": str(self._version)}, "items": items}
        return Response(200, {}, json.dumps(page).encode())

    def _answer(self, path: str, given: dict[str, Any], code: int) -> Response:
        self._store(path, given)
        self.holders.append(given["spec"].get("holderIdentity", ""))
        return Response(code, {}, json.dumps(self._leases[path]).encode())

    def _store(self, path: str, given: dict[str, Any]) -> None:
        self._version += 1
        namespace, _, name = path.partition("/")
        before = self._leases.get(path, {"metadata": {}})["metadata"]
        identity = {
            "namespace": namespace,
            "name": name,
            "uid": before.get("uid") or f"uid-{self._version}",
            "creationTimestamp": before.get("creationTimestamp") or format_time(self.time()),
        }
        metadata = {**given["metadata"], **identity, "resourceVersion": str(self._version)}
        head = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
        self._leases[path] = {**head, "metadata": metadata, "spec": given["spec"]}
        self._tell("MODIFIED", self._leases[path])

    def _tell(self, what: str, lease: dict[str, Any]) -> None:
        for stream in self.streams:
            if stream.path == f"{lease['metadata']['namespace']}/{lease['metadata']['name']}":
                stream.send(what, lease)


class LeaseStream:
    """Implements handloop.client.http.response.Stream: an answer, or the events of a lease until its end."""

    def __init__(self, answer: Response = Response(200, {}, b""), path: str = "") -> None:  # noqa: B008 - frozen
        self.status, self.headers, self._answer = answer
        self.path = path
        self.is_closed = False
        self._changed = threading.Condition()
        self._events: list[bytes] = []
        self._error: Exception | None = None
        self._has_ended = False

    def send(self, what: str, content: dict[str, Any]) -> None:
        """An event."""
        with self._changed:
            self._events.append(json.dumps({"type": what, "object": content}).encode() + b"\n")
            self._changed.notify_all()

    def end(self, error: Exception | None = None) -> None:
        """The server, or the network, ends the stream."""
        with self._changed:
            self._has_ended, self._error = True, error
            self._changed.notify_all()

    def read_block(self) -> bytes:
        with self._changed:
            while not (self._events or self._has_ended or self.is_closed):
                self._changed.wait()
            if self.is_closed:
                raise StreamClosed("closed")
            if self._events:
                return self._events.pop(0)
            if self._error is not None:
                raise self._error
            return b""

    def read_all(self) -> bytes:
        return self._answer

    def close(self) -> None:
        with self._changed:
            self.is_closed = True
            self._changed.notify_all()


def refusal(code: int, reason: str) -> Response:
    """An answer that is a failure."""
    details = {"name": "lease"}
    status = {"kind": "Status", "code": code, "reason": reason, "message": reason, "details": details}
    return Response(code, {}, json.dumps(status).encode())


def failing(count: int, on: str, answer: Response | Exception) -> Callable[[str], Response | None]:
    """A `before` that gives the first count requests of a verb ("" = of any) that answer."""
    left = [count]

    def before(verb: str) -> Response | None:
        if (on and verb != on) or left[0] <= 0:
            return None
        left[0] -= 1
        if isinstance(answer, Exception):
            raise answer
        return answer

    return before


def no_answer(_verb: str) -> Response | None:
    """A `before` of a server that is gone."""
    raise DeadlineExceeded("no answer within 5 s", host="https://test:6443")


PATH: Final = "demo/foo"
BING: Final = {"holderIdentity": "bing", "leaseDurationSeconds": 15, "leaseTransitions": 0}


class ElectionRig:
    """
    One elector whose sleeps pass at once; before each of them `at_sleep` may act, with its number from 0.

    work is the guarded work: by default it waits for its stop. Time stands still until the work has begun, at
    started_at.
    """

    def __init__(self, **durations: Any) -> None:
        self.api = LeaseAPI()
        self.stop = threading.Event()
        self.recorder = FakeRecorder()
        self.registry = CollectorRegistry(auto_describe=True)
        self.calls: list[str] = []
        self.leaders: list[str] = []
        self.started_at = math.inf
        self.waits: list[ElectionStatistics] = []
        self.at_sleep: Callable[[int], None] = lambda _number: None
        self.work: Callable[[threading.Event], None] = wait_for_stop
        self._begun = threading.Event()
        self.clock = _Clock(self)
        lock = LeaseLock(
            self.api.client(), namespace="demo", name="foo", identity="baz", recorder=self.recorder
        )
        self.elector = LeaderElector(
            LeaderElectionConfig(lock, **durations),
            LeaderCallbacks(
                on_started_leading=self._lead,
                on_stopped_leading=lambda: self.calls.append("stopped"),
                on_new_leader=self.leaders.append,
                on_waiting=self.waits.append,
            ),
            seams=Seams(clock=self.clock, random=random.Random(7).random, spawn=self._spawn),
            metrics=LeaderElectionMetrics(self.registry),
        )

    def call(self, **callbacks: Any) -> None:
        """Let the elector call these instead."""
        self.elector._callbacks = replace(self.elector._callbacks, **callbacks)

    def run(self) -> None:
        """Run to the end."""
        Background(lambda: self.elector.run(self.stop)).result()

    def status(self) -> float | None:
        """leader_election_master_status."""
        return self.registry.get_sample_value("leader_election_master_status", {"name": "foo"})

    def _spawn(self, name: str, target: Callable[[], None]) -> Joinable:
        thread = spawn_thread(name, target)
        if name == "lease-watch":
            # it is refused, and ends
            thread.join(DEADLINE_SECONDS)
            return thread
        # elector thread: it renews, and so moves the clock, once spawn has returned
        assert self._begun.wait(DEADLINE_SECONDS)
        return thread

    def _lead(self, stop: threading.Event) -> None:
        self.started_at = self.clock.now()
        self.calls.append("started")
        self._begun.set()
        try:
            self.work(stop)
        finally:
            self.calls.append("work ended")


class _Clock(FakeClock):
    """Counts sleeps, and lets the rig act at each."""

    def __init__(self, rig: ElectionRig) -> None:
        super().__init__(start=1000.0, moves_itself=True)
        self._rig = rig

    def sleep(self, seconds: float, stop: threading.Event) -> bool:
        self._rig.at_sleep(len(self.slept))
        return super().sleep(seconds, stop)


def wait_for_stop(stop: threading.Event) -> None:
    """Guarded work that does nothing until it is told to stop."""
    assert stop.wait(20.0)


def stopping(rig: ElectionRig, after: int) -> Callable[[int], None]:
    """An at_sleep that stops the rig's run at that sleep."""

    def act(number: int) -> None:
        if number == after:
            rig.stop.set()

    return act
