"""
Whether our credentials have expired, as far as they say so themselves.

The answer is an age, never a part of a credential.
"""

from __future__ import annotations

import base64
import ssl
from typing import Final

import msgspec

from handloop.apis.time import parse_time
from handloop.client.auth.bounded_file import read_file
from handloop.client.auth.tls import KeyPair
from handloop.client.config import ClientConfig
from handloop.client.errors import ConfigError
from handloop.client.http.certificate import parse_certificate

_JWT_PARTS: Final = 3
_UNITS: Final = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))
_END: Final = b"-----END CERTIFICATE-----"


class _Claims(msgspec.Struct):
    exp: float


def expired_credentials(config: ClientConfig, now: float) -> str:
    """
    `token expired 3 h ago` or `client certificate expired 12 d ago`; "" when not, or not known.

    Args: now in Unix seconds.
    """
    try:
        authorization = config.credentials.authorization()
        pair = config.credentials.key_pair() or config.tls.key_pair
    except ConfigError:
        return ""
    ends = (("token", token_end(authorization)), ("client certificate", certificate_end(pair)))
    return next(
        (f"{what} expired {_age(now - at)} ago" for what, at in ends if at is not None and at < now), ""
    )


def token_end(authorization: str) -> float | None:
    """When a bearer token ends, in Unix seconds; None for one that does not say."""
    parts = authorization.removeprefix("Bearer ").split(".")
    if len(parts) != _JWT_PARTS:
        return None
    try:
        claims = base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4))
        return msgspec.json.decode(claims, type=_Claims).exp
    except (ValueError, msgspec.DecodeError):
        return None


def certificate_end(pair: KeyPair) -> float | None:
    """When a client certificate ends, in Unix seconds; None when there is none, or it cannot be read."""
    try:
        pem = pair.certificate or (read_file(pair.certificate_file) if pair.certificate_file else b"")
        first, end, _ = pem.partition(_END)
        der = ssl.PEM_cert_to_DER_cert((first[first.find(b"-----BEGIN") :] + end).decode("ascii"))
        return parse_time(parse_certificate(der).not_after)
    except (OSError, ValueError):
        return None


def _age(seconds: float) -> str:
    size, unit = next((one for one in _UNITS if seconds >= one[0]), _UNITS[-1])
    return f"{int(seconds // size)} {unit}"
