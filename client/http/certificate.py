"""
Reads the details of an X.509 certificate that error messages show.

The standard library parses only verified certificates, so the `cryptography` package parses those that failed
verification. This module makes no decisions about trust.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple


class Certificate(NamedTuple):
    """A certificate's signer, names (DNS names and addresses), and validity (`YYYY-MM-DDTHH:MM:SSZ`)."""

    issuer: str
    names: tuple[str, ...]
    not_before: str
    not_after: str


def parse_certificate(der: bytes) -> Certificate:
    """
    Read a certificate in DER form.

    Raises: ValueError if der is not a certificate, or the cryptography package is missing.
    """
    try:
        from cryptography import x509  # noqa: PLC0415 - an extra that takes 0.1 s
    except ImportError as error:
        raise ValueError("certificates cannot be read: the cryptography package is missing") from error
    try:
        found = x509.load_der_x509_certificate(der)
        alternatives = [
            name
            for extension in found.extensions
            if isinstance(extension.value, x509.SubjectAlternativeName)
            for name in extension.value
        ]
        organization = found.issuer.get_attributes_for_oid(x509.NameOID.ORGANIZATION_NAME)
        return Certificate(
            issuer=_first(found.issuer.get_attributes_for_oid(x509.NameOID.COMMON_NAME))
            or _first(organization),
            names=tuple(
                str(name.value) for name in alternatives if isinstance(name, x509.DNSName | x509.IPAddress)
            ),
            not_before=f"{found.not_valid_before_utc:%Y-%m-%dT%H:%M:%SZ}",
            not_after=f"{found.not_valid_after_utc:%Y-%m-%dT%H:%M:%SZ}",
        )
    except Exception as error:  # the package's errors have no common base class
        raise ValueError("not a certificate") from error


def _first(attributes: Iterable[Any]) -> str:
    return next((str(attribute.value) for attribute in attributes), "")
