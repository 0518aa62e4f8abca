"""
Creates a sandbox's TLS certificate, which is valid for a day.

The certificate is signed by a new authority, the only one that the kubeconfig trusts. This authority signs
nothing else, and its key is discarded immediately. The server has a certificate of its own, because rustls
refuses servers that use an authority's certificate. The `cryptography` package creates both certificates. It
is imported only when needed, because a sandbox without TLS works without it. The server's key is on disk only
until certify() returns.
"""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

_LIFETIME: Final = timedelta(days=1)
_SKEW: Final = timedelta(minutes=5)  # because a client's clock may be slow
_USAGES: Final = (
    *("digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement"),
    *("key_cert_sign", "crl_sign", "encipher_only", "decipher_only"),
)
_MISSING: Final = 'TLS needs the cryptography package: pip install "cryptography>=43"'


class NoCertificateError(OSError):
    """Raised when the cryptography package is missing."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """A server's TLS certificate. authority is the PEM text of the certificate that clients trust."""

    authority: bytes
    context: ssl.SSLContext = field(repr=False)


def certify(hosts: Sequence[str]) -> Certificate:
    """
    Create a certificate for host names and IP addresses.

    Raises: NoCertificateError if the cryptography package is missing. Blocks: for a few milliseconds, and for
    a tenth of a second when the package is first imported.
    """
    authority, shown = _pair(hosts)
    with TemporaryDirectory(prefix="sandbox-tls-") as folder:
        file = Path(folder) / "pem"
        file.touch(mode=0o600)
        file.write_bytes(shown)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
    return Certificate(authority, context)


def _pair(hosts: Sequence[str]) -> tuple[bytes, bytes]:
    """Return two PEM texts: the authority's certificate, and the server's certificate with its key."""
    try:
        from cryptography import x509  # noqa: PLC0415 - an optional package
        from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415
        from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415
        from cryptography.x509.oid import ExtendedKeyUsageOID  # noqa: PLC0415
    except ImportError as error:
        raise NoCertificateError(_MISSING) from error

    def alternative(host: str) -> x509.GeneralName:
        try:
            return x509.IPAddress(ip_address(host))
        except ValueError:
            return x509.DNSName(host)

    def name(text: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)])

    def begun(subject: str, key: ec.EllipticCurvePublicKey, *, authority: bool) -> x509.CertificateBuilder:
        usage = dict.fromkeys(_USAGES, False)
        usage["key_cert_sign" if authority else "digital_signature"] = True
        return (
            x509.CertificateBuilder(
                name("sandbox-ca"),
                name(subject),
                key,
                x509.random_serial_number(),
                now - _SKEW,
                now + _LIFETIME,
            )
            .add_extension(x509.BasicConstraints(authority, 0 if authority else None), critical=True)
            .add_extension(x509.KeyUsage(**usage), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer), critical=False)
        )

    signing, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    signer, now = signing.public_key(), datetime.now(UTC)
    encoding = serialization.Encoding.PEM
    authority = begun("sandbox-ca", signer, authority=True).sign(signing, hashes.SHA256())
    certificate = (
        begun("sandbox", key.public_key(), authority=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(map(alternative, hosts)), critical=False)
        .sign(signing, hashes.SHA256())
    )
    private = key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return authority.public_bytes(encoding), certificate.public_bytes(encoding) + private
