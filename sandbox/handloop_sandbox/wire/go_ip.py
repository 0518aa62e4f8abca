"""
Go's error messages for strings that are not IP addresses.

Python's ipaddress decides whether a string is valid; this module finds Go's message for an invalid one.
Follows: Go net/netip (ParseAddr).
"""

from __future__ import annotations

import re
from typing import Final

from handloop_sandbox.wire.causes import quoted

_HEX: Final = re.compile("[0-9A-Fa-f]*")
_LONGEST_GROUP: Final = 4
_GROUPS: Final = 8
_OCTETS: Final = 4
_LARGEST_OCTET: Final = 255
_LONGEST_OCTET: Final = 3


class _NoAddressError(ValueError):
    """A string is not an IP address. The message ends with the unparsed rest of the string, if known."""

    def __init__(self, why: str, at: str = "") -> None:
        super().__init__(f"{why} (at {quoted(at)})" if at else why)


def address_problem(text: str) -> str:
    """Return Go's error for a string that ipaddress rejects, such as `ParseAddr("x"): unable to parse IP`."""
    try:
        _parse(text)
    except _NoAddressError as error:
        return f"ParseAddr({quoted(text)}): {error}"
    return f"ParseAddr({quoted(text)}): unable to parse IP"


def _parse(text: str) -> None:
    match next((char for char in text if char in ".:%"), ""):
        case ".":
            _parse_four(text)
        case ":":
            _parse_six(text)
        case "%":
            raise _NoAddressError("missing IPv6 address")


def _parse_four(text: str) -> None:
    fields = text.split(".")
    at = 0
    for index, field in enumerate(fields):
        if bad := re.search("[^0-9]", field):
            raise _NoAddressError("unexpected character", text[at + bad.start() :])
        if not field:
            raise _NoAddressError("IPv4 field must have at least one digit", text[at:] or text[at - 1 :])
        if field != "0" and field.startswith("0"):
            raise _NoAddressError("IPv4 field has octet with leading zero")
        if len(field) > _LONGEST_OCTET or int(field) > _LARGEST_OCTET:
            raise _NoAddressError("IPv4 field has value >255")
        if index == _OCTETS:
            raise _NoAddressError("IPv4 address too long")
        at += len(field) + 1
    if len(fields) < _OCTETS:
        raise _NoAddressError("IPv4 address too short")


def _parse_six(text: str) -> None:
    rest, percent, zone = text.partition("%")
    if percent and not zone:
        raise _NoAddressError("zone must be a non-empty string")
    has_ellipsis = rest.startswith("::")
    rest = rest[2:] if has_ellipsis else rest
    groups = 0
    while groups < _GROUPS and rest:
        length = _group_length(rest)
        if rest[length : length + 1] == ".":
            if not has_ellipsis and groups != _GROUPS - 2:
                raise _NoAddressError(
                    "embedded IPv4 address must replace the final 2 fields of the address", rest
                )
            _parse_four(rest)
            return
        groups += 1
        rest = _after_group(rest[length:])
        if rest.startswith(":"):
            if has_ellipsis:
                raise _NoAddressError("multiple :: in address", rest)
            has_ellipsis, rest = True, rest[1:]
    if rest:
        raise _NoAddressError("trailing garbage after address", rest)
    if groups < _GROUPS and not has_ellipsis:
        raise _NoAddressError("address string too short")
    if groups == _GROUPS and has_ellipsis:
        raise _NoAddressError("the :: must expand to at least one field of zeros")


def _group_length(rest: str) -> int:
    found = _HEX.match(rest)
    length = found.end() if found else 0
    if length > _LONGEST_GROUP:
        raise _NoAddressError("each group must have 4 or less digits", rest)
    if not length:
        raise _NoAddressError("each colon-separated field must have at least one digit", rest)
    return length


def _after_group(rest: str) -> str:
    """Return the rest of an IPv6 address after the colon that ends a group."""
    if rest and not rest.startswith(":"):
        raise _NoAddressError("unexpected character, want colon", rest)
    if rest == ":":
        raise _NoAddressError("colon must be followed by more characters", rest)
    return rest[1:]
