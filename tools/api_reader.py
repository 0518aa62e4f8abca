"""
Read JSON from an API server with nothing but the standard library and PyYAML: for the generator and its
checks.
"""

from __future__ import annotations

import base64
import json
import ssl
import tempfile
from http.client import HTTPConnection, HTTPSConnection
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit

import yaml


class Answer(NamedTuple):
    """The server's answer."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


class APIReader:
    """One keep-alive connection as the user of a kubeconfig's current context (token or certificate)."""

    def __init__(self, kubeconfig: str) -> None:
        config = yaml.safe_load(Path(kubeconfig).read_text(encoding="utf-8"))
        context = _named(config["contexts"], config["current-context"])["context"]
        cluster = _named(config["clusters"], context["cluster"])["cluster"]
        self._user = _named(config["users"], context["user"]).get("user") or {}
        parts = urlsplit(cluster["server"])
        host, port = parts.hostname or "", parts.port
        self._connection = (
            HTTPSConnection(host, port, context=self._tls(cluster), timeout=60)
            if parts.scheme == "https"
            else HTTPConnection(host, port, timeout=60)
        )

    def _tls(self, cluster: dict[str, str]) -> ssl.SSLContext:
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        context = ssl.create_default_context(cadata=authority)
        if "client-certificate-data" in self._user:
            with tempfile.NamedTemporaryFile() as pair:
                for part in ("client-certificate-data", "client-key-data"):
                    pair.write(base64.b64decode(self._user[part]))
                pair.flush()
                context.load_cert_chain(pair.name)
        return context

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        accept: str = "application/json",
        content_type: str = "",
    ) -> Answer:
        """Send one request; a body that is not bytes is sent as JSON."""
        headers = {"Accept": accept}
        if "token" in self._user:
            headers["Authorization"] = f"Bearer {self._user['token']}"
        if body is not None:
            headers["Content-Type"] = content_type or "application/json"
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        self._connection.request(method, path, data, headers)
        response = self._connection.getresponse()
        found = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, found, response.read())

    def get_json(self, path: str, accept: str = "application/json") -> Any:
        """
        The JSON at a path.

        Raises: RuntimeError for anything but 200.
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
        self._connection.close()


def _named(entries: list[dict[str, Any]], name: str) -> dict[str, Any]:
    return next(entry for entry in entries if entry["name"] == name)
