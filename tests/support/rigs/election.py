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
from handloop.apis.meta import format_time
from handloop.client.errors import DeadlineExceeded
from handloop.client.http.response import Response
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
    act as another replica. Threads: any; before runs without the lock.
    """

    def __init__(self) -> None:
        self.ops: list[str] = []
        self.timeouts: list[float | None] = []
        self.holders: list[str] = []
        self.before: Callable[[str], Response | None] = lambda _verb: None
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
            del self._leases[path]

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

    def stream(self, *_args: Any, **_kwargs: Any) -> Any:
        raise AssertionError("nobody watches leases")

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
        del self._leases[path]
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
            "uid": f"uid-{path}",
            "creationTimestamp": before.get("creationTimestamp") or format_time(time.time()),
        }
        metadata = {**given["metadata"], **identity, "resourceVersion": str(self._version)}
        head = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
        self._leases[path] = {**head, "metadata": metadata, "spec": given["spec"]}


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
        # elector thread: it renews, and so moves the clock, once spawn has returned
        thread = spawn_thread(name, target)
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
