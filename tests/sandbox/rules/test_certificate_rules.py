from __future__ import annotations

import base64

import pytest

from handloop.sandbox.rules.certificate_rules import signing_request as causes_of
from support.signing_request import signing_request

_PEM = signing_request()
_BODY = base64.b64decode(b"".join(_PEM.splitlines()[1:-1]))


def _pem(content: bytes) -> bytes:
    begin, *_, end = _PEM.splitlines()
    return b"\n".join([begin, base64.b64encode(content), end])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (_PEM, ""),
        (b"subject: robot\n" + _PEM + b"more", ""),
        (_PEM.replace(b"-----END", b"-----AND"), "PEM block type must be CERTIFICATE REQUEST"),
        (b"-----BEGIN CERT", "PEM block type must be CERTIFICATE REQUEST"),
        (_PEM.replace(b"\nM", b"\n!"), "PEM block type must be CERTIFICATE REQUEST"),
        (_pem(_BODY[:-1]), "asn1: structure error"),
        (_pem(_BODY + b"\0\0"), "asn1: structure error"),
        (_pem(b"\x30\x00"), "asn1: structure error"),
        (_pem(b"\x30\x09\x30\x03\x02\x01\x00\x30\x00\x03\x00"), "asn1: structure error"),
    ],
)
def test_a_request_is_pkcs_10_in_pem(text: bytes, problem: str) -> None:
    """The first block counts, whatever stands around it."""
    given = base64.b64encode(text).decode()
    spec = {"request": given, "signerName": "example.com/robots", "usages": ["any"]}
    found = [cause.message for cause in causes_of({"spec": spec}, None, "")]
    assert found == ([f'Invalid value: "{given}": {problem}'] if problem else [])


def test_many_broken_blocks_take_no_time() -> None:
    """3 MiB of beginnings are read once, not once for each of them."""
    text = base64.b64encode(b"-----BEGIN CERTIFICATE REQUEST-----\n" * 65_000).decode()
    (cause,) = causes_of(
        {"spec": {"request": text, "signerName": "example.com/robots", "usages": ["any"]}}, None, ""
    )
    assert cause.field == "spec.request"
