"""
Create certificates and their keys.

They are created with the `cryptography` package of the extra `tls`, which is imported only when it is used.
"""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple, TypeAlias

Certificate: TypeAlias = Any
"""The class Certificate of cryptography.x509, which is imported only where it is used."""
SKEW: Final = timedelta(hours=25)
"""How much longer a certificate is valid at each end, because another machine's clock may be a day off."""


class KeyPair(NamedTuple):
    """A certificate and its key, as PEM."""

    certificate: bytes
    key: bytes

    def context(self) -> ssl.SSLContext:
        """Return a TLS context for a server. Raises: OSError or ssl.SSLError if the pair does not load."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        # The ssl module loads key pairs only from files. The folder is private, and deleted on return.
        with TemporaryDirectory(prefix="handloop-") as folder:
            file = Path(folder, "pem")
            file.touch(mode=0o600)
            file.write_bytes(self.certificate + self.key)
            context.load_cert_chain(file, password=no_password)
        return context


def no_password() -> str:
    """
    Raise OSError, because a server must not wait for an encrypted key's password.

    Without this function, OpenSSL would ask for the password on the terminal.
    """
    raise OSError("the key is encrypted with a password")


def new_pair(
    name: str,
    now: float,
    lifetime: timedelta,
    *,
    hosts: Sequence[str] = (),
    issuer: KeyPair | None = None,
    skew: timedelta = SKEW,
) -> KeyPair:
    """
    Create a new pair: for a server at hosts, or for an authority if hosts is empty.

    Args: now is in seconds since the Unix epoch; if issuer is None, the certificate is self-signed.
    Raises: ImportError without the cryptography package; ValueError for an issuer that does not load.
    Blocks: for a few milliseconds.
    """
    from cryptography import x509  # noqa: PLC0415 - an extra, and a tenth of a second
    from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415

    at = datetime.fromtimestamp(now, UTC)
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    signer, issued_by, own = key, subject, x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    above = own
    if issuer is not None:
        loaded = serialization.load_pem_private_key(issuer.key, None)
        assert isinstance(loaded, ec.EllipticCurvePrivateKey)
        authority = x509.load_pem_x509_certificate(issuer.certificate)
        signer, issued_by = loaded, authority.subject
        above = authority.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    serial = x509.random_serial_number()
    builder = x509.CertificateBuilder(
        issued_by, subject, key.public_key(), serial, at - skew, at + lifetime + skew
    )
    identifier = x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(above)
    builder = builder.add_extension(own, critical=False).add_extension(identifier, critical=False)
    certificate = _for_use(builder, hosts).sign(signer, hashes.SHA256())
    encoding = serialization.Encoding.PEM
    private = key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return KeyPair(certificate.public_bytes(encoding), private)


def _for_use(builder: Any, hosts: Sequence[str]) -> Any:
    """Return a builder with the certificate's purpose."""
    from cryptography import x509  # noqa: PLC0415
    from cryptography.x509.oid import ExtendedKeyUsageOID  # noqa: PLC0415

    is_authority = not hosts
    path_length = 0 if is_authority else None
    builder = builder.add_extension(
        x509.BasicConstraints(ca=is_authority, path_length=path_length), critical=True
    )
    usage = x509.KeyUsage(
        digital_signature=True, key_cert_sign=is_authority, crl_sign=is_authority, content_commitment=False,
        key_encipherment=False, data_encipherment=False, key_agreement=False, encipher_only=False,
        decipher_only=False,
    )  # fmt: skip
    builder = builder.add_extension(usage, critical=True)
    if is_authority:
        return builder
    names = x509.SubjectAlternativeName([_host(host) for host in hosts])
    server = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
    return builder.add_extension(server, critical=False).add_extension(names, critical=False)


def _host(host: str) -> Any:
    from cryptography import x509  # noqa: PLC0415

    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def certificates_in(pem: bytes) -> list[Certificate]:
    """
    Return the certificates in a PEM file's content, in order, without those that do not load.

    Raises: ImportError without the cryptography package.
    """
    from cryptography import x509  # noqa: PLC0415

    begin, found = b"-----BEGIN CERTIFICATE-----", []
    for part in pem.split(begin)[1:]:
        try:
            found.append(x509.load_pem_x509_certificate(begin + part))
        except ValueError:
            continue
    return found
