"""
The certificate of a server that was given none. It signs itself, and is made anew long before its end.

No client can check it. Still it keeps the tokens of clients from those who only listen.
The `cryptography` package makes it, and is imported only for that. It belongs to the extra `tls`.

Follows: controller-runtime pkg/metrics/server, which makes one at the start, differs: this one is renewed.
"""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from handloop.seams.clock import Clock
from handloop.seams.locks import new_lock
from handloop.seams.logs import get_logger

log = get_logger("metrics")

LIFETIME: Final = timedelta(days=365)
_SKEW: Final = timedelta(hours=1)
"""A client's clock may be behind."""
_RENEWED: Final = LIFETIME * 2 / 3
_LOOPBACK: Final = ("127.0.0.1", "::1")


class OwnCertificate:
    """
    A certificate that signs itself, made anew once two thirds of its time are over.

    State, under _lock: _context; _made_at, in seconds since the Unix epoch. Threads: any.
    """

    def __init__(self, clock: Clock) -> None:
        """
        Make the first.

        Raises: OSError; ImportError without the cryptography package. Blocks: a tenth of a second.
        """
        self._clock = clock
        self._lock = new_lock("OwnCertificate._lock", 94)
        self._made_at = clock.time()
        self._context = _self_signed(self._made_at)

    def context(self) -> ssl.SSLContext:
        """The context for a new connection."""
        with self._lock:
            now = self._clock.time()
            # also when a clock that was wrong at the start has been set back
            if not -_SKEW.total_seconds() < now - self._made_at < _RENEWED.total_seconds():
                try:
                    self._context, self._made_at = _self_signed(now), now
                except OSError as error:
                    log.error("Could not make a new certificate", err=str(error))  # noqa: TRY400 - no traceback
            return self._context


def _self_signed(now: float) -> ssl.SSLContext:
    certificate, key = _pair(datetime.fromtimestamp(now, UTC))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # the library loads key pairs from files only; the folder is ours alone and gone when this returns
    with TemporaryDirectory(prefix="handloop-") as folder:
        file = Path(folder, "pem")
        file.touch(mode=0o600)
        file.write_bytes(certificate + key)
        context.load_cert_chain(file)
    return context


def _pair(now: datetime) -> tuple[bytes, bytes]:
    """The certificate and its key, as PEM."""
    from cryptography import x509  # noqa: PLC0415 - an extra, and a tenth of a second
    from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415
    from cryptography.x509.oid import ExtendedKeyUsageOID  # noqa: PLC0415

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "metrics")])
    hosts = [x509.DNSName("localhost"), *(x509.IPAddress(ip_address(each)) for each in _LOOPBACK)]
    own = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    certificate = (
        x509.CertificateBuilder(
            name, name, key.public_key(), x509.random_serial_number(), now - _SKEW, now + LIFETIME
        )
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(own, critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(own), critical=False)
        .add_extension(x509.SubjectAlternativeName(hosts), critical=False)
        .sign(key, hashes.SHA256())
    )
    encoding = serialization.Encoding.PEM
    private = key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return certificate.public_bytes(encoding), private
