"""The address that a sandbox listens on, and properties that depend on it."""

from __future__ import annotations

import socket
from collections.abc import Collection
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final

LOOPBACK: Final = "127.0.0.1"
_LOCAL_NAMES: Final = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True, slots=True)
class BindAddress:
    """An IP address to listen on. Raises: ValueError for any other text."""

    text: str = LOOPBACK

    def __post_init__(self) -> None:
        ip_address(self.text)

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can connect."""
        return ip_address(self.text).is_loopback

    @property
    def host(self) -> str:
        """The host in a URL that reaches the address from this machine."""
        address = ip_address(self.text)
        if address.is_unspecified:
            return LOOPBACK
        return f"[{self.text}]" if ":" in self.text else self.text

    def served_names(self) -> Collection[str] | None:
        """
        Return the host names that a request may use, or None for any.

        On loopback, other names are refused, because a web page could make its own name point to 127.0.0.1.
        For other addresses, the names are unknown.
        """
        return ("127.0.0.1", "localhost", "[::1]", self.host) if self.is_loopback else None

    def certified_names(self) -> list[str]:
        """Return the names and addresses that a certificate is for."""
        own = [] if ip_address(self.text).is_unspecified else [self.text]
        further = [] if self.is_loopback else [socket.gethostname()]
        return list(dict.fromkeys((*_LOCAL_NAMES, *own, *further)))
