"""
The MyApp controller on a sandbox without sockets or threads: the test fills the caches.

Time moves only with `pass_time`; the sandbox's own controllers live by it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from handloop.apis.apps_v1 import Deployment
from handloop.apis.autoscaling_v2 import HorizontalPodAutoscaler
from handloop.apis.core_v1 import Service
from handloop.apis.crd import custom_resource_definition
from handloop.apis.meta import Kind
from handloop.client.errors import ClientError
from handloop.client.http.response import Response
from handloop.client.resource_client import Client
from handloop.client.rest_client import Call
from handloop.client.transport import ForwardingTransport
from handloop.controller.myapp.reconciler import NAME, reconcile
from handloop.controller.myapp.types import MyApp
from handloop.controller.runtime.children.applied_fields import AppliedFields
from handloop.controller.runtime.events.fake_recorder import FakeRecorder
from handloop.controller.runtime.reconcile import ReconcileError, Result
from handloop.controller.runtime.reconciling.context import Context
from handloop.informers.indexer import NAMESPACE_INDEX, Indexer, namespace_index_func
from handloop.informers.keys import ObjectName
from handloop.informers.lister import Lister
from handloop.informers.selection import Labels
from handloop.testing.fake_clock import FakeClock
from handloop_sandbox.server import Sandbox

K = TypeVar("K", bound=Kind)
Object = dict[str, Any]

KINDS: Final[tuple[type[Kind], ...]] = (MyApp, Deployment, Service, HorizontalPodAutoscaler)
CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
MERGE: Final = "application/merge-patch+json"
NAMESPACE: Final = "default"
SPEEDUP: Final = 20.0


class Write(NamedTuple):
    """A request that may change something: target is `deployments/a`, or `myapps/a/status`."""

    method: str
    target: str
    body: Any


class WatchedTransport(ForwardingTransport):
    """
    Notes the writes of the controller, and may be in their way.

    refuse gives code, reason and message for a write that is not to reach the server; before is called ahead
    of each. Not safe for threads.
    """

    def __init__(self, sandbox: Sandbox) -> None:
        inner: Any = sandbox.transport()
        super().__init__(inner)
        self.requests = 0
        self.writes: list[Write] = []
        self.refuse: Callable[[Write], tuple[int, str, str] | None] = lambda _write: None
        self.before: Callable[[Write], None] = lambda _write: None

    def request(self, method: str, path: str, *, body: bytes | None = None, **options: Any) -> Response:
        self.requests += 1
        if method != "GET":
            write = Write(method, path.partition(f"/namespaces/{NAMESPACE}/")[2], json.loads(body or b"null"))
            self.writes.append(write)
            self.before(write)
            refusal = self.refuse(write)
            if refusal is not None:
                return _refused(*refusal)
        return super().request(method, path, body=body, **options)

    def stream(self, *_args: Any, **_kwargs: Any) -> Any:
        raise AssertionError("nobody watches here")


class NotedWrites:
    """Implements handloop.controller.runtime.reconciling.context.TrackedWrites; keeps what it is given."""

    def __init__(self) -> None:
        self.noted: list[tuple[str, str]] = []
        self.gone: list[Kind] = []

    def sending(self, call: Call) -> None:
        pass

    def accepted(self, call: Call, _response: Response) -> None:
        self.noted.append((call.verb, call.resource))

    def wrote(self, obj: Kind) -> None:
        self.noted.append(("wrote", obj.resource.group_resource))

    def deleted(self, obj: Kind) -> None:
        self.gone.append(obj)


class MyAppRig:
    """One controller, one sandbox, and an administrator, who goes another way and is not counted."""

    def __init__(self, *, definition: Object | None = None) -> None:
        self.clock = FakeClock()
        self.sandbox = Sandbox(clock=self.clock, token="", seed=1, speed=SPEEDUP)
        self._admin: Any = self.sandbox.transport()
        self.install(definition or custom_resource_definition(MyApp))
        self.transport = WatchedTransport(self.sandbox)
        self.recorder = FakeRecorder()
        self.caches: dict[type[Kind], Indexer[Any]] = {
            kind: Indexer(indexers={NAMESPACE_INDEX: namespace_index_func}) for kind in KINDS
        }
        self.start()

    def start(self) -> None:
        """Start a controller with an empty memory."""
        self._applied = AppliedFields()

    def lister_for(self, kind: type[K], *, labels: Labels = "", fields: str = "") -> Lister[K]:
        """Implements handloop.controller.runtime.reconciling.context.Listers."""
        return Lister(self.caches[kind], kind.resource)

    def listers_of(self, kind: type[K]) -> Sequence[Lister[K]]:
        """Implements handloop.controller.runtime.reconciling.context.Listers."""
        return [self.lister_for(kind)]

    def referred(self, kind: type[K], name: ObjectName, *, owner: ObjectName) -> K | None:
        """Implements handloop.controller.runtime.reconciling.context.Listers."""
        raise NotImplementedError

    # the controller

    def sync_caches(self, *kinds: type[Kind]) -> None:
        """Let caches see what the server has; all of them unless some are named."""
        client = Client(self._admin)
        for kind in kinds or KINDS:
            self.caches[kind].replace([*client.resource(kind).list().items], "1")

    def reconcile(self, name: str = "a") -> Result | None:
        """Once, on the caches as they are."""
        return reconcile(ObjectName(NAMESPACE, name), self.context())

    def context(self, **parts: Any) -> Context:
        """That of one reconcile."""
        return Context(
            controller=NAME,
            client=Client(self.transport),
            listers=self,
            recorder=self.recorder,
            applied=self._applied,
            clock=self.clock,
            **parts,
        )

    def sync(self, name: str = "a") -> BaseException | None:
        """Fill the caches and reconcile; returns the raised error."""
        self.sync_caches()
        try:
            self.reconcile(name)
        except (ClientError, ReconcileError) as error:
            return error
        return None

    def settle(self, name: str = "a", *, seconds: float = 120.0) -> None:
        """Let time pass and reconcile until nothing has been written for a while."""
        quiet = 0
        for _ in range(int(seconds)):
            before = len(self.transport.writes)
            error = self.sync(name)
            assert error is None, error
            self.pass_time(1.0)
            quiet = quiet + 1 if len(self.transport.writes) == before else 0
            if quiet > 10:
                return
        raise AssertionError(f"still writing after {seconds} s: {self.transport.writes[-3:]}")

    def pass_time(self, seconds: float) -> None:
        """Let the cluster live."""
        ends_at = self.clock.time() + seconds
        while (at := self.sandbox.tick()) is not None and at < ends_at:
            self.clock.advance(max(0.001, at - self.clock.time()))
        self.clock.advance(max(0.0, ends_at - self.clock.time()))
        self.sandbox.tick()

    def writes_since(self, begin: int) -> list[tuple[str, str]]:
        """The writes from a number on, as (method, target)."""
        return [(write.method, write.target) for write in self.transport.writes[begin:]]

    # the administrator

    def call(
        self, method: str, path: str, body: Any = None, content_type: str = "application/json"
    ) -> Object:
        """Ask; the answer, which must not be a refusal."""
        content = None if body is None else json.dumps(body).encode()
        answer = self._admin.request(method, path, headers={"Content-Type": content_type}, body=content)
        assert answer.status < 300, answer.body
        document: Object = json.loads(answer.body)
        return document

    def install(self, definition: Object) -> None:
        """Define MyApp, in the place of an earlier definition."""
        path = f"{CRDS}/{definition['metadata']['name']}"
        if self._admin.request("GET", path).status == 200:
            version = self.call("GET", path)["metadata"]["resourceVersion"]
            metadata = {**definition["metadata"], "resourceVersion": version}
            self.call("PUT", path, {**definition, "metadata": metadata})
        else:
            self.call("POST", CRDS, definition)
        self.pass_time(1.0)

    def create_app(self, name: str = "a", *, metadata: Object | None = None, **spec: Any) -> Object:
        """Create a MyApp; image and replicas are nginx:1 and 2 unless given."""
        return self.call("POST", path_of(MyApp), app(name, metadata=metadata, **spec))

    def create(self, kind: type[Kind], obj: Object) -> Object:
        """Create something of a kind."""
        return self.call("POST", path_of(kind), obj)

    def change(self, kind: type[Kind], patch: Object, name: str = "a", *, subresource: str = "") -> Object:
        """Merge a patch into an object."""
        return self.call("PATCH", path_of(kind, name, subresource), patch, MERGE)

    def strategic(self, kind: type[Kind], patch: Object, name: str = "a") -> Object:
        """Apply a strategic merge patch."""
        return self.call("PATCH", path_of(kind, name), patch, "application/strategic-merge-patch+json")

    def set_spec(self, **fields: Any) -> Object:
        """Change fields of the spec of MyApp a; None removes one."""
        return self.change(MyApp, {"spec": fields})

    def scale(self, replicas: int, name: str = "a") -> Object:
        """Scale the Deployment through its scale subresource, as an autoscaler does."""
        return self.change(Deployment, {"spec": {"replicas": replicas}}, name, subresource="scale")

    def delete(self, kind: type[Kind], name: str = "a") -> None:
        """Delete an object."""
        self.call("DELETE", path_of(kind, name))

    def raw(self, kind: type[Kind], name: str = "a") -> Object:
        """An object as the server has it."""
        return self.call("GET", path_of(kind, name))

    def exists(self, kind: type[Kind], name: str = "a") -> bool:
        """Whether there is one."""
        return bool(self._admin.request("GET", path_of(kind, name)).status == 200)

    def conditions(self, name: str = "a") -> dict[str, tuple[str, str]]:
        """(status, reason) by type."""
        status = self.raw(MyApp, name)["status"]
        return {c["type"]: (c["status"], c["reason"]) for c in status["conditions"]}

    def message(self, condition_type: str, name: str = "a") -> str:
        """The message of a condition."""
        conditions = self.raw(MyApp, name)["status"]["conditions"]
        message: str = next(c["message"] for c in conditions if c["type"] == condition_type)
        return message

    def events(self) -> list[str]:
        """The reports since the last call."""
        return self.recorder.take()


def app(name: str = "a", *, metadata: Object | None = None, **spec: Any) -> Object:
    """A MyApp as it is sent."""
    return {
        "apiVersion": "example.com/v1",
        "kind": "MyApp",
        "metadata": {"name": name, **(metadata or {})},
        "spec": {"image": "nginx:1", "replicas": 2, **spec},
    }


def path_of(kind: type[Kind], name: str = "", subresource: str = "") -> str:
    """Where it is in the test's namespace."""
    return kind.resource.path(namespace=NAMESPACE, name=name, subresource=subresource)


def _refused(code: int, reason: str, message: str) -> Response:
    status = {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "code": code,
        "reason": reason,
        "message": message,
    }
    return Response(code, {"content-type": "application/json"}, json.dumps(status).encode())
