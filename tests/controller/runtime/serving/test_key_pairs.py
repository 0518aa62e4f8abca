"""Certificates and keys, made and read."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from datetime import timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.x509.oid import ExtendedKeyUsageOID
from prometheus_client import CollectorRegistry

from handloop.controller.runtime.serving.certificate_watcher import CertificateMetrics, CertificateWatcher
from handloop.controller.runtime.serving.key_pairs import SKEW, KeyPair, certificates_in, new_pair
from handloop.testing.fake_clock import FakeClock

NOW = 1_700_000_000.0
DAY = timedelta(days=1)


def certificate(pair: KeyPair) -> x509.Certificate:
    """The one of a pair."""
    (found,) = certificates_in(pair.certificate)
    assert isinstance(found, x509.Certificate)
    return found


def test_an_authority_signs_servers_and_nothing_else() -> None:
    """As strict clients want it: uses, identifiers, and no authority below it."""
    above = new_pair("authority", NOW, DAY)
    authority = certificate(above)
    basic = authority.extensions.get_extension_for_class(x509.BasicConstraints)
    assert (basic.critical, basic.value.ca, basic.value.path_length) == (True, True, 0)
    usage = authority.extensions.get_extension_for_class(x509.KeyUsage).value
    assert (usage.key_cert_sign, usage.digital_signature, usage.key_encipherment) == (True, True, False)
    server = certificate(new_pair("webhook", NOW, DAY, hosts=("a.b.svc", "127.0.0.1", "::1"), issuer=above))
    server.verify_directly_issued_by(authority)
    assert not server.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert list(server.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value) == [
        ExtendedKeyUsageOID.SERVER_AUTH
    ]
    names = server.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["a.b.svc"]
    assert names.get_values_for_type(x509.IPAddress) == [ip_address("127.0.0.1"), ip_address("::1")]
    own = authority.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value.digest
    issuer = server.extensions.get_extension_for_class(x509.AuthorityKeyIdentifier).value
    assert issuer.key_identifier == own


def test_a_clock_may_be_off_by_a_day() -> None:
    """Either way, on top of the lifetime."""
    made = certificate(new_pair("webhook", NOW, DAY, hosts=("a",)))
    assert made.not_valid_before_utc.timestamp() == NOW - SKEW.total_seconds()
    assert made.not_valid_after_utc.timestamp() == NOW + (DAY + SKEW).total_seconds()
    assert timedelta(days=1) < SKEW


def test_no_two_are_alike() -> None:
    """Nor are their keys and numbers."""
    first, second = new_pair("a", NOW, DAY), new_pair("a", NOW, DAY)
    assert first.key != second.key
    assert certificate(first).serial_number != certificate(second).serial_number


def test_a_server_with_it_is_trusted_by_who_trusts_the_authority() -> None:
    """From TLS 1.2 on, under its hosts' names."""
    above = new_pair("authority", time.time(), DAY)
    context = new_pair("webhook", time.time(), DAY, hosts=("127.0.0.1",), issuer=above).context()
    assert context.minimum_version == ssl.TLSVersion.TLSv1_2
    client = ssl.create_default_context(cadata=above.certificate.decode())
    for host, trusted in (("127.0.0.1", True), ("127.0.0.2", False)):
        ours, theirs = socket.socketpair()
        with ours, theirs:
            served = context.wrap_socket(ours, server_side=True, do_handshake_on_connect=False)
            serving = threading.Thread(target=_shake, args=(served,))
            serving.start()
            try:
                with client.wrap_socket(theirs, server_hostname=host):
                    assert trusted
            except ssl.SSLCertVerificationError:
                assert not trusted
            serving.join()


def _shake(connection: ssl.SSLSocket) -> None:
    with connection:
        try:
            connection.do_handshake()
        except ssl.SSLError:
            return


@pytest.mark.parametrize("pair", [KeyPair(b"", b""), KeyPair(b"x", b"y")])
def test_a_pair_that_is_none_makes_no_context(pair: KeyPair) -> None:
    """Nor does one whose key is another's."""
    with pytest.raises(OSError, match=r"PEM|SSL"):
        pair.context()
    mixed = KeyPair(new_pair("a", NOW, DAY).certificate, new_pair("b", NOW, DAY).key)
    with pytest.raises(ssl.SSLError, match="mismatch"):
        mixed.context()


def test_an_encrypted_key_is_an_error(tmp_path: Path) -> None:
    """OpenSSL would ask for its password on the terminal, and a server would answer nobody meanwhile."""
    pair = new_pair("a", NOW, DAY)
    encryption = serialization.BestAvailableEncryption(b"password")
    encrypted = serialization.load_pem_private_key(pair.key, None).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption
    )
    with pytest.raises(OSError, match="the key is encrypted with a password"):
        KeyPair(pair.certificate, encrypted).context()
    (tmp_path / "tls.crt").write_bytes(pair.certificate)
    (tmp_path / "tls.key").write_bytes(encrypted)
    with pytest.raises(OSError, match="the key is encrypted with a password"):
        CertificateWatcher(tmp_path, CertificateMetrics(CollectorRegistry()), FakeClock())


def test_an_issuer_that_does_not_load_is_an_error() -> None:
    """Whoever asks for its signature learns it."""
    with pytest.raises(ValueError, match=r"PEM|deserialize"):
        new_pair("a", NOW, DAY, hosts=("a",), issuer=KeyPair(b"x", b"y"))


def test_what_is_no_certificate_is_left_out() -> None:
    """Between those that are, in their order."""
    first, second = (new_pair(name, NOW, DAY).certificate for name in ("a", "b"))
    broken = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
    found = certificates_in(b"words\n" + first + broken + b"\0\xff" + second + broken[:30])
    assert [each.subject.rfc4514_string() for each in found] == ["CN=a", "CN=b"]
    assert certificates_in(b"") == certificates_in(b"\xff") == []
