"""The fixture `sandbox` as a test sees it: a server, kubeconfig, client, faults and clock."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Final, TypeVar, overload
from urllib.parse import quote

from handloop.apis.grammar.yaml_text import from_yaml
from handloop.apis.meta import Kind
from handloop.client.config import load_config
from handloop.client.errors import NotFound
from handloop.client.resource_client import Client
from handloop.client.transport import HTTPTransport
from handloop.testing.eventually import SECONDS, eventually
from handloop.testing.request_attributes import RequestAttributes
from handloop.testing.request_trace import RequestTrace
from handloop_sandbox.clock import SettableClock
from handloop_sandbox.faults.faults import Faults
from handloop_sandbox.server import Sandbox

K = TypeVar("K", bound=Kind)
Object = dict[str, Any]

_USER_AGENT: Final = "sandbox-fixture"
_SUCCESS = 300
_PAUSE_SECONDS = 0.01
_ESTABLISHED_TRIES = 200


class RefusedError(Exception):
    """The sandbox refused a manifest. The message is the sandbox's."""


class RunningSandbox:
    """
    A running sandbox for tests.

    Fields: explanations are functions that are called when a wait fails, and that return a note for the error
    or ""; defined holds the names of the CRDs that operators have applied; conversions maps the names of CRDs
    to their conversion functions.
    Threads: used on the test's thread. Any thread can use the clock and the faults, and read the requests.
    """

    def __init__(self, server: Sandbox, clock: SettableClock, kubeconfig: Path, stack: ExitStack) -> None:
        self.server = server
        self.clock = clock
        self.kubeconfig = kubeconfig
        self.explanations: list[Callable[[], str]] = []
        self.defined: set[str] = set()
        self.conversions = server.conversions
        self._stack = stack
        self._client: Client | None = None
        self._transport = server.transport()
        self._trace = RequestTrace(server.engine, server.token, user_agent="")

    @property
    def url(self) -> str:
        """`http://127.0.0.1:PORT`."""
        return self.server.url

    @property
    def token(self) -> str:
        """The administrator's bearer token."""
        return self.server.token

    @property
    def faults(self) -> Faults:
        """The faults of this sandbox."""
        return self.server.faults

    @property
    def client(self) -> Client:
        """A typed client for the administrator, over HTTP. It is created on first use."""
        if self._client is None:
            transport = HTTPTransport(load_config(kubeconfig=str(self.kubeconfig)))
            self._stack.callback(transport.close)
            self._client = Client(transport, user_agent=_USER_AGENT)
        return self._client

    def apply(self, *manifests: Object | Path | str) -> list[Object]:
        """
        Apply objects like `kubectl apply --server-side`: dicts, YAML strings or YAML files.

        Returns: the stored objects. Raises: RefusedError; TypeError or ValueError for a value that is not an
        object, before any object is applied. Blocks: until each applied CRD is served.
        """
        objects = [obj for manifest in manifests for obj in _objects(manifest)]
        for obj in objects:
            _check(obj)
        return [self._applied(obj) for obj in objects]

    @overload
    def get(self, what: str) -> Object: ...

    @overload
    def get(self, what: type[K], name: str, *, namespace: str = "default") -> K: ...

    def get(self, what: str | type[K], name: str = "", *, namespace: str = "default") -> Object | K:
        """
        Return an object of a kind, `get(ConfigMap, "settings")`, or the JSON at a path: `/api/v1/pods`.

        Args: namespace is ignored for a cluster-scoped kind, here and in the other methods.
        Raises: NotFound and other ClientErrors for a kind; RefusedError for a path.
        """
        if isinstance(what, str):
            return self._request("GET", what)
        return self.client.resource(what).get(name, namespace=_where(what, namespace))

    def delete(self, kind: type[Kind], name: str, *, namespace: str = "default") -> None:
        """Delete an object. Finalizers delay its deletion. Raises: NotFound, other ClientErrors."""
        self.client.resource(kind).delete(name, namespace=_where(kind, namespace))

    def wait_for(
        self,
        kind: type[K],
        name: str,
        condition: Callable[[K], object] = bool,
        *,
        namespace: str = "default",
        seconds: float = SECONDS,
    ) -> K:
        """
        Wait until an object exists and condition(object) is true.

        Returns: the object. Raises: AssertionError at the deadline, with the object's last state and the
        watch events that operators' predicates have dropped; ClientError.
        Blocks: until the condition is true, for at most the given seconds.
        """
        seen: list[K] = []

        def look() -> K | None:
            seen[:] = [found] if (found := self._find(kind, name, namespace)) is not None else []
            return found if found is not None and condition(found) else None

        try:
            what = f"as wanted, the {_named(kind, name, namespace)}"
            found = eventually(look, what, seconds=seconds)
        except AssertionError as error:
            error.add_note(f"current state: {seen[0] if seen else 'it does not exist'}")
            for note in filter(None, (explain() for explain in self.explanations)):
                error.add_note(note)
            raise
        assert found is not None
        return found

    def wait_for_gone(
        self, kind: type[Kind], name: str, *, namespace: str = "default", seconds: float = SECONDS
    ) -> None:
        """Wait until the object is gone. Raises: the same errors as wait_for. Blocks: as long as wait_for."""
        what = f"rid of the {_named(kind, name, namespace)}"
        eventually(lambda: self._find(kind, name, namespace) is None, what, seconds=seconds)

    def finish(self, job: Kind) -> None:
        """
        End a Job as if its pods had succeeded. The pods run until this call.

        Raises: RefusedError with the server's message, even for a Job that has already ended.
        """
        self._end(job, "finish")

    def fail(self, job: Kind) -> None:
        """End a Job as if its pods had failed too often. Raises: the same errors as finish."""
        self._end(job, "fail")

    def asked(self, user_agent: str = "") -> list[RequestAttributes]:
        """
        Return the requests for resources, oldest first.

        Args: user_agent is a prefix of the user agents to include. The requests of the fixture itself are
        left out, unless this prefix is given and matches the fixture's user agent.
        """
        mine = bool(user_agent) and _USER_AGENT.startswith(user_agent)
        return [
            one
            for one in self._trace.asked()
            if one.user_agent.startswith(user_agent) and (mine or one.user_agent != _USER_AGENT)
        ]

    def writes(self, user_agent: str = "") -> list[RequestAttributes]:
        """Return the requests that may have caused a change."""
        return [one for one in self.asked(user_agent) if one.writes]

    def _end(self, job: Kind, end: str) -> None:
        namespace, name = job.metadata.namespace, job.metadata.name
        self._request("POST", f"/sandbox/jobs/{quote(namespace)}/{quote(name)}/{end}")

    def _find(self, kind: type[K], name: str, namespace: str) -> K | None:
        try:
            return self.get(kind, name, namespace=namespace)
        except NotFound:
            return None

    def _applied(self, obj: Object) -> Object:
        """
        Apply an object. If it is a CRD, wait until it is served, so that its objects can be applied next.

        Until then, the request is retried, because a CRD that is being deleted may still occupy the names.
        Raises: RefusedError. Blocks: for at most 2 s.
        """
        pause, tries = threading.Event(), _ESTABLISHED_TRIES
        while True:
            try:
                (applied,) = self._request("POST", "/sandbox/load", obj)["items"]
                return dict(applied)
            except RefusedError as error:
                if not tries or "is not served" not in str(error):
                    raise
            self.server.tick()
            pause.wait(_PAUSE_SECONDS)
            tries -= 1

    def _request(self, method: str, path: str, body: Object | None = None) -> Object:
        content = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json", "User-Agent": _USER_AGENT}
        answer = self._transport.request(method, path, headers=headers, body=content)
        if answer.status >= _SUCCESS:
            raise RefusedError(f"{method} {path}: {_message(answer.body)}")
        document: Object = json.loads(answer.body)
        return document


