"""
Request URLs as Go parses them: absolute URLs or paths. A `#` does not start a fragment.

Follows: Go 1.26 net/url (ParseRequestURI).
"""

from __future__ import annotations

import ipaddress
import re
from typing import Final, NamedTuple

from handloop_sandbox.wire.causes import quoted
from handloop_sandbox.wire.go_ip import address_problem

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_USER: Final = re.compile(r"[A-Za-z0-9._:~!$&'()*+,;=%@-]*")
_PORT: Final = re.compile(r"(:[0-9]*)?")
_NO_HOST_CHARACTER: Final = re.compile(r"[^A-Za-z0-9._~!$&'()*+,;=:\[\]<>\"%\x80-\U0010ffff-]")
_ESCAPE: Final = re.compile(r"%([0-9A-Fa-f]{2})?")
_ASCII_END: Final = 0x80


class GoUrl(NamedTuple):
    """
    The parts of a URL.

    host includes the port but not the user. For a URL such as `mailto:user`, host and path are empty.
    """

    scheme: str
    host: str
    path: str
    query: str

    @property
    def port(self) -> str:
        """The digits of the port, or "" if the URL has no port."""
        return self.host.rpartition(":")[2] if re.search(r":[0-9]*$", self.host) else ""

    @property
    def hostname(self) -> str:
        """The host without its port and brackets."""
        return re.sub(r":[0-9]*$", "", self.host).strip("[]")


def parse_request_url(text: str) -> GoUrl:
    """Parse a URL. Raises: ValueError with Go's message, without the function's name."""
    if _CONTROL.search(text):
        raise ValueError("net/url: invalid control character in URL")
    if not text:
        raise ValueError("empty url")
    if text == "*":
        return GoUrl("", "", text, "")
    if text.startswith(":"):
        raise ValueError("missing protocol scheme")
    found = _SCHEME.match(text)
    scheme = found[1].lower() if found else ""
    rest, _, query = text[found.end() if found else 0 :].partition("?")
    if not rest.startswith("/"):
        if not found:
            raise ValueError("invalid URI for request")
        return GoUrl(scheme, "", "", query)
    host = ""
    if found and rest.startswith("//"):
        authority, slash, path = rest[2:].partition("/")
        rest, host = slash + path, _host_of(scheme, authority)
    _check_escapes(rest)
    return GoUrl(scheme, host, rest, query)


def _host_of(scheme: str, authority: str) -> str:
    user, at, host = authority.rpartition("@")
    checked = _checked_host(scheme, host)
    if at and not _USER.fullmatch(user):
        raise ValueError("net/url: invalid userinfo")
    _check_escapes(user)
    return checked


def _checked_host(scheme: str, host: str) -> str:
    if host.rfind("[") > 0:
        raise ValueError("invalid IP-literal")
    if host.startswith("["):
        return _checked_literal(host)
    # Go accepts a list of hosts with ports, but not for http and https.
    first, last = host.find(":"), host.rfind(":")
    if first >= 0:
        _check_port(host[first if scheme in {"http", "https"} else last :])
    _check_host_characters(host)
    return host


def _checked_literal(host: str) -> str:
    """Return a host in brackets after checking it. Its address can have a zone after `%25`."""
    name, bracket, port = host[1:].rpartition("]")
    if not bracket:
        raise ValueError("missing ']' in host")
    _check_port(port)
    bare, zone, _ = name.partition("%25")
    _check_host_characters(bare)
    try:
        address = ipaddress.ip_address(bare)
    except ValueError as error:
        raise ValueError(f"invalid host: {address_problem(name)}") from error
    if address.version == 4:  # noqa: PLR2004  # the version of the protocol
        raise ValueError("invalid IP-literal")
    return host.replace("%25", "%", 1) if zone else host


def _check_port(text: str) -> None:
    if not _PORT.fullmatch(text):
        raise ValueError(f"invalid port {quoted(text)} after host")


def _check_host_characters(host: str) -> None:
    if bad := _NO_HOST_CHARACTER.search(host):
        raise ValueError(f"invalid character {quoted(bad[0])} in host name")
    for escape in _check_escapes(host):
        if int(escape[1:], 16) < _ASCII_END and escape != "%25":
            raise ValueError(f"invalid URL escape {quoted(escape)}")


def _check_escapes(text: str) -> list[str]:
    """Return the percent escapes in a string. Raises: ValueError if one is invalid."""
    found = list(_ESCAPE.finditer(text))
    for each in found:
        if each[1] is None:
            raise ValueError(f"invalid URL escape {quoted(text[each.start() : each.start() + 3])}")
    return [each[0] for each in found]
