"""
URLs, IP addresses and networks in expressions.

Follows: apiserver 0.36 pkg/cel/library/urls.go, ip.go, cidr.go; Go net/url and net/netip.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Final
from urllib.parse import parse_qsl, quote

from handloop_sandbox.cel.values import CelError
from handloop_sandbox.wire.causes import quoted
from handloop_sandbox.wire.go_ip import address_problem
from handloop_sandbox.wire.go_url import GoUrl, parse_request_url

_ALL_ONES: Final = ipaddress.IPv4Address("255.255.255.255")
_MULTICAST: Final = ipaddress.ip_network("224.0.0.0/24")
_LOCAL: Final = 2


@dataclass(frozen=True, slots=True)
class Address:
    """An IP address: `ip(text)`."""

    cel_type: ClassVar = "net.IP"
    value: ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True, slots=True)
class Network:
    """An IP address with its prefix length, as `cidr(text)` returns."""

    cel_type: ClassVar = "net.CIDR"
    value: ipaddress.IPv4Interface | ipaddress.IPv6Interface

    def contains(self, other: Address | Network) -> bool:
        """Return whether this network contains an address, or every address of another network."""
        inner = other.value.network if isinstance(other, Network) else ipaddress.ip_network(other.value)
        outer: Any = self.value.network
        return outer.version == inner.version and bool(inner.subnet_of(outer))


def url(text: str) -> GoUrl:
    """Parse an absolute URL or a path. Raises: CelError if the text is neither."""
    try:
        return parse_request_url(text)
    except ValueError as error:
        told = f"URL parse error during conversion from string: parse {quoted(text)}: {error}"
        raise CelError(told) from error


def _query(found: GoUrl) -> dict[str, list[str]]:
    values: dict[str, list[str]] = {}
    for key, value in parse_qsl(found.query, keep_blank_values=True):
        values.setdefault(key, []).append(value)
    return values


def address(text: str) -> Address:
    """Parse an IP address. Raises: CelError if it is invalid, has a zone, or is IPv4-mapped."""
    try:
        value = ipaddress.ip_address(text)
    except ValueError as error:
        told = f"IP Address {quoted(text)} parse error during conversion from string: {address_problem(text)}"
        raise CelError(told) from error
    if "%" in text:
        raise CelError(f"IP address {quoted(text)} with zone value is not allowed")
    if getattr(value, "ipv4_mapped", None) is not None:
        raise CelError(f"IPv4-mapped IPv6 address {quoted(text)} is not allowed")
    return Address(value)


def network(text: str) -> Network:
    """Parse a network in CIDR notation. Raises: CelError if the text is invalid."""
    told = "network address parse error during conversion from string: "
    if why := _why_no_network(text):
        raise CelError(f"{told}{told}netip.ParsePrefix({quoted(text)}): {why}")
    found = ipaddress.ip_interface(text)
    if getattr(found, "ipv4_mapped", None) is not None:
        raise CelError(f"{told}IPv4-mapped IPv6 address {quoted(text)} is not allowed")
    return Network(found)


def _why_no_network(text: str) -> str:
    host, slash, length = text.rpartition("/")
    if not slash:
        return "no '/'"
    try:
        longest = ipaddress.ip_address(host).max_prefixlen
    except ValueError:
        return address_problem(host)
    if "%" in host:
        return "IPv6 zones cannot be present in a prefix"
    if not re.fullmatch("0|[1-9][0-9]{0,17}", length):
        return f"bad bits after slash: {quoted(length)}"
    return "prefix length out of range" if int(length) > longest else ""


def _is_link_local_multicast(found: Address) -> bool:
    if isinstance(found.value, ipaddress.IPv4Address):
        return found.value in _MULTICAST
    return found.value.is_multicast and found.value.packed[1] & 0x0F == _LOCAL


def _is_global_unicast(found: Address) -> bool:
    value = found.value
    is_special = value.is_unspecified or value.is_loopback or value.is_multicast or value.is_link_local
    return not is_special and value != _ALL_ONES


def _within(parse: Callable[[str], Any]) -> Callable[[Network, Any], bool]:
    def check(outer: Network, inner: Any) -> bool:
        try:
            return outer.contains(parse(inner) if isinstance(inner, str) else inner)
        except CelError as error:
            raise CelError("no such overload") from error

    return check


def parses(parse: Callable[[str], Any]) -> Callable[..., bool]:
    """Return a function that checks whether parse accepts a string."""

    def check(*args: Any) -> bool:
        try:
            parse(*args)
        except (ValueError, CelError):
            return False
        return True

    return check


FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "url": url,
    "isURL": parses(url),
    "ip": address,
    "isIP": parses(address),
    "ip.isCanonical": lambda text: str(address(text).value) == text,
    "cidr": network,
    "isCIDR": parses(network),
}
METHODS: Final[dict[str, Callable[..., Any]]] = {
    "getScheme": lambda found: found.scheme,
    "getHost": lambda found: found.host,
    "getHostname": lambda found: found.hostname,
    "getPort": lambda found: found.port,
    "getEscapedPath": lambda found: quote(found.path, safe="/%!$&'()*+,;:=@"),
    "getQuery": _query,
    "family": lambda found: found.value.version,
    "isUnspecified": lambda found: found.value.is_unspecified,
    "isLoopback": lambda found: found.value.is_loopback,
    "isLinkLocalMulticast": _is_link_local_multicast,
    "isLinkLocalUnicast": lambda found: found.value.is_link_local,
    "isGlobalUnicast": _is_global_unicast,
    "ip": lambda found: Address(found.value.ip),
    "prefixLength": lambda found: found.value.network.prefixlen,
    "masked": lambda found: Network(ipaddress.ip_interface(found.value.network)),
    "containsIP": _within(address),
    "containsCIDR": _within(network),
}
