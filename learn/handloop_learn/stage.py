"""
A cluster for one chapter: the sandbox on a loopback port, its clients, and the controllers.

Every client request goes over HTTP and is counted, so that a chapter can show how many there were.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from typing import Any, Final, Self

from prometheus_client import CollectorRegistry

from handloop.apis.crd import custom_resource_definition
from handloop.client.auth.credentials import StaticCredentials
from handloop.client.config import ClientConfig
from handloop.client.resource_client import Client
from handloop.client.transport import ForwardingTransport, HTTPTransport, Transport
from handloop.controller.foo.types import Foo
from handloop.controller.myapp.types import MyApp
from handloop.controller.runtime.manager import Manager
from handloop.informers.factory import SharedInformerFactory
from handloop.seams.seams import REAL_SEAMS, Seams
from handloop_learn.waiting import LONGEST_SECONDS, until
from handloop_sandbox.requests.request import User
from handloop_sandbox.server import Sandbox

SAMPLE: Final[dict[str, Any]] = {
    "apiVersion": "samplecontroller.k8s.io/v1alpha1",
    "kind": "Foo",
    "metadata": {"name": "example-foo"},
    "spec": {"deploymentName": "example-foo", "replicas": 1},
}
FOOS: Final = Foo.resource.path(namespace="default")
DEPLOYMENTS: Final = "/apis/apps/v1/namespaces/default/deployments"
_CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_READER: Final = "reader"
_SPEED: Final = 20.0  # of pods and of the cluster's own controllers


class CountedTransport(ForwardingTransport):
    """Counts requests by method, and watches as WATCH. Threads: any thread can send requests."""

    def __init__(self, transport: Transport) -> None:
        super().__init__(transport)
        self.counts: Counter[str] = Counter()

    def _before_request(self, method: str, path: str, send_seconds: float) -> float:
        self.counts[method] += 1
        return super()._before_request(method, path, send_seconds)

    def _before_stream(self) -> None:
        self.counts["WATCH"] += 1


class Stage:
    """
    A sandbox with the CRDs of Foo and MyApp, which runs inside its `with`.

    counts contains the numbers of `client`'s requests by method; a watch counts as WATCH. The reader's own
    requests are not counted. Threads: runs on the chapter's thread.
    """

    def __init__(
        self, *, bookmark_seconds: float = 10.0, users: tuple[str, ...] = (), lifelike: bool = True
    ) -> None:
        """
        Args: users contains names of administrators, and each name is also the user's token. If lifelike is
        false, no Deployment gets pods.
        """
        known = {name: User(name, ("system:masters", "system:authenticated")) for name in users}
        self.sandbox = Sandbox(
            token=_READER,
            users={**known, "nobody": User("nobody", ("system:authenticated",))},
            speed=_SPEED,
            controllers=None if lifelike else (),
            seed=1,
            bookmark_seconds=bookmark_seconds,
        )
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self._stack.enter_context(self.sandbox)
        self._reader = self._transport(_READER)
        self._counted = CountedTransport(self._transport(_READER))
        self.counts = self._counted.counts
        self.client = Client(self._counted)
        for kind in (Foo, MyApp):
            self.send("POST", _CRDS, custom_resource_definition(kind))
            path = kind.resource.path(namespace="default")
            until(lambda path=path: self._status("GET", path) == 200, f"the CRD of {kind.__name__}")  # type: ignore[misc]
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def client_of(self, user: str, *, stop: threading.Event | None = None) -> Client:
        """Return a client with a user's token."""
        return Client(self._transport(user), stop=stop)

    def send(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Send a request, as kubectl would. Returns: the response's JSON, even for an error."""
        content_type = "application/merge-patch+json" if method == "PATCH" else "application/json"
        answer = self._reader.request(
            method,
            path,
            headers={"Content-Type": content_type},
            body=None if body is None else json.dumps(body).encode(),
        )
        document: dict[str, Any] = json.loads(answer.body)
        return document

    def apply(self, name: str = "example-foo", *, deployment: str = "", replicas: int = 1) -> dict[str, Any]:
        """Create a Foo. Args: deployment is the Deployment's name; "" = the Foo's name."""
        spec = {"deploymentName": deployment or name, "replicas": replicas}
        return self.send("POST", FOOS, {**SAMPLE, "metadata": {"name": name}, "spec": spec})

    @contextmanager
    def watch(self, path: str, version: str) -> Iterator[Iterator[dict[str, Any]]]:
        """Watch a path over plain HTTP. Yields: the events after a version. Blocks: until the next event."""
        connection = HTTPConnection(self.sandbox.url.removeprefix("http://"), timeout=LONGEST_SECONDS)
        query = f"?watch=true&allowWatchBookmarks=true&resourceVersion={version}"
        connection.request("GET", path + query, headers={"Authorization": f"Bearer {_READER}"})
        response = connection.getresponse()
        try:
            yield (json.loads(line) for line in response)
        finally:
            response.close()
            connection.close()

    @contextmanager
    def running(
        self,
        *add: Callable[[Manager], object],
        client: Client | None = None,
        seams: Seams = REAL_SEAMS,
        **options: Any,
    ) -> Iterator[Manager]:
        """Run a manager with controllers until the context ends. Raises: any error of manager.run."""
        registry = CollectorRegistry()
        manager = Manager(client or self.client, registry=registry, seams=seams, **options)
        for add_controller in add:
            add_controller(manager)
        with running(manager):
            yield manager

    def _transport(self, token: str) -> HTTPTransport:
        config = ClientConfig(host=self.sandbox.url, credentials=StaticCredentials(f"Bearer {token}"))
        transport = HTTPTransport(config)
        self._stack.callback(transport.close)
        return transport

    def _status(self, method: str, path: str) -> int:
        return self._reader.request(method, path).status


@contextmanager
def started(factory: SharedInformerFactory) -> Iterator[None]:
    """Run a factory's informers until the context ends. Blocks: until their caches are filled."""
    factory.start(threading.Event())
    try:
        until(lambda: all(informer.has_synced() for informer in factory.informers()), "the caches")
        yield
    finally:
        factory.shutdown()


@contextmanager
def running(manager: Manager, stop: threading.Event | None = None) -> Iterator[threading.Event]:
    """
    Run a manager on a separate thread until the context ends. Yields: its stop event.

    Raises: any error that manager.run has raised, when the context ends.
    """
    stop = stop or threading.Event()
    failures: list[BaseException] = []

    def run() -> None:
        try:
            manager.run(stop)
        except BaseException as error:  # noqa: BLE001 - raised again below
            failures.append(error)

    thread = threading.Thread(target=run, name="manager")
    thread.start()
    try:
        yield stop
    finally:
        stop.set()
        thread.join()
    if failures:
        raise failures[0]
