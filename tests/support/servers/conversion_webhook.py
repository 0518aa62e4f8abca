"""A conversion webhook on loopback: it renames `spec.hostname` of v1 to `spec.host` in v1beta1, and back."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, NamedTuple, Self

from handloop_sandbox.certificate import certify

Object = dict[str, Any]


class Raw(NamedTuple):
    """An answer that is no review."""

    code: int
    kind: str = "application/json"
    body: bytes = b""


Answer = Callable[[Object], Object | Raw]
"""Takes a review, and gives the one to answer."""

_NAMES: Final = {"v1beta1": "host", "v1": "hostname"}


def renamed(objects: Sequence[Object], api_version: str) -> list[Object]:
    """The objects in another version."""
    wanted = _NAMES[api_version.rpartition("/")[2]]
    return [_renamed(obj, api_version, wanted) for obj in objects]


def _renamed(obj: Object, api_version: str, wanted: str) -> Object:
    spec = dict(obj.get("spec") or {})
    for name in _NAMES.values():
        if name in spec:
            spec[wanted] = spec.pop(name)
    return {**obj, "apiVersion": api_version, **({"spec": spec} if "spec" in obj else {})}


def converted(review: Object, **response: Any) -> Object:
    """A review with its answer; response has what is to be different in it."""
    request = review["request"]
    objects = renamed(request["objects"], request["desiredAPIVersion"])
    answer = {"uid": request["uid"], "convertedObjects": objects, "result": {"status": "Success"}}
    return {"apiVersion": review["apiVersion"], "kind": review["kind"], "response": answer | response}


class ConversionWebhook:
    """
    A server with a certificate for 127.0.0.1 and for further names.

    State: reviews are those that came; answer makes the answers.
    """

    def __init__(self, *names: str) -> None:
        self._certificate = certify(["127.0.0.1", *names])
        self._server: ThreadingHTTPServer | None = None
        self.port = 0
        self.reviews: list[Object] = []
        self.answer: Answer = converted
        self.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Listen, on the same port as before."""
        hook, context = self, self._certificate.context

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                hook.serve(self, body)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - of the base class
                """Say nothing."""

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def finish_request(self, request: Any, client_address: Any) -> None:
                """The handshake is made in the thread of the connection."""
                with context.wrap_socket(request, server_side=True) as secure:
                    super().finish_request(secure, client_address)

            def handle_error(self, request: Any, client_address: Any) -> None:
                """A client that does not trust the certificate leaves."""

        server = Server(("127.0.0.1", self.port), Handler)
        self.port = server.server_address[1]
        self._server = server
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def stop(self) -> None:
        """Refuse connections."""
        server, self._server = self._server, None
        if server is not None:
            server.shutdown()
            server.server_close()

    def serve(self, handler: BaseHTTPRequestHandler, body: bytes) -> None:
        """Answer one request."""
        review = json.loads(body)
        self.reviews.append(review)
        answer = self.answer(review)
        code, kind, content = (
            answer if isinstance(answer, Raw) else Raw(200, body=json.dumps(answer).encode())
        )
        handler.send_response(code)
        handler.send_header("Content-Type", kind)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)

    @property
    def authority(self) -> str:
        """The caBundle."""
        return base64.b64encode(self._certificate.authority).decode()

    def conversion(self, *, reviews: Sequence[str] = ("v1",), **client: Any) -> Object:
        """The `spec.conversion` of a definition; client replaces members of its clientConfig."""
        config = {"url": f"https://127.0.0.1:{self.port}/convert", "caBundle": self.authority, **client}
        config = {name: value for name, value in config.items() if value is not None}
        return {
            "strategy": "Webhook",
            "webhook": {"conversionReviewVersions": [*reviews], "clientConfig": config},
        }
