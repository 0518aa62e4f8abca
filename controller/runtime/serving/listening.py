"""Explain why the process cannot listen on an address, and which other process uses it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

_IN_USE: Final = (98, 48, 10048)
"""The values of EADDRINUSE on Linux, macOS and Windows."""


class ListenError(OSError):
    """The process cannot listen on an address. Fields: address, purpose, reason."""

    def __init__(self, address: str, purpose: str, reason: str) -> None:
        super().__init__(f"cannot listen on {address} for {purpose}: {reason}")
        self.address = address
        self.purpose = purpose
        self.reason = reason


class NoCertificateError(ListenError):
    """The TLS certificate does not load, or cannot be created."""


class PortInUseError(ListenError):
    """The address is in use. owner names the other process, or is "" if unknown."""

    def __init__(self, address: str, purpose: str, owner: str = "") -> None:
        super().__init__(address, purpose, "address already in use")
        self.owner = owner


def listen_error(error: OSError, host: str, port: int, purpose: str) -> ListenError:
    """Return the error to raise after listening on `host:port` has failed with error."""
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    if error.errno in _IN_USE:
        return PortInUseError(address, purpose, port_owner(port))
    # strerror cannot be used first, because asyncio puts its whole message there.
    words = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror or str(error)
    return ListenError(address, purpose, words.lower())


_LISTEN: Final = "0A"


def port_owner(port: int) -> str:
    """Return the process that listens on a TCP port, as `pid 812 (kubectl)`, or "" if it is not in /proc."""
    try:
        inodes = _listening_inodes(port)
        return _process_of(inodes) if inodes else ""
    except OSError:
        return ""


def _listening_inodes(port: int) -> set[str]:
    inodes = set()
    for table in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")):
        for line in table.read_text().splitlines()[1:] if table.exists() else ():
            columns = line.split()
            if columns[3] == _LISTEN and int(columns[1].rpartition(":")[2], 16) == port:
                inodes.add(f"socket:[{columns[9]}]")
    return inodes


def _process_of(inodes: set[str]) -> str:
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if any(str(fd.readlink()) in inodes for fd in (process / "fd").iterdir()):
                return f"pid {process.name} ({(process / 'comm').read_text().strip()})"
        except OSError:  # another user's process, or one that has just ended
            continue
    return ""
