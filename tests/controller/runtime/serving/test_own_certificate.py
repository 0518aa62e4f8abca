"""The certificate of a server that was given none."""

from __future__ import annotations

import socket
import ssl
import threading
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID

from handloop.controller.runtime.serving.own_certificate import LIFETIME, OwnCertificate
from handloop.testing.fake_clock import FakeClock
from support.checks.captured_logs import captured_logs


def shown(context: ssl.SSLContext) -> x509.Certificate:
    """The certificate that a server with this context shows."""
    ours, theirs = socket.socketpair()
    serving = threading.Thread(target=lambda: context.wrap_socket(ours, server_side=True).close())
    serving.start()
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    with client.wrap_socket(theirs) as connection:
        found = connection.getpeercert(binary_form=True)
    serving.join()
    assert found is not None
    return x509.load_der_x509_certificate(found)


def test_it_is_for_a_server_on_loopback_and_signs_itself() -> None:
    """TLS 1.2 at least; names, use and identifiers as strict clients want them, who took it for a root."""
    own = OwnCertificate(FakeClock())
    assert own.context().minimum_version == ssl.TLSVersion.TLSv1_2
    made = shown(own.context())
    made.verify_directly_issued_by(made)
    names = made.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["localhost"]
    assert [str(ip) for ip in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1", "::1"]
    usage = made.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usage) == [ExtendedKeyUsageOID.SERVER_AUTH]
    key = made.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value.digest
    issuer = made.extensions.get_extension_for_class(x509.AuthorityKeyIdentifier).value
    assert issuer.key_identifier == key


def test_it_is_made_anew_before_its_end() -> None:
    """For five years each connection has one that lasts a hundred days more, of few in all."""
    clock = FakeClock()
    own, contexts = OwnCertificate(clock), []
    for _ in range(5 * 52):
        clock.advance(timedelta(days=7).total_seconds())
        if (context := own.context()) not in contexts:
            contexts.append(context)
        at, made = datetime.fromtimestamp(clock.time(), UTC), shown(context)
        assert made.not_valid_before_utc <= at <= made.not_valid_after_utc - timedelta(days=100)
    assert len(contexts) <= 5 * timedelta(days=365) / LIFETIME * 1.5 + 1


def test_one_that_cannot_be_made_anew_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server goes on with what it has, and a line says why."""
    clock = FakeClock()
    own = OwnCertificate(clock)
    first = own.context()
    clock.advance(LIFETIME.total_seconds())
    with monkeypatch.context() as full, captured_logs() as logs:
        full.setattr("tempfile.tempdir", "/nowhere")
        assert own.context() is first
    assert [entry["event"] for entry in logs] == ["Could not renew the certificate"]
    assert own.context() is not first
