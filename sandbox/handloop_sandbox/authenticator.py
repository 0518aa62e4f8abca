"""
Authenticates the sender of a request as a known user, a service account, or the anonymous user.

Wrong tokens are refused. Because kubectl sends bearer tokens only over TLS, a token can also be part of the
server's URL, `http://127.0.0.1:PORT/TOKEN`, which nearly every client accepts. If the header also contains
a bearer token, the header takes precedence, for example if a service account's token is added to a copy of
the sandbox's kubeconfig.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping

from handloop_sandbox.requests.authorization import ANONYMOUS, AUTHENTICATED
from handloop_sandbox.requests.credentials import Credentials, InvalidTokenError
from handloop_sandbox.requests.request import Request, User
from handloop_sandbox.storage.state import State


class Authenticator:
    """
    Recognises users by their bearer tokens, and service accounts by the tokens that it has signed.

    Threads: any thread can call the methods.
    """

    def __init__(self, users: Mapping[str, User] | None, *, everybody: User, tokens_in_paths: bool) -> None:
        """
        Args: users maps bearer tokens to users; None gives every request all rights. tokens_in_paths allows
        a token as the first part of a path.
        """
        self._users = None if users is None else {token: _known(user) for token, user in users.items()}
        self._everybody = everybody
        self._tokens_in_paths = tokens_in_paths
        self.credentials = Credentials(secrets.token_bytes(32), self._users)

    def unveiled(self, request: Request) -> Request:
        """Move a token from the request's path to its headers, if tokens are allowed in paths."""
        return unveil(request, self._users or ()) if self._tokens_in_paths else request

    def user(self, state: State, request: Request, now: float) -> User | None:
        """Return the user who sent a request, or None if the credentials are wrong."""
        if self._users is None:
            return self._everybody
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer" or not token.strip():
            return ANONYMOUS
        try:
            return self.credentials.identify(state, token.strip(), now).user
        except InvalidTokenError:
            return None


def _known(user: User) -> User:
    """Return the user, with the group of all authenticated users added."""
    return user if AUTHENTICATED in user.groups else user._replace(groups=(*user.groups, AUTHENTICATED))


def unveil(request: Request, tokens: Iterable[str]) -> Request:
    """
    Remove a known token from the beginning of a request's path, if there is one.

    The token becomes the Authorization header, unless the header already contains a bearer token.
    """
    first, _, rest = request.path.removeprefix("/").partition("/")
    given = first.encode(errors="surrogateescape")
    if not given or not any(secrets.compare_digest(given, token.encode()) for token in tokens if token):
        return request
    headers = dict(request.headers)
    if not headers.get("authorization", "").lower().startswith("bearer "):
        headers["authorization"] = f"Bearer {first}"
    return request._replace(path=f"/{rest}", headers=headers)
