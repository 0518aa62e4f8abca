"""An API server that knows Leases only: enough of one for leader election, and a switch for every fault."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

from handloop.apis.coordination_v1 import Lease
from handloop.client.errors import DeadlineExceeded
from handloop.client.http.response import Response
from handloop.client.resource_client import Client, ResourceClient

_VERBS = {"GET": "get", "POST": "create", "PUT": "update"}
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
            self._store(path, {"metadata": {}, "spec": spec})

    def delete(self, path: str) -> None:
        """Delete `namespace/name` as another client."""
        with self._lock:
            del self._leases[path]

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
        body: bytes | None = None,
        timeout_seconds: float | None = None,
        **_options: Any,
    ) -> Response:
        verb = _VERBS[method]
        with self._lock:
            self.ops.append(verb)
            self.timeouts.append(timeout_seconds)
        instead = self.before(verb)
        if instead is not None:
            return instead
        namespace, _, name = path.removeprefix(_PREFIX).partition("/leases")
        given = json.loads(body or b"{}")
        with self._lock:
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
        if given["metadata"].get("resourceVersion") != stored["metadata"]["resourceVersion"]:
            return refusal(409, "Conflict")
        return self._answer(path, given, 200)

    def _answer(self, path: str, given: dict[str, Any], code: int) -> Response:
        self._store(path, given)
        self.holders.append(given["spec"].get("holderIdentity", ""))
        return Response(code, {}, json.dumps(self._leases[path]).encode())

    def _store(self, path: str, given: dict[str, Any]) -> None:
        self._version += 1
        namespace, _, name = path.partition("/")
        identity = {"namespace": namespace, "name": name, "uid": f"uid-{path}"}
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
