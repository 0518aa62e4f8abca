"""Which process listens on a port, where /proc can tell."""

from __future__ import annotations

from pathlib import Path
from typing import Final

_LISTEN: Final = "0A"


def port_owner(port: int) -> str:
    """`pid 812 (kubectl)` of the process that listens on a TCP port; "" when that cannot be known."""
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
        except OSError:  # another user's process, or one that ended meanwhile
            continue
    return ""
