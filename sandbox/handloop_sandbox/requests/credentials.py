"""
Authenticates bearer tokens, which belong to a user in the sandbox's configuration or to a service account.

Follows: kubernetes pkg/serviceaccount/{claims,legacy}.go, apiserver pkg/authentication.
"""

from __future__ import annotations

import base64
import secrets
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from handloop_sandbox.requests.authorization import service_account
from handloop_sandbox.requests.request import User
from handloop_sandbox.storage.state import State
from handloop_sandbox.storage.stored import Object
from handloop_sandbox.wire import tokens
from handloop_sandbox.wire.causes import quoted
from handloop_sandbox.wire.resource import GroupResource

_ABOUT: Final = "authentication.kubernetes.io/"
_COLLECTIONS: Final = {kind: GroupResource("", f"{kind}s") for kind in ("node", "pod", "secret")}
_ACCOUNTS: Final = GroupResource("", "serviceaccounts")


class InvalidTokenError(Exception):
    """A token is not valid. The message contains details, if there are any."""


class Identity(NamedTuple):
    """A user, and the requested audiences for which the token is valid."""

    user: User
    audiences: tuple[str, ...]


class Credentials(NamedTuple):
    """The tokens of users, and the key that signs service account tokens."""

    signing_key: bytes = b""
    users: Mapping[str, User] | None = None

    def identify(
        self, state: State, token: str, now: float, audiences: Sequence[str] = (tokens.ISSUER,)
    ) -> Identity:
        """
        Return the user that a token authenticates, and the audiences for which it is valid.

        Raises: InvalidTokenError if the token is invalid, or if it is not valid for any of the audiences.
        """
        given = token.encode(errors="surrogateescape")  # a header may contain arbitrary bytes
        for text, user in (self.users or {}).items():
            if secrets.compare_digest(text.encode(), given):
                return Identity(user, tuple(audiences))
        claims = tokens.verify(self.signing_key, token, now)
        if claims is None:
            raise InvalidTokenError
        meant = claims.get("aud", [tokens.ISSUER])
        common = tuple(name for name in audiences if name in meant)
        if not common:
            text = f"token audiences {_shown(meant)} is invalid for the target audiences {_shown(audiences)}"
            raise InvalidTokenError(text)
        return Identity(_account(state, claims, token), common)


def _shown(values: Sequence[str]) -> str:
    return f"[{' '.join(map(quoted, values))}]"


def _account(state: State, claims: Mapping[str, Any], token: str) -> User:
    namespace, account = tokens.account_of(claims)
    found = state.get(_ACCOUNTS, namespace, account.name)
    if found is None:
        raise InvalidTokenError(f"serviceaccounts {quoted(account.name)} not found")
    if found["metadata"]["uid"] != account.uid:
        actual = found["metadata"]["uid"]
        raise InvalidTokenError(f"service account UID ({actual}) does not match claim ({account.uid})")
    user = service_account(namespace, account.name, account.uid)
    if secret := tokens.lasting_secret(claims):
        _check_secret(state.get(_COLLECTIONS["secret"], namespace, secret), token)
        return user
    return user._replace(extra=_extra(state, namespace, claims))


def _check_secret(secret: Object | None, token: str) -> None:
    kept = ((secret or {}).get("data") or {}).get("token", "")
    if base64.b64decode(kept) != token.encode():
        raise InvalidTokenError("Token has been invalidated")


def _extra(state: State, namespace: str, claims: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return the extra fields of a short-lived token's user: the token's id, its pod and its node."""
    extra: dict[str, tuple[str, ...]] = {f"{_ABOUT}credential-id": (f"JTI={claims['jti']}",)}
    for kind, reference in tokens.bound_to(claims).items():
        found = state.get(_COLLECTIONS[kind], "" if kind == "node" else namespace, reference.name)
        if found is None or found["metadata"]["uid"] != reference.uid:
            raise InvalidTokenError("service account token has been invalidated")
        if kind != "secret":
            extra[f"{_ABOUT}{kind}-name"] = (reference.name,)
            extra[f"{_ABOUT}{kind}-uid"] = (reference.uid,)
    return extra
