"""
Certificates for tests, made by the cryptography package and written into files.

Messages name the authority that signed a certificate, so a test gives it its common name; trustme cannot.
"""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

_USES = (
    *("digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement"),
    *("key_cert_sign", "crl_sign", "encipher_only", "decipher_only"),
)


class Issued:
    """A certificate and its key, as files."""

    def __init__(self, certificate: Path, key: Path) -> None:
        self.certificate = certificate
        self.key = key

    def server_context(self, *, client_ca: Path | None = None) -> ssl.SSLContext:
        """What a server with this certificate uses; client_ca makes it demand a client certificate."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, self.key)
        if client_ca is not None:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(client_ca)
        return context


class CertificateAuthority:
    """
    A CA of its own in a folder.

    One that is bare has CA:TRUE for its only extension, as those of many clusters. One with a signer is an
    intermediate CA.
    """

    def __init__(
        self,
        folder: Path,
        name: str = "handloop-test-ca",
        *,
        bare: bool = False,
        signer: CertificateAuthority | None = None,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.certificate = folder / "ca.crt"
        self._folder = folder
        self._name = name
        self._bare = bare
        self._key = ec.generate_private_key(ec.SECP256R1())
        signer = signer or self
        builder = _builder(name, signer._name, self._key, days=2)
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        if not bare:
            usage = dict.fromkeys(_USES, False) | {"key_cert_sign": True, "crl_sign": True}
            builder = builder.add_extension(x509.KeyUsage(**usage), critical=True)
            own = x509.SubjectKeyIdentifier.from_public_key(self._key.public_key())
            builder = builder.add_extension(own, critical=False)
        _write(self.certificate, builder.sign(signer._key, hashes.SHA256()))

    def issue(self, name: str, alt_names: str = "IP:127.0.0.1,DNS:localhost", *, days: int = 1) -> Issued:
        """A certificate signed by this CA; negative days make one that has expired."""
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _builder(name, self._name, key, days=days)
        if not self._bare:
            signer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
            builder = builder.add_extension(signer, critical=False)
        if alt_names:
            names = x509.SubjectAlternativeName(map(_alternative, alt_names.split(",")))
            builder = builder.add_extension(names, critical=False)
        issued = Issued(self._folder / f"{name}.crt", self._folder / f"{name}.key")
        _write(issued.certificate, builder.sign(self._key, hashes.SHA256()))
        pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
        issued.key.write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain))
        return issued


def _builder(
    name: str, issuer: str, key: ec.EllipticCurvePrivateKey, *, days: int
) -> x509.CertificateBuilder:
    end = datetime.now(UTC) + timedelta(days=days)
    subject, signer = (
        x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)]) for text in (name, issuer)
    )
    serial, start = x509.random_serial_number(), end - timedelta(days=abs(days))
    return x509.CertificateBuilder(signer, subject, key.public_key(), serial, start, end)


def _alternative(text: str) -> x509.GeneralName:
    kind, _, value = text.partition(":")
    return x509.DNSName(value) if kind == "DNS" else x509.IPAddress(ip_address(value))


def _write(path: Path, certificate: x509.Certificate) -> None:
    path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
