"""Why an address cannot be listened on, in words."""

from __future__ import annotations

import os
from typing import Final

from handloop.controller.runtime.serving.port_owner import port_owner

_IN_USE: Final = (98, 48, 10048)
"""EADDRINUSE on Linux, macOS and Windows."""


class ListenError(OSError):
    """An address cannot be listened on; reason says why, purpose what for."""

    def __init__(self, address: str, purpose: str, reason: str) -> None:
        super().__init__(f"cannot listen on {address} for {purpose}: {reason}")
        self.address = address
        self.purpose = purpose
        self.reason = reason


class PortInUseError(ListenError):
    """The address is taken; owner names the process where that can be known."""

    def __init__(self, address: str, purpose: str, owner: str = "") -> None:
        super().__init__(address, purpose, "address already in use")
        self.owner = owner


def listen_error(error: OSError, host: str, port: int, purpose: str) -> ListenError:
    """What to raise when `host:port` cannot be listened on because of error."""
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    if error.errno in _IN_USE:
        return PortInUseError(address, purpose, port_owner(port))
    # asyncio puts the whole story into strerror
    words = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror or str(error)
    return ListenError(address, purpose, words.lower())
