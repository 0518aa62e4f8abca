"""An address to listen on, as Go programs spell it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final

from handloop.controller.cli.values import MAX_PORT


@dataclass(frozen=True, slots=True)
class BindAddress:
    """`host:port` to listen on; an empty host is every interface; port 0 picks a free one."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @property
    def shown(self) -> str:
        """The same for people, who may not know what a missing host means."""
        return f"{self} (all interfaces)" if self.host in ("", "0.0.0.0", "::") else str(self)  # noqa: S104 - compared

    def served_names(self) -> Collection[str] | None:
        """
        The hosts that requests may name, None = any.

        On loopback a web page could point a name of its own here; elsewhere nobody knows all names: a kubelet
        says the pod's address, Prometheus that or a Service.
        """
        if not self._is_loopback():
            return None
        return ("127.0.0.1", "localhost", "[::1]", self.host)

    def _is_loopback(self) -> bool:
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"


METRICS_ADDRESS: Final = BindAddress("127.0.0.1", 8080)
HEALTH_ADDRESS: Final = BindAddress("127.0.0.1", 8081)
LOOPBACK: Final = BindAddress("127.0.0.1", 0)


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
