"""
Who may see the live page, and who may act on it.

A web page in a browser on this machine can reach loopback, too, either directly or through a domain name that
points here (DNS rebinding). So the Host of each request is checked on loopback, and an act needs our own
Origin and the token of this process, which only our own page can read. Another site's page can read nothing,
but its requests would cost work and viewers' places, so they are refused if the browser names the site.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Collection, Mapping
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

TOKEN_HEADER: Final = "X-Handloop-Token"  # noqa: S105 - the header's name
LOOPBACK_NAMES: Final = ("127.0.0.1", "localhost", "[::1]")
HEADERS: Final[Mapping[str, str]] = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Accel-Buffering": "no",
    "X-Content-Type-Options": "nosniff",
}


class Guard:
    """Checks requests. Threads: runs on the server's thread. token is new in each process."""

    def __init__(self, names: Collection[str] | None, *, controls: bool) -> None:
        """
        Make a guard.

        Args: names: the hosts that requests may name, in lower case; None = any. controls: whether acts are
        allowed.
        """
        self._names = names
        self._controls = controls
        self.token: Final = secrets.token_urlsafe(24)

    def refusal(self, method: str, headers: Mapping[str, str]) -> str:
        """Return why a request is refused, "" if it is not. Args: headers: with case-insensitive names."""
        host = headers.get("Host", "").lower()
        if self._names is not None and _name(host) not in self._names:
            return "only loopback names are served here: ask for http://127.0.0.1"
        if headers.get("Sec-Fetch-Site", "").lower() == "cross-site":
            return "another site may not send requests here: type the page's address"
        return "" if method in ("GET", "HEAD") else self._refusal_of_act(host, headers)

    def _refusal_of_act(self, host: str, headers: Mapping[str, str]) -> str:
        if not self._controls:
            return "the controls are off: start with --debug-controls"
        if headers.get("Origin", "").lower() != f"http://{host}":
            return "another page may not act here"
        given = headers.get(TOKEN_HEADER, "").encode(errors="surrogateescape")
        if not hmac.compare_digest(given, self.token.encode()):
            return f"the header {TOKEN_HEADER} lacks the token of this process: load the page again"
        return ""


def _name(host: str) -> str:
    name, _, port = host.rpartition(":")
    return name if port.isdigit() else host


def guarded(guard: Guard) -> Middleware:
    """A middleware that refuses with 403, and adds the security headers to every response."""

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        if reason := guard.refusal(request.method, request.headers):
            return web.Response(status=403, text=f"{reason}\n", headers=HEADERS)
        try:
            answer = await handler(request)
        except web.HTTPException as error:
            error.headers.update(HEADERS)
            raise
        if not answer.prepared:
            answer.headers.update(HEADERS)
        return answer

    return check
