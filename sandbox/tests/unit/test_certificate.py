from __future__ import annotations

import socket
import ssl
import sys
import threading
from pathlib import Path

import pytest

from handloop_sandbox.certificate import Certificate, NoCertificateError, self_signed


def _greet(made: Certificate, name: str) -> str:
    """Connect as a client that trusts nothing else; returns the server's answer."""
    here, there = socket.socketpair()
    client = ssl.create_default_context(cadata=made.pem.decode())

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
            return connection.recv(5).decode()
    finally:
        thread.join(20)


@pytest.mark.parametrize("name", ["127.0.0.1", "::1", "localhost"])
def test_a_client_that_trusts_it_reaches_its_server(name: str) -> None:
    """Names and addresses are in it; no other authority is needed."""
    assert _greet(self_signed(["127.0.0.1", "::1", "localhost"]), name) == "hello"


def test_it_is_for_its_names_only() -> None:
    """Another host is refused by every client."""
    with pytest.raises(ssl.SSLCertVerificationError):
        _greet(self_signed(["127.0.0.1"]), "example.com")


def test_two_are_different_and_the_key_is_nowhere() -> None:
    """Each sandbox has its own; the PEM that is handed out holds no key, nor does the repr."""
    first, second = self_signed(["localhost"]), self_signed(["localhost"])
    assert first.pem != second.pem
    assert b"PRIVATE" not in first.pem
    assert "context" not in repr(first)


def test_nothing_is_left_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder with the key is gone before a client gets the certificate."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    self_signed(["localhost"])
    assert list(tmp_path.iterdir()) == []


def test_without_its_package_it_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """The package that is missing is named."""
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(NoCertificateError, match="needs the cryptography package"):
        self_signed(["localhost"])


def test_no_program_is_started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It works where no openssl program is installed."""
    monkeypatch.setenv("PATH", str(tmp_path))
    assert self_signed(["localhost"]).pem.startswith(b"-----BEGIN CERTIFICATE-----")
