"""A PKCS#10 request, made by the cryptography package."""

from __future__ import annotations

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


def signing_request() -> bytes:
    """A request for a client called robot, with a key of its own, as PEM."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "robot")])
    key = ec.generate_private_key(ec.SECP256R1())
    request = x509.CertificateSigningRequestBuilder().subject_name(name).sign(key, hashes.SHA256())
    return request.public_bytes(serialization.Encoding.PEM)
