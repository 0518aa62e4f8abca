"""Certificates for tests, made by the openssl program."""

from __future__ import annotations

import ssl
import subprocess
from pathlib import Path


def _openssl(*arguments: str) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True, timeout=60)


_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


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
    """A CA of its own in a folder."""

    def __init__(self, folder: Path, name: str = "handloop-test-ca") -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.certificate = folder / "ca.crt"
        self._key = folder / "ca.key"
        files = ("-keyout", str(self._key), "-out", str(self.certificate))
        _openssl("req", "-x509", *_KEY, *files, "-subj", f"/CN={name}", "-days", "2")

    def issue(self, name: str, alt_names: str = "IP:127.0.0.1,DNS:localhost", *, days: int = 1) -> Issued:
        """A certificate signed by this CA; negative days make one that has expired."""
        key, request, certificate = (self._folder / f"{name}.{end}" for end in ("key", "csr", "crt"))
        extension = ("-addext", f"subjectAltName={alt_names}") if alt_names else ()
        files = ("-keyout", str(key), "-out", str(request))
        _openssl("req", *_KEY, *files, "-subj", f"/CN={name}", *extension)
        signer = ("-CA", str(self.certificate), "-CAkey", str(self._key), "-copy_extensions", "copy")
        _openssl("x509", "-req", "-in", str(request), *signer, "-days", str(days), "-out", str(certificate))
        return Issued(certificate, key)
