from __future__ import annotations

import socket
import ssl
import sys
import threading
from pathlib import Path

import pytest
from cryptography import x509

from handloop_sandbox.certificate import Certificate, NoCertificateError, certify


def _greet(made: Certificate, name: str) -> x509.Certificate:
    """Connect as a strict client that trusts nothing else; returns what the server shows."""
    here, there = socket.socketpair()
    client = ssl.create_default_context(cadata=made.authority.decode())
    client.verify_flags |= ssl.VERIFY_X509_STRICT

    def serve() -> None:
        try:
            with made.context.wrap_socket(there, server_side=True) as server:
                server.sendall(b"hello")
        except ssl.SSLError:
            there.close()

    thread = threading.Thread(target=serve, name="tls-server")
    thread.start()
    try:
        with here, client.wrap_socket(here, server_hostname=name) as connection:
            assert connection.recv(5) == b"hello"
            return x509.load_der_x509_certificate(connection.getpeercert(binary_form=True) or b"")
    finally:
        thread.join(20)


@pytest.mark.parametrize("name", ["127.0.0.1", "::1", "localhost"])
def test_a_client_that_trusts_it_reaches_its_server(name: str) -> None:
    """Names and addresses are in it. It is no authority itself: rustls would refuse it."""
    shown = _greet(certify(["127.0.0.1", "::1", "localhost"]), name)
    assert not shown.extensions.get_extension_for_class(x509.BasicConstraints).value.ca


def test_it_is_for_its_names_only() -> None:
    """Another host is refused by every client."""
    with pytest.raises(ssl.SSLCertVerificationError):
        _greet(certify(["127.0.0.1"]), "example.com")


def test_two_are_different_and_the_key_is_nowhere() -> None:
    """Each sandbox has its own; the PEM that is handed out holds no key, nor does the repr."""
    first, second = certify(["localhost"]), certify(["localhost"])
    assert first.authority != second.authority
    assert b"PRIVATE" not in first.authority
    assert "context" not in repr(first)


def test_nothing_is_left_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder with the key is gone before a client gets the certificate."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    certify(["localhost"])
    assert list(tmp_path.iterdir()) == []


def test_without_its_package_it_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """The package that is missing is named."""
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(NoCertificateError, match="needs the cryptography package"):
        certify(["localhost"])


def test_no_program_is_started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It works where no openssl program is installed."""
    monkeypatch.setenv("PATH", str(tmp_path))
    assert certify(["localhost"]).authority.startswith(b"-----BEGIN CERTIFICATE-----")
