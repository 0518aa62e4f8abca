"""Send requests to an API server as a kubeconfig's user, for the generators and their checks."""

from __future__ import annotations

import json
from types import TracebackType
from typing import Any, NamedTuple, Self

from handloop.client.config import load_config
from handloop.client.transport import HTTPTransport


class Answer(NamedTuple):
    """The server's answer."""

    status: int
    body: bytes

    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


class APIReader:
    """The server of a kubeconfig's current context."""

    def __init__(self, kubeconfig: str) -> None:
        self._transport = HTTPTransport(load_config(kubeconfig=kubeconfig))

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        accept: str = "application/json",
        content_type: str = "",
    ) -> Answer:
        """Send one request. path can have a query. A body that is not bytes is sent as JSON."""
        headers = {"Accept": accept}
        if body is not None:
            headers["Content-Type"] = content_type or "application/json"
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        answer = self._transport.request(method, path, headers=headers, body=data)
        return Answer(answer.status, answer.body)

    def get_json(self, path: str, accept: str = "application/json") -> Any:
        """
        Return the JSON at a path.

        Raises: RuntimeError if the status is not 200.
        """
        answer = self.request("GET", path, accept=accept)
        if answer.status != 200:  # noqa: PLR2004
            raise RuntimeError(f"GET {path}: {answer.status} {answer.body[:200]!r}")
        return answer.json()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._transport.close()
