"""A client that sends HTTP requests to the server that a kubeconfig names."""

from __future__ import annotations

import base64
import http.client
import json
import ssl
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple, Self
from urllib.parse import urlsplit

from handloop_sandbox.grammar.yaml_text import from_yaml

MANAGER: Final = "compare"
"""The field manager of all writes."""
_SECONDS: Final = 60.0
_ATTEMPTS: Final = 2
Body = dict[str, Any]


class KubeconfigError(ValueError):
    """Raised when a kubeconfig does not name a server, or requires an unsupported authentication method."""


class Answer(NamedTuple):
    """A server's answer: its status, decoded body, and Warning headers."""

    status: int
    body: Any
    warnings: list[str]


class Endpoint:
    """A connection to a server. Answers are decoded from JSON."""

    def __init__(self, kubeconfig: Path) -> None:
        """Read a kubeconfig. Raises: KubeconfigError if it cannot be used."""
        try:
            (document,) = from_yaml(kubeconfig.read_text(encoding="utf-8"))
            cluster, user = _current(document)
            url = urlsplit(cluster["server"])
            self._tls = _context(cluster, user, kubeconfig.parent) if url.scheme == "https" else None
        except KubeconfigError:
            raise
        except (OSError, LookupError, TypeError, AttributeError, ValueError) as error:
            raise KubeconfigError(f"cannot find a server in {kubeconfig}: {error!r}") from error
        self._address = (url.hostname or "", url.port or (443 if self._tls else 80))
        self._prefix = url.path.rstrip("/")
        self._token = user.get("token", "")
        self._connection: http.client.HTTPConnection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._connection is not None:
            self._connection.close()

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        content_type: str = "application/json",
        accept: str = "application/json",
    ) -> Answer:
        """
        Send a request, and return its answer.

        Blocks: until the answer arrives or a minute has passed. Raises: OSError or HTTPException if the
        request fails.
        """
        headers = {"Accept": accept, "User-Agent": MANAGER}
        if body is not None:
            headers["Content-Type"] = content_type
        if self._token and self._tls:
            headers["Authorization"] = f"Bearer {self._token}"
        data = None if body is None else json.dumps(body)
        for attempt in range(_ATTEMPTS):
            try:
                return self._answer(method, path, data, headers)
            except (http.client.HTTPException, ConnectionError):
                # The server may have closed the connection because it was idle. Try a new one.
                self._connection = None
                if attempt + 1 == _ATTEMPTS:
                    raise
        raise AssertionError

    def _answer(self, method: str, path: str, data: str | None, headers: Mapping[str, str]) -> Answer:
        if self._connection is None:
            host, port = self._address
            self._connection = (
                http.client.HTTPConnection(host, port, timeout=_SECONDS)
                if self._tls is None
                else http.client.HTTPSConnection(host, port, timeout=_SECONDS, context=self._tls)
            )
        self._connection.request(method, self._prefix + path, data, dict(headers))
        response = self._connection.getresponse()
        content = response.read()
        try:
            decoded = json.loads(content)
        except ValueError:
            decoded = content.decode(errors="replace")
        return Answer(response.status, decoded, response.headers.get_all("Warning") or [])


def _current(document: Body) -> tuple[Body, Body]:
    """Return the cluster and the user of the current context."""
    named = {
        kind: {entry["name"]: entry[kind.removesuffix("s")] for entry in document.get(kind) or ()}
        for kind in ("clusters", "contexts", "users")
    }
    context = named["contexts"][document["current-context"]]
    return named["clusters"][context["cluster"]], named["users"].get(context.get("user"), {})


def _context(cluster: Body, user: Body, folder: Path) -> ssl.SSLContext:
    if "exec" in user or "auth-provider" in user:
        raise KubeconfigError(
            "exec and auth-provider logins are not supported: use a kubeconfig with a certificate or a token"
        )
    authority = _pem(cluster, "certificate-authority", folder)
    context = ssl.create_default_context(cadata=authority.decode() if authority else None)
    context.verify_flags &= (
        ~ssl.VERIFY_X509_STRICT
    )  # like Go, accept certificates without an authority key identifier
    if cluster.get("insecure-skip-tls-verify"):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    certificate, key = (_pem(user, name, folder) for name in ("client-certificate", "client-key"))
    if certificate and key:
        with tempfile.NamedTemporaryFile() as file:
            file.write(certificate + b"\n" + key)
            file.flush()
            context.load_cert_chain(file.name)
    return context


def _pem(section: Body, name: str, folder: Path) -> bytes:
    if data := section.get(f"{name}-data"):
        return base64.b64decode(data)
    return (folder / section[name]).read_bytes() if section.get(name) else b""
