"""
Bearer tokens of service accounts. A token is signed, and valid until it expires or its Secret is deleted.

Follows: kubernetes pkg/serviceaccount (claims). Differs: tokens are signed with HS256; a real server uses
RS256.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Mapping, Sequence
from math import inf
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import msgspec

ISSUER: Final = "https://kubernetes.default.svc"
LASTING_ISSUER: Final = "kubernetes/serviceaccount"
_LASTING: Final = "kubernetes.io/serviceaccount"
_HEADER: Final = {"alg": "HS256", "typ": "JWT"}
_PARTS: Final = 3


class Reference(NamedTuple):
    """The name and uid of an object to which a token refers."""

    name: str
    uid: str

    @classmethod
    def of(cls, obj: Mapping[str, Any]) -> Reference:
        """Return a reference to an object."""
        return cls(obj["metadata"]["name"], obj["metadata"]["uid"])


def sign(key: bytes, claims: dict[str, Any]) -> str:
    """Return a signed token with these claims."""
    signed = f"{_encoded(_HEADER)}.{_encoded(claims)}"
    return f"{signed}.{_base64(_signature(key, signed))}"


def bound_claims(
    namespace: str,
    account: Reference,
    *,
    now: float,
    seconds: int,
    token_id: str,
    audiences: Sequence[str] = (ISSUER,),
    bound: Mapping[str, Reference] = MappingProxyType({}),
) -> dict[str, Any]:
    """
    Return the claims of a token that is valid for some seconds from now.

    Args: bound maps `pod`, `node` and `secret` to the objects whose deletion invalidates the token.
    """
    objects = {kind: reference._asdict() for kind, reference in sorted(bound.items())}
    return {
        "aud": list(audiences),
        "exp": int(now) + seconds,
        "iat": int(now),
        "iss": ISSUER,
        "jti": token_id,
        "kubernetes.io": {"namespace": namespace, **objects, "serviceaccount": account._asdict()},
        "nbf": int(now),
        "sub": f"system:serviceaccount:{namespace}:{account.name}",
    }


def lasting_claims(namespace: str, account: Reference, secret: str) -> dict[str, Any]:
    """Return the claims of a token that is valid until its Secret is deleted."""
    return {
        "iss": LASTING_ISSUER,
        f"{_LASTING}/namespace": namespace,
        f"{_LASTING}/secret.name": secret,
        f"{_LASTING}/service-account.name": account.name,
        f"{_LASTING}/service-account.uid": account.uid,
        "sub": f"system:serviceaccount:{namespace}:{account.name}",
    }


def lasting_secret(claims: Mapping[str, Any]) -> str:
    """Return the name of the Secret that contains a long-lived token, or "" for other tokens."""
    secret: str = claims.get(f"{_LASTING}/secret.name", "")
    return secret


def account_of(claims: Mapping[str, Any]) -> tuple[str, Reference]:
    """Return a token's namespace and service account."""
    if lasting_secret(claims):
        names = ("namespace", "service-account.name", "service-account.uid")
        namespace, name, uid = (claims[f"{_LASTING}/{entry}"] for entry in names)
        return namespace, Reference(name, uid)
    about = claims["kubernetes.io"]
    return about["namespace"], Reference(**about["serviceaccount"])


def bound_to(claims: Mapping[str, Any]) -> dict[str, Reference]:
    """Return the objects whose deletion invalidates a token, by kind: `pod`, `node`, `secret`."""
    about = claims.get("kubernetes.io") or {}
    return {kind: Reference(**about[kind]) for kind in ("node", "pod", "secret") if kind in about}


def verify(key: bytes, token: str, now: float) -> dict[str, Any] | None:
    """Return the claims of a token, or None if it has expired or was not signed with this key."""
    parts = token.split(".")
    if len(parts) != _PARTS or not token.isascii():
        return None
    signed, signature = ".".join(parts[:2]), parts[2]
    if not hmac.compare_digest(_base64(_signature(key, signed)), signature):
        return None
    claims: dict[str, Any] = msgspec.json.decode(
        base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4))
    )
    return claims if claims.get("exp", inf) > now else None


def _signature(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def _encoded(value: dict[str, Any]) -> str:
    return _base64(msgspec.json.encode(value))


def _base64(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()
