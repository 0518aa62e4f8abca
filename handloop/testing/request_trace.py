"""Records the requests to a sandbox, in RBAC's terms."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Final

from handloop.testing.request_attributes import RequestAttributes
from handloop_sandbox.authenticator import unveil
from handloop_sandbox.engine import Engine
from handloop_sandbox.requests.authorization import attributes
from handloop_sandbox.requests.request import Request, Response
from handloop_sandbox.requests.routes import resource_path, split
from handloop_sandbox.wire.status import Status, failure

PROGRAM: Final = "handloop/"
_NOT_OF_RESOURCES: Final = ("authorization.k8s.io", "authentication.k8s.io")


class RequestTrace:
    """
    Wraps an engine and records its requests. It can also refuse them, or run a function before or after each.

    State: _asked holds the requests, under _lock. The test sets refuse, before and after.
    Threads: each HTTP request runs on the server's event loop. A slow `before` delays all other requests.
    """

    def __init__(self, engine: Engine, token: str, *, user_agent: str = PROGRAM) -> None:
        """
        Intercept the engine's requests.

        Args: token is the administrator's, which is removed from paths that start with it. Only requests
        whose user agent starts with user_agent are recorded; if user_agent is empty, all requests are.
        """
        self._user_agent = user_agent
        self._begin = engine.begin
        self._token = token
        self._lock = threading.Lock()
        self._asked: list[RequestAttributes] = []
        self.refuse: Callable[[RequestAttributes], Status | None] = lambda _asked: None
        self.before: Callable[[RequestAttributes], None] = lambda _asked: None
        self.after: Callable[[RequestAttributes], None] = lambda _asked: None
        engine.begin = self._pass  # type: ignore[method-assign] # every request passes through this seam

    def asked(self) -> list[RequestAttributes]:
        """Return the requests for resources, oldest first. TokenReviews and access reviews are left out."""
        with self._lock:
            return list(self._asked)

    def writes(self) -> int:
        """Return how many of the recorded requests were writes."""
        return sum(asked.writes for asked in self.asked())

    def _pass(self, request: Request) -> Any:
        asked = _asked(unveil(request, [self._token]), self._user_agent)
        if asked is None:
            return self._begin(request)
        with self._lock:
            position = len(self._asked)
            self._asked.append(asked)
        self.before(asked)
        refusal = self.refuse(asked)
        answer = self._begin(request) if refusal is None else _refused(refusal)
        if asked.verb == "patch" and isinstance(answer, Response) and answer.status == HTTPStatus.CREATED:
            with self._lock:
                self._asked[position] = asked._replace(creates=True)
        self.after(asked)
        return answer


def no_streaming_lists(asked: RequestAttributes) -> Status | None:
    """Refuse a streaming list, like a server that does not know sendInitialEvents."""
    if not asked.streaming_list:
        return None
    return failure(422, "Invalid", 'ListOptions.meta.k8s.io "" is invalid: sendInitialEvents: Forbidden')


def _asked(request: Request, user_agent: str) -> RequestAttributes | None:
    agent = request.headers.get("user-agent", "")
    if not agent.startswith(user_agent):
        return None
    path = resource_path(split(request.path))
    if path is None or path.group in _NOT_OF_RESOURCES:
        return None
    watching = request.query.get("watch") in ("1", "true")
    verb = "watch" if watching else path.verb(request.method)
    resource = f"{path.plural}/{path.subresource}" if path.subresource else path.plural
    streaming_list = request.query.get("sendInitialEvents") in ("1", "true")
    # A rule for one name also allows a list or watch of that name.
    name = attributes(path, verb, request.query.get("fieldSelector") or "").name
    return RequestAttributes(verb, resource, path.group, streaming_list, path.namespace, name, agent)


def _refused(status: Status) -> Response:
    content = json.dumps(status).encode()
    return Response(status["code"], (("Content-Type", "application/json"),), (content,))
