"""
The certificate of one sandbox. It signs itself, lasts a day, and is the only one that its kubeconfig trusts.

The `cryptography` package makes it. It belongs to the extra `handloop[tls]` and is imported only when one is
made: a sandbox without TLS does not need it. The key never outlives the call on disk.
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
_SKEW: Final = timedelta(minutes=5)  # a client's clock may be behind
_MISSING: Final = 'TLS needs the cryptography package: pip install "cryptography>=43"'


class NoCertificateError(OSError):
    """The cryptography package is missing."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate as PEM, and what a server needs to show it."""

    pem: bytes
    context: ssl.SSLContext = field(repr=False)


def self_signed(hosts: Sequence[str]) -> Certificate:
    """
    Make a certificate for some names and addresses.

    Raises: NoCertificateError. Blocks: some milliseconds; a tenth of a second for the import.
    """
    certificate, key = _pair(hosts)
    with TemporaryDirectory(prefix="sandbox-tls-") as folder:
        file = Path(folder) / "pem"
        file.touch(mode=0o600)
        file.write_bytes(certificate + key)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
    return Certificate(certificate, context)


def _pair(hosts: Sequence[str]) -> tuple[bytes, bytes]:
    """The certificate and its key, as PEM."""
    try:
        from cryptography import x509  # noqa: PLC0415 - an extra
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

    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "sandbox")])
    others = ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement", "crl_sign")
    usage = x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=True,
        encipher_only=False,
        decipher_only=False,
        **dict.fromkeys(others, False),
    )
    certificate = (
        x509.CertificateBuilder(
            name, name, key.public_key(), x509.random_serial_number(), now - _SKEW, now + _LIFETIME
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.SubjectAlternativeName(map(alternative, hosts)), critical=False)
        .sign(key, hashes.SHA256())
    )
    encoding = serialization.Encoding.PEM
    private = key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return certificate.public_bytes(encoding), private
