from __future__ import annotations

import ssl
import sys
from pathlib import Path

import pytest

from handloop.client.http.certificate import Certificate, parse_certificate
from support.servers.certificates import CertificateAuthority, Issued


def parsed(issued: Issued) -> Certificate:
    return parse_certificate(ssl.PEM_cert_to_DER_cert(issued.certificate.read_text()))


def test_names_issuer_and_dates(tmp_path: Path) -> None:
    """What a message about a certificate needs can be read from it."""
    authority = CertificateAuthority(tmp_path, "kubernetes")
    found = parsed(authority.issue("apiserver", "DNS:a.example,IP:10.0.0.1,IP:::1,DNS:*.b.example"))
    assert found.issuer == "kubernetes"
    assert found.names == ("a.example", "10.0.0.1", "::1", "*.b.example")
    assert found.not_before < found.not_after
    assert found.not_after.startswith("20")
    assert len(found.not_after) == len("2026-01-01T00:00:00Z")


def test_a_certificate_without_names(tmp_path: Path) -> None:
    """A certificate without a subject has no names."""
    assert parsed(CertificateAuthority(tmp_path).issue("plain", "")).names == ()


def test_agrees_with_the_standard_library(tmp_path: Path) -> None:
    """The dates and names are those that the standard library shows for a trusted certificate."""
    authority = CertificateAuthority(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(authority.certificate)
    (shown,) = context.get_ca_certs()
    found = parse_certificate(context.get_ca_certs(binary_form=True)[0])
    not_after = str(shown["notAfter"])
    assert ssl.cert_time_to_seconds(not_after) == _seconds(found.not_after)
    assert f"(('commonName', '{found.issuer}'),)" in str(shown["issuer"])


def _seconds(text: str) -> int:
    months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    date, clock = text.rstrip("Z").split("T")
    year, month, day = date.split("-")
    return ssl.cert_time_to_seconds(f"{months[int(month) - 1]} {int(day):2d} {clock} {year} GMT")


def test_anything_else_is_not_a_certificate(tmp_path: Path) -> None:
    """Whatever a server shows, reading it raises nothing but ValueError."""
    der = ssl.PEM_cert_to_DER_cert(CertificateAuthority(tmp_path).certificate.read_text())
    for broken in (b"", b"\x30", b"garbage", der[:50], der[: len(der) // 2], b"\x30\x82\xff\xff" + der):
        with pytest.raises(ValueError, match="not a certificate"):
            parse_certificate(broken)


def test_without_the_package_no_certificate_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cryptography package is an extra; without it messages about certificates do without their facts."""
    issued = CertificateAuthority(tmp_path).issue("apiserver")
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(ValueError, match="the cryptography package is missing"):
        parsed(issued)
