"""
The certificate of one sandbox: signs itself, lasts a day, and is the only thing its kubeconfig trusts.

The openssl program makes it: the standard library cannot, and TLS on request is no reason for everybody to
install a cryptography package. The key never outlives the call on disk.
"""

from __future__ import annotations

import ssl
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

_DAYS: Final = "1"
_SECONDS: Final = 30
_CONFIGURATION: Final = """\
[req]
prompt = no
distinguished_name = name
x509_extensions = extensions
[name]
CN = sandbox
[extensions]
basicConstraints = critical, CA:TRUE, pathlen:0
keyUsage = critical, digitalSignature, keyCertSign
extendedKeyUsage = serverAuth
subjectKeyIdentifier = hash
subjectAltName = {names}
"""


class NoCertificateError(OSError):
    """The openssl program is missing or does not do what it is asked to."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate as PEM, and what a server needs to show it."""

    pem: bytes
    context: ssl.SSLContext = field(repr=False)


def self_signed(hosts: Sequence[str]) -> Certificate:
    """
    A certificate for some names and addresses.

    Raises: NoCertificateError. Blocks: some ten milliseconds.
    """
    with TemporaryDirectory(prefix="sandbox-tls-") as folder:
        configuration, certificate, key = (Path(folder) / name for name in ("cnf", "crt", "key"))
        names = ", ".join(_alternative_name(host) for host in hosts)
        configuration.write_text(_CONFIGURATION.format(names=names), encoding="utf-8")
        files = ("-config", str(configuration), "-keyout", str(key), "-out", str(certificate))
        curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
        _openssl("req", "-x509", *curve, *files, "-days", _DAYS)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        return Certificate(certificate.read_bytes(), context)


def _alternative_name(host: str) -> str:
    try:
        return f"IP:{ip_address(host)}"
    except ValueError:
        return f"DNS:{host}"


def _openssl(*arguments: str) -> None:
    try:
        subprocess.run(  # noqa: S603 - nothing of a request is in it
            ["openssl", *arguments],  # noqa: S607 - the one in PATH
            check=True,
            capture_output=True,
            timeout=_SECONDS,
            stdin=subprocess.DEVNULL,
        )
    except FileNotFoundError as error:
        raise NoCertificateError("TLS needs the openssl program, which is not in PATH") from error
    except subprocess.SubprocessError as error:
        raise NoCertificateError(f"openssl made no certificate: {error}") from error
