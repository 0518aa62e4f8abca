"""
Bearer tokens of service accounts: signed, short-lived, checked without being stored.

Follows: kubernetes pkg/serviceaccount (claims). Differs: signed with HS256, where a real server uses RS256.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import Any, Final

import msgspec

ISSUER: Final = "https://kubernetes.default.svc"
_HEADER: Final = {"alg": "HS256", "typ": "JWT"}
_PARTS: Final = 3


def issue(key: bytes, *, namespace: str, account: str, uid: str, now: float, seconds: int) -> str:
    """A token for a service account, valid from now for a number of seconds."""
    claims = {
        "aud": [ISSUER],
        "exp": int(now) + seconds,
        "iat": int(now),
        "iss": ISSUER,
        "kubernetes.io": {"namespace": namespace, "serviceaccount": {"name": account, "uid": uid}},
        "nbf": int(now),
        "sub": f"system:serviceaccount:{namespace}:{account}",
    }
    signed = f"{_encoded(_HEADER)}.{_encoded(claims)}"
    return f"{signed}.{_base64(_signature(key, signed))}"


def verify(key: bytes, token: str, now: float) -> dict[str, Any] | None:
    """The claims of a token; None when this sandbox has not signed it or it has expired."""
    parts = token.split(".")
    if len(parts) != _PARTS or not token.isascii():
        return None
    signed, signature = ".".join(parts[:2]), parts[2]
    if not hmac.compare_digest(_base64(_signature(key, signed)), signature):
        return None
    claims: dict[str, Any] = msgspec.json.decode(
        base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4))
    )
    return claims if claims["exp"] > now else None


def _signature(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def _encoded(value: dict[str, Any]) -> str:
    return _base64(msgspec.json.encode(value))


def _base64(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()
