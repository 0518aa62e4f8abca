"""Who sends a request: a known user, a service account, nobody in particular, or a wrong token."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import replace

from handloop.sandbox.requests import tokens
from handloop.sandbox.requests.authorization import ANONYMOUS
from handloop.sandbox.requests.request import Request, User
from handloop.sandbox.verbs import reviews


class Authenticator:
    """Knows users by their bearer tokens, and the tokens that it has signed itself. Threads: any."""

    def __init__(self, users: Mapping[str, User] | None, *, everybody: User, tokens_in_paths: bool) -> None:
        """
        Prepare.

        Args: users None = every request is everybody's. tokens_in_paths: see handloop.sandbox.authenticator.
        """
        self._users = users
        self._everybody = everybody
        self._tokens_in_paths = tokens_in_paths
        self.signing_key = secrets.token_bytes(32)

    def unveiled(self, request: Request) -> Request:
        """A request with the token of its path where a token belongs."""
        return unveil(request, self._users or ()) if self._tokens_in_paths else request

    def user(self, request: Request, now: float) -> User | None:
        """Who sends a request; None for credentials that are wrong."""
        if self._users is None:
            return self._everybody
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer" or not token.strip():
            return ANONYMOUS
        token = token.strip()
        # a header may hold any bytes
        given = token.encode(errors="surrogateescape")
        known = [user for text, user in self._users.items() if secrets.compare_digest(text.encode(), given)]
        if known:
            return known[0]
        claims = tokens.verify(self.signing_key, token, now)
        return None if claims is None else reviews.account_of(claims)


def unveil(request: Request, tokens: Iterable[str]) -> Request:
    """The request without the token its path starts with, which goes into the Authorization header."""
    first, _, rest = request.path.removeprefix("/").partition("/")
    given = first.encode(errors="surrogateescape")
    if not given or not any(secrets.compare_digest(given, token.encode()) for token in tokens if token):
        return request
    headers = {**request.headers, "authorization": f"Bearer {first}"}
    return replace(request, path=f"/{rest}", headers=headers)
