"""
The few facts of an X.509 certificate that a message about it needs.

The standard library shows a certificate only after it has been verified, so the one that was refused has
to be read by hand. Nothing here decides about trust.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from typing import Final, NamedTuple

_SEQUENCE: Final = 0x30
_EXTENSIONS: Final = 0xA3
_VERSION: Final = 0xA0
_UTC_TIME: Final = 0x17
_COMMON_NAME: Final = bytes.fromhex("550403")
_ORGANIZATION: Final = bytes.fromhex("55040a")
_SUBJECT_ALT_NAME: Final = bytes.fromhex("551d11")
_DNS_NAME: Final = 0x82
_IP_ADDRESS: Final = 0x87


class Certificate(NamedTuple):
    """Who it is for (DNS names and addresses), who signed it, and when it holds (`YYYY-MM-DDTHH:MM:SSZ`)."""

    subject: str
    issuer: str
    names: tuple[str, ...]
    not_before: str
    not_after: str


class _Item(NamedTuple):
    tag: int
    value: bytes


def parse_certificate(der: bytes) -> Certificate:
    """
    Read a certificate in DER.

    Raises: ValueError when it is not one.
    """
    try:
        (outer,) = _items(der)
        body = list(_items(next(_items(outer.value)).value))
        if body[0].tag == _VERSION:
            del body[0]
        _, _, issuer, validity, subject = body[:5]
        not_before, not_after = _items(validity.value)
        return Certificate(
            subject=_name(subject.value),
            issuer=_name(issuer.value),
            names=_alt_names(body[5:]),
            not_before=_time(not_before),
            not_after=_time(not_after),
        )
    except (IndexError, StopIteration, RuntimeError, ValueError) as error:
        raise ValueError("not a certificate") from error


def _items(data: bytes) -> Iterator[_Item]:
    position = 0
    while position < len(data):
        tag, length, position = data[position], data[position + 1], position + 2
        if length & 0x80:
            count = length & 0x7F
            length = int.from_bytes(data[position : position + count], "big")
            position += count
        if position + length > len(data):
            raise ValueError("not a certificate")
        yield _Item(tag, data[position : position + length])
        position += length


def _name(value: bytes) -> str:
    found: dict[bytes, str] = {}
    for relative in _items(value):
        for attribute in _items(relative.value):
            kind, text = _items(attribute.value)
            found.setdefault(kind.value, text.value.decode())
    return found.get(_COMMON_NAME) or found.get(_ORGANIZATION) or ""


def _alt_names(rest: list[_Item]) -> tuple[str, ...]:
    for item in rest:
        if item.tag == _EXTENSIONS:
            for extension in _items(next(_items(item.value)).value):
                oid, *_, content = _items(extension.value)
                if oid.value == _SUBJECT_ALT_NAME:
                    return tuple(_general_names(next(_items(content.value)).value))
    return ()


def _general_names(value: bytes) -> Iterator[str]:
    for item in _items(value):
        if item.tag == _DNS_NAME:
            yield item.value.decode("ascii")
        elif item.tag == _IP_ADDRESS:
            yield str(ipaddress.ip_address(item.value))


def _time(item: _Item) -> str:
    text = item.value.decode("ascii")
    if item.tag == _UTC_TIME:
        # RFC 5280: two-digit years below 50 are of this century
        text = ("20" if text < "50" else "19") + text
    return f"{text[0:4]}-{text[4:6]}-{text[6:8]}T{text[8:10]}:{text[10:12]}:{text[12:14]}Z"
