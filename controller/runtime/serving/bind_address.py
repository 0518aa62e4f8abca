"""Where a server listens, as people write it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final

MAX_PORT: Final = 65535
LOOPBACK_NAMES: Final = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True, slots=True)
class BindAddress:
    """`host:port` to listen on. An empty host means every interface, port 0 a free port."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @property
    def shown(self) -> str:
        """The same, with a word on a missing host."""
        return f"{self} (all interfaces)" if self.host in ("", "0.0.0.0", "::") else str(self)  # noqa: S104 - compared

    def served_names(self) -> Collection[str] | None:
        """
        The hosts that requests may name, None = any.

        On loopback a web page could point a name of its own here. Elsewhere the names are unknown: a kubelet
        uses the pod's address, Prometheus that or a Service.
        """
        return (*LOOPBACK_NAMES, self.host) if is_loopback(self.host) else None


def is_loopback(host: str) -> bool:
    """Whether an address, or the name localhost, is this machine alone."""
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host == "localhost"
    # an IPv6 socket shows 127.0.0.1 like this; before Python 3.13 that is not loopback
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


def parse_bind_address(text: str) -> BindAddress | None:
    """
    `:8080`, `127.0.0.1:8080`, `[::1]:8080`; `0` turns the server off and gives None.

    Raises: ValueError.
    """
    if text == "0":
        return None
    host, separator, port = text.rpartition(":")
    if not separator or not port.isdigit() or int(port) > MAX_PORT:
        raise ValueError(f'"{text}" is not an address such as :8080 or 127.0.0.1:8080 (0 turns it off)')
    return BindAddress(host.removeprefix("[").removesuffix("]"), int(port))
