"""
The warnings about TLS Secrets whose certificate or key is not in PEM format.

Follows: crypto/tls X509KeyPair. Differs: the contents of certificates and keys are not parsed.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import Final

from handloop_sandbox.wire.field_rules import Object, part

_BLOCK: Final = re.compile(rb"-----BEGIN ([^\n]+)-----\s*\n(.*?)-----END \1-----", re.DOTALL)
_CERTIFICATE: Final = "CERTIFICATE"
_KEY: Final = "PRIVATE KEY"
_SWITCHED: Final = (
    "tls: failed to find certificate PEM data in certificate input, but did find a private key; "
    "PEM inputs may have been switched"
)


def secret_notices(secret: Object, _old: Object | None) -> list[str]:
    """Return the warnings about a Secret of type kubernetes.io/tls."""
    if secret.get("type") != "kubernetes.io/tls":
        return []
    data = part(secret, "data")
    wrong = _certificate(_blocks(data.get("tls.crt"))) or _key(_blocks(data.get("tls.key")))
    return [wrong] if wrong else []


def _certificate(found: list[str]) -> str:
    if _CERTIFICATE in found:
        return ""
    if not found:
        return "tls: failed to find any PEM data in certificate input"
    if len(found) == 1 and found[0].endswith(_KEY):
        return _SWITCHED
    return f'tls: failed to find "CERTIFICATE" PEM block in certificate input after {_skipped(found)}'


def _key(found: list[str]) -> str:
    if any(name.endswith(_KEY) for name in found):
        return ""
    if not found:
        return "tls: failed to find any PEM data in key input"
    if found == [_CERTIFICATE]:
        return "tls: found a certificate rather than a key in the PEM for the private key"
    ending = 'tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after '
    return ending + _skipped(found)


def _skipped(found: list[str]) -> str:
    return f"skipping PEM blocks of the following types: [{' '.join(found)}]"


def _blocks(text: str | None) -> list[str]:
    """Return the types of the PEM blocks in a base64-encoded string."""
    found = _BLOCK.findall(base64.b64decode(text or ""))
    return [name.decode(errors="replace") for name, content in found if _is_base64(content)]


def _is_base64(content: bytes) -> bool:
    try:
        base64.b64decode(b"".join(content.split()), validate=True)
    except binascii.Error:
        return False
    return True
