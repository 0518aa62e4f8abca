"""
Checks who can view the live page, and who can carry out experiments on it.

Any website that is open in a browser on this machine can reach loopback, either directly or through a domain
name that points here (DNS rebinding). So the Host of each request is checked on loopback. An experiment also
requires our own Origin and the token of this process, which only our own page can read. Another site's page
cannot read our responses, but its requests would cost work and take viewers' places. So they are refused if
the browser reports that they are cross-site.
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
    """Checks requests. Threads: used only by the server's thread. Each process has a new token."""

    def __init__(self, names: Collection[str] | None, *, controls: bool) -> None:
        """
        Create a guard.

        Args: names contains the host names that a request can have, in lower case; None = any name. controls
        is whether experiments are allowed.
        """
        self._names = names
        self._controls = controls
        self.token: Final = secrets.token_urlsafe(24)

    def refusal(self, method: str, headers: Mapping[str, str]) -> str:
        """Return why a request is refused; "" = it is allowed. Args: headers ignores the case of names."""
        host = headers.get("Host", "").lower()
        if self._names is not None and _name(host) not in self._names:
            return "this page is served only under loopback names: open http://127.0.0.1"
        if headers.get("Sec-Fetch-Site", "").lower() == "cross-site":
            return "requests from another site are refused: type the page's address into the browser"
        return "" if method in ("GET", "HEAD") else self._refusal_of_act(host, headers)

    def _refusal_of_act(self, host: str, headers: Mapping[str, str]) -> str:
        if not self._controls:
            return "the experiments are off: start the program with --debug-controls"
        if headers.get("Origin", "").lower() != f"http://{host}":
            return "only this server's own page can carry out experiments"
        given = headers.get(TOKEN_HEADER, "").encode(errors="surrogateescape")
        if not hmac.compare_digest(given, self.token.encode()):
            return f"the header {TOKEN_HEADER} does not contain the token of this process: reload the page"
        return ""


def _name(host: str) -> str:
    name, _, port = host.rpartition(":")
    return name if port.isdigit() else host


def guarded(guard: Guard) -> Middleware:
    """Return middleware that refuses requests with 403, and adds security headers to every response."""

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
