"""
Credentials in the server's URL: `http://127.0.0.1:PORT/TOKEN`.

kubectl sends a bearer token over TLS only. A secret first part of the path does the same over plain loopback
HTTP, with every client that takes a server URL with a path.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import replace

from handloop.sandbox.requests.request import Request


def unveil(request: Request, tokens: Iterable[str]) -> Request:
    """The request without the token its path starts with, which goes into the Authorization header."""
    first, _, rest = request.path.removeprefix("/").partition("/")
    given = first.encode(errors="surrogateescape")
    if not given or not any(secrets.compare_digest(given, token.encode()) for token in tokens if token):
        return request
    headers = {**request.headers, "authorization": f"Bearer {first}"}
    return replace(request, path=f"/{rest}", headers=headers)
