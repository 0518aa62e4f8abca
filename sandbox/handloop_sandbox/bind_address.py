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
    """An IP address to listen on. Raises: ValueError if the text is not an IP address."""

    text: str = LOOPBACK

    def __post_init__(self) -> None:
        ip_address(self.text)

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can connect."""
        return ip_address(self.text).is_loopback

    @property
    def host(self) -> str:
        """The host to use in URLs that reach this address from the same machine."""
        address = ip_address(self.text)
        if address.is_unspecified:
            return LOOPBACK
        return f"[{self.text}]" if ":" in self.text else self.text

    def served_names(self) -> Collection[str] | None:
        """
        Return the host names that requests can use, or None if every name is accepted.

        On loopback, other names are refused, because a web page could make its own name point to 127.0.0.1.
        On other addresses, the names that clients use are not known, so every name is accepted.
        """
        return ("127.0.0.1", "localhost", "[::1]", self.host) if self.is_loopback else None

    def certified_names(self) -> list[str]:
        """Return the host names and IP addresses for which the certificate is valid."""
        own = [] if ip_address(self.text).is_unspecified else [self.text]
        further = [] if self.is_loopback else [socket.gethostname()]
        return list(dict.fromkeys((*_LOCAL_NAMES, *own, *further)))
