"""An engine without sockets and on a clock that the test moves."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from handloop_sandbox.cluster.cluster_controller import ClusterController
from handloop_sandbox.engine import Engine, Stream
from handloop_sandbox.faults.watch_output import WatchOutput
from handloop_sandbox.requests.request import Request, Response, User
from handloop_sandbox.wire.query import Query
from support.builders.widgets import CRDS, widget_definition

START = 1_700_000_000.0


class ManualClock:
    """Implements sandbox.clock.Clock."""

    def __init__(self, now: float = START) -> None:
        self.now = now

    def time(self) -> float:
        return self.now


class Reply(NamedTuple):
    """An answer with its body decoded; text when it is no JSON."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: Any

    @property
    def message(self) -> str:
        """The message of a Status."""
        message: str = self.body["message"]
        return message


class LocalServer:
    """Requests in, decoded answers out; controllers are stepped after every request."""

    def __init__(
        self,
        *,
        controllers: Sequence[ClusterController] = (),
        users: dict[str, User] | None = None,
        history_size: int = 1000,
        seed: int = 1,
    ) -> None:
        self.clock = ManualClock()
        self.engine = Engine(
            clock=self.clock, controllers=controllers, users=users, seed=seed, history_size=history_size
        )
        self.engine.tick()

    def request(
        self, method: str, path: str, body: Any = None, *, content_type: str = "", **headers: str
    ) -> Reply:
        """Send a request; header names with _ for -."""
        answer = self.send(method, path, body, content_type=content_type, **headers)
        assert isinstance(answer, Response), answer
        return Reply(answer.status, answer.headers, decoded(answer.content()))

    def send(
        self, method: str, path: str, body: Any = None, *, content_type: str = "", **headers: str
    ) -> Response | Stream:
        """Send a request; a watch answers a Stream."""
        where, _, query = path.partition("?")
        fields = {name.replace("_", "-"): value for name, value in headers.items()}
        fields.setdefault("user-agent", "test/1")
        if content_type:
            fields["content-type"] = content_type
        content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        answer = self.engine.handle(Request(method, where, Query.parse(query), fields, content))
        self.engine.tick()
        return answer

    def watch(self, path: str, **headers: str) -> WatchOutput:
        """Open a watch."""
        stream = self.send("GET", path, **headers)
        assert isinstance(stream, Stream), stream
        return stream.watcher

    def events(self, watcher: WatchOutput) -> list[dict[str, Any]]:
        """What a watch has to send now."""
        return [json.loads(line) for line in self.engine.take(watcher)]


def decoded(content: bytes) -> Any:
    """JSON, or the text."""
    try:
        return json.loads(content)
    except ValueError:
        return content.decode(errors="replace")


def with_widgets(server: LocalServer, *, namespace: str = "n") -> str:
    """Define the custom resource of the contract tests and a namespace; returns the collection's path."""
    group = "example.com"
    assert server.request("POST", CRDS, widget_definition(group)).status == 201
    assert server.request("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}}).status == 201
    return f"/apis/{group}/v1/namespaces/{namespace}/widgets"


def widget(name: str, *, metadata: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    """A widget; size is 3 unless given."""
    return {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": name, **(metadata or {})},
        "spec": {"size": 3, **spec},
    }
