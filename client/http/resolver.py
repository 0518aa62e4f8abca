"""Names to addresses, in bounded time: the system's resolver has no deadline of its own."""

from __future__ import annotations

import socket
import time
from typing import Any, NamedTuple

from handloop.workqueue.spawn import Spawn, spawn_thread


class Address(NamedTuple):
    """Where to connect."""

    family: int
    socket_address: tuple[Any, ...]


def resolve(host: str, port: int, *, deadline: float, spawn: Spawn = spawn_thread) -> list[Address]:
    """
    The addresses of host; a literal address is answered without asking anybody.

    Args: deadline in monotonic time.
    Raises: socket.gaierror; TimeoutError at the deadline (the asking thread lives until its answer comes).
    Blocks: until the deadline at most.
    """
    try:
        return _ask(host, port, socket.AI_NUMERICHOST)
    except socket.gaierror:
        return _ask_in_thread(host, port, deadline, spawn)


def _ask(host: str, port: int, flags: int = 0) -> list[Address]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=flags)
    except UnicodeError as error:
        raise socket.gaierror(socket.EAI_NONAME, "not a host name") from error
    return [Address(family, address) for family, _, _, _, address in found]


def _ask_in_thread(host: str, port: int, deadline: float, spawn: Spawn) -> list[Address]:
    answers: list[list[Address]] = []
    errors: list[OSError] = []

    def ask() -> None:
        try:
            answers.append(_ask(host, port))
        except OSError as error:
            errors.append(error)

    spawn(f"resolver-{host}", ask).join(max(0.0, deadline - time.monotonic()))
    if answers:
        return answers[0]
    if errors:
        raise errors[0]
    raise TimeoutError(f"no address for {host} in time")


def connect(addresses: list[Address], *, deadline: float) -> socket.socket:
    """
    Connect to the first address that answers, with Nagle's algorithm off and the kernel's keep-alive on.

    Raises: the OSError of the last address; TimeoutError at the deadline.
    Blocks: until the deadline at most.
    """
    error: OSError = OSError("the name has no address")
    for address in addresses:
        try:
            return _connect_one(address, deadline)
        except OSError as failure:
            error = failure
    raise error


def _connect_one(address: Address, deadline: float) -> socket.socket:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError("deadline exceeded")
    sock = socket.socket(address.family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        sock.settimeout(left)
        sock.connect(address.socket_address)
    except BaseException:
        sock.close()
        raise
    return sock
