"""
The string formats that a CRD's schema can name. An unknown format accepts any text.

Follows: kube-openapi pkg/validation/strfmt.
"""

from __future__ import annotations

import base64
import binascii
import ipaddress
import re
from collections.abc import Callable, Iterator
from datetime import date
from string import digits
from typing import Final

from handloop_sandbox.grammar.duration import DurationError, parse_duration
from handloop_sandbox.kinds import structure
from handloop_sandbox.wire import go_regexp, go_time
from handloop_sandbox.wire.go_url import parse_request_url
from handloop_sandbox.wire.resource import Schema

_UUID: Final = re.compile(r"(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}")
_VERSIONED_UUID: Final = r"(?i)[0-9a-f]{{8}}-?[0-9a-f]{{4}}-?{0}[0-9a-f]{{3}}-?[0-9a-f]{{4}}-?[0-9a-f]{{12}}"
_DURATION_PART: Final = r"\d+\s*[A-Za-z\x{b5}]+"
_DURATION_UNIT: Final = re.compile(
    "nano|micro|milli|sec|min|hour|day|week|(?:ns|us|\u00b5s|ms|s|m|h|hr|d|w|wk)$", re.IGNORECASE
)
_INT64_DIGITS: Final = 19
_EMAIL: Final = re.compile(r"[^@\s]+@[^@\s]+")
_SIGN: Final = r"a-zA-Z0-9\pS\pL"
_LABEL: Final = rf"[{_SIGN}]([-{_SIGN}]{{0,61}}[{_SIGN}])?"
_HOSTNAME: Final = rf"^([{_SIGN}](-?[{_SIGN}]{{0,62}})?|({_LABEL}\.)+[a-zA-Z\pL]{{2,63}})$"
"""A name without dots can have a dash only as its second character. The last label contains no digits."""
_LONGEST_NAME: Final = 255
_LONGEST_LABEL: Final = 63
_MAC: Final = re.compile(r"([0-9A-Fa-f]{2}[:-]){5,7}[0-9A-Fa-f]{2}")
_HEX_COLOR: Final = re.compile(r"#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})")
_ISBN10: Final = re.compile(r"(\d[- ]?){9}[\dXx]")
_ISBN13: Final = re.compile(r"(\d[- ]?){13}")
_SSN: Final = re.compile(r"\d{3}[- ]?\d{2}[- ]?\d{4}")
_CARD: Final = re.compile(r"(\d[- ]?){13,16}")
_RGB: Final = re.compile(r"rgb\(\s*\d{1,3}\s*,\s*\d{1,3}\s*,\s*\d{1,3}\s*\)")


def matches(format_: str, value: str) -> bool:
    """Return whether a text matches a format."""
    check = _FORMATS.get(format_.replace("-", ""))
    return check is None or check(value)


def is_known(format_: str) -> bool:
    """Return whether the API server knows a format."""
    return format_.replace("-", "") in _KNOWN


def unknown(schema: Schema) -> Iterator[str]:
    """
    Yield the string formats in a schema that the API server does not know.

    Subschemas without a type are included.
    """
    name = schema.get("format") if structure.type_of(schema) in ("", "string") else None
    if name and not is_known(name):
        yield name
    inner = [*structure.properties(schema).values(), structure.items_of(schema), structure.value_of(schema)]
    for junctor in ("allOf", "anyOf", "oneOf"):
        inner += schema.get(junctor) or ()
    for entry in (*inner, schema.get("not")):
        if entry:
            yield from unknown(entry)


def _parses(parse: Callable[[str], object]) -> Callable[[str], bool]:
    def check(value: str) -> bool:
        try:
            parse(value)
        except (ValueError, binascii.Error):
            return False
        return True

    return check


def _fullmatch(pattern: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda value: pattern.fullmatch(value) is not None


def _is_duration(value: str) -> bool:
    """Return whether a text is a Go duration, or contains an integer with a unit such as `days`."""
    try:
        parse_duration(value)
    except DurationError:
        parts = list(go_regexp.find_all(_DURATION_PART, value))
        is_small = all(len(part) - len(part.lstrip(digits)) <= _INT64_DIGITS for part in parts)
        return is_small and any(_DURATION_UNIT.match(part.lstrip(digits).strip()) for part in parts)
    return True


def _hostname(value: str) -> bool:
    labels = value.encode().split(b".")
    is_short = sum(map(len, labels)) + len(labels) - 1 <= _LONGEST_NAME
    return is_short and max(map(len, labels)) <= _LONGEST_LABEL and go_regexp.matches(_HOSTNAME, value)


def _cidr(value: str) -> object:
    if "/" not in value:
        raise ValueError(value)
    return ipaddress.ip_interface(value)


_FORMATS: Final[dict[str, Callable[[str], bool]]] = {
    "datetime": _parses(go_time.parse),
    "date": _parses(date.fromisoformat),
    "duration": _is_duration,
    "byte": _parses(lambda value: base64.b64decode(value, validate=True)),
    "ipv4": _parses(ipaddress.IPv4Address),
    "ipv6": _parses(ipaddress.IPv6Address),
    "cidr": _parses(_cidr),
    "mac": _fullmatch(_MAC),
    "email": _fullmatch(_EMAIL),
    "hostname": _hostname,
    "uri": _parses(parse_request_url),
    "uuid": _fullmatch(_UUID),
    "uuid3": _fullmatch(re.compile(_VERSIONED_UUID.format("3"))),
    "uuid4": _fullmatch(re.compile(_VERSIONED_UUID.format("4"))),
    "uuid5": _fullmatch(re.compile(_VERSIONED_UUID.format("5"))),
    "isbn": lambda value: bool(_ISBN10.fullmatch(value) or _ISBN13.fullmatch(value)),
    "isbn10": _fullmatch(_ISBN10),
    "isbn13": _fullmatch(_ISBN13),
    "creditcard": _fullmatch(_CARD),
    "ssn": _fullmatch(_SSN),
    "hexcolor": _fullmatch(_HEX_COLOR),
    "rgbcolor": _fullmatch(_RGB),
}
_KNOWN: Final = frozenset((*_FORMATS, "bsonobjectid", "k8slongname", "k8sshortname", "password"))