@contextmanager
def running_sandbox(folder: Path, **arguments: Any) -> Iterator[RunningSandbox]:
    """
    Run a sandbox for the duration of the block, with its kubeconfig in a folder.

    A Job runs until finish or fail is called.

    Args: arguments are Sandbox's arguments; a clock must be a SettableClock.
    """
    clock = arguments.setdefault("clock", SettableClock())
    arguments.setdefault("hold_jobs", True)
    with ExitStack() as stack:
        server = stack.enter_context(Sandbox(**arguments))
        kubeconfig = server.write_kubeconfig(folder / "kubeconfig")
        yield RunningSandbox(server, clock, kubeconfig, stack)


def _where(kind: type[Kind], namespace: str) -> str:
    return namespace if kind.resource.namespaced else ""


def _named(kind: type[Kind], name: str, namespace: str) -> str:
    where = _where(kind, namespace)
    return f"{kind.resource.kind} {where}/{name}" if where else f"{kind.resource.kind} {name}"


def _message(body: bytes) -> str:
    """Return a refusal's message: the message of a Status, or else the whole body."""
    text = body.decode(errors="replace")
    with suppress(ValueError, LookupError, TypeError):
        return str(json.loads(text)["message"])
    return text


def _objects(manifest: Any) -> list[Any]:
    """Return the objects in a manifest. Raises: TypeError for a value that is not a manifest."""
    if isinstance(manifest, dict):
        return [manifest]
    if not isinstance(manifest, Path | str):
        kind = type(manifest).__name__
        raise TypeError(f"a manifest is a dict, a YAML text or a Path, not a {kind}; pass each separately")
    text = manifest.read_text(encoding="utf-8") if isinstance(manifest, Path) else manifest
    return [obj for obj in from_yaml(text) if obj]


def _check(obj: Any) -> None:
    """Refuse a value that cannot be applied. Raises: TypeError, ValueError."""
    if isinstance(obj, str):
        raise TypeError(f"not an object in YAML: {obj!r}; pass a file as a Path")
    if not isinstance(obj, dict):
        raise TypeError(f"not an object: {obj!r}")
    metadata = obj.get("metadata")
    found = {**obj, "metadata.name": metadata.get("name") if isinstance(metadata, dict) else None}
    for name in ("apiVersion", "kind", "metadata.name"):
        if not isinstance(found.get(name), str) or not found[name]:
            head = {field: obj[field] for field in ("apiVersion", "kind", "metadata") if field in obj}
            raise ValueError(f"an object to apply needs {name}: {head}")
