"""The address on which a server listens, in the form in which people write it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final

MAX_PORT: Final = 65535
LOOPBACK_NAMES: Final = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True, slots=True)
class BindAddress:
    """An address `host:port` to listen on. host "" means every interface; port 0 means a free port."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @property
    def shown(self) -> str:
        """Return the address for messages, with a note if it means all interfaces."""
        return f"{self} (all interfaces)" if self.host in ("", "0.0.0.0", "::") else str(self)  # noqa: S104 - compared

    def served_names(self) -> Collection[str] | None:
        """
        Return the hosts that requests may name, or None for any host.

        On loopback, other hosts are refused, because a web page could make its own host name point to
        loopback. On other addresses, any host is allowed, because clients use different ones: a kubelet uses
        the pod's address, and Prometheus uses that address or a Service.
        """
        return (*LOOPBACK_NAMES, self.host) if is_loopback(self.host) else None


def is_loopback(host: str) -> bool:
    """Return whether an address, or the name localhost, can be reached only from this machine."""
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host == "localhost"
    # An IPv6 socket reports 127.0.0.1 in this form, which Python before 3.13 does not treat as loopback.
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


def parse_bind_address(text: str) -> BindAddress | None:
    """
    Parse `:8080`, `127.0.0.1:8080` or `[::1]:8080`.

    Returns: None for `0`, which turns the server off. Raises: ValueError if the text is not an address.
    """
    if text == "0":
        return None
    host, separator, port = text.rpartition(":")
    if not separator or not port.isdigit() or int(port) > MAX_PORT:
        raise ValueError(f'"{text}" is not an address such as :8080 or 127.0.0.1:8080 (0 turns it off)')
    return BindAddress(host.removeprefix("[").removesuffix("]"), int(port))
