"""
Sockets that connect, send and receive within a deadline.

A normal socket timeout restarts with every receive, so a server that sends one byte a second never times out.
These sockets check a deadline before each receive and send, also beneath TLS. The system's resolver has no
deadline, so it is called on a separate thread.
"""

from __future__ import annotations

import socket
import ssl
import time
from typing import Any, Final, NamedTuple

from handloop.seams.threads import Spawn, spawn_thread

_LEAST_SECONDS: Final = 2.0


class _Deadline:
    """
    The time limits of a connection.

    deadline is the monotonic time by which the peer must have answered. idle_seconds limits each single
    receive or send. If deadline is None, only idle_seconds applies.
    """

    deadline: float | None = None
    idle_seconds: float | None = None

    def arm(self, *, deadline: float | None, idle_seconds: float | None = None) -> None:
        """Set both limits. They apply from the next receive or send."""
        self.deadline = deadline
        self.idle_seconds = idle_seconds
        if deadline is None:
            # The silence limit restarts with every receive, like a socket's timeout.
            self.settimeout(idle_seconds)

    def left(self) -> float | None:
        """
        Return how many seconds the next receive or send may take, or None for no limit.

        Raises: TimeoutError if the deadline has passed.
        """
        if self.deadline is None:
            return self.idle_seconds
        left = seconds_until(self.deadline)
        return left if self.idle_seconds is None else min(left, self.idle_seconds)

    def settimeout(self, value: float | None, /) -> None:
        """The method of the socket."""
        raise NotImplementedError


class DeadlineSocket(socket.socket, _Deadline):
    """A plain socket with a deadline."""

    def recv_into(self, *args: Any) -> int:
        """Receive data, or time out at the deadline."""
        if self.deadline is not None:
            self.settimeout(self.left())
        return super().recv_into(*args)

    def sendall(self, *args: Any) -> None:
        """Send everything, or time out at the deadline."""
        self.settimeout(self.left())
        super().sendall(*args)


class DeadlineSSLSocket(ssl.SSLSocket, _Deadline):
    """A TLS socket with a deadline."""

    def recv_into(self, *args: Any) -> int:
        """Receive data, or time out at the deadline."""
        if self.deadline is not None:
            self.settimeout(self.left())
        return super().recv_into(*args)

    def send(self, *args: Any) -> int:
        """Send part of the data, or time out at the deadline."""
        self.settimeout(self.left())
        return super().send(*args)


def with_deadline(plain: socket.socket) -> DeadlineSocket:
    """Convert a connected socket into one with a deadline. The plain socket is detached."""
    timeout = plain.gettimeout()
    sock = DeadlineSocket(plain.family, plain.type, plain.proto, fileno=plain.detach())
    sock.settimeout(timeout)
    return sock


def arm(sock: Any, *, deadline: float | None, idle_seconds: float | None = None) -> None:
    """
    Set the time limits of the following sends and receives.

    The deadline applies to all of them together. If TLS runs inside TLS, each of them alone may take as long
    as the time that is left now.

    Raises: TimeoutError if the deadline has passed.
    """
    if isinstance(sock, _Deadline):
        sock.arm(deadline=deadline, idle_seconds=idle_seconds)
        sock.left()  # the socket sets its own timeout before each send and receive
    else:
        sock.settimeout(idle_seconds if deadline is None else seconds_until(deadline))


def seconds_until(deadline: float) -> float:
    """
    Return the seconds left until a point in monotonic time.

    Raises: TimeoutError if that time has passed.
    """
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError("deadline exceeded")
    return left


class Address(NamedTuple):
    """An address to connect to."""

    family: int
    socket_address: tuple[Any, ...]


def resolve(host: str, port: int, *, deadline: float, spawn: Spawn = spawn_thread) -> list[Address]:
    """
    Return the addresses of host. An IP address is returned without a lookup.

    Args: deadline is in monotonic time.
    Raises: socket.gaierror; TimeoutError at the deadline. After a timeout, the resolving thread lives until
    the resolver answers.
    Blocks: at most until the deadline.
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
    Connect to the first address that answers. Turn off Nagle's algorithm, and turn on keep-alive.

    Each address gets an equal share of the time left, but at least two seconds, as in Go. An address that
    drops packets, such as that of a dead replica, leaves time for the others.

    Raises: the last address's OSError if no address answers; TimeoutError at the deadline.
    Blocks: at most until the deadline.
    """
    error: OSError = OSError("the name has no address")
    for position, address in enumerate(addresses):
        try:
            return _connect_one(address, deadline, share=len(addresses) - position)
        except OSError as failure:
            error = failure
    try:
        raise error
    finally:
        del error  # otherwise the error and this frame would keep each other alive


def _connect_one(address: Address, deadline: float, *, share: int) -> socket.socket:
    left = seconds_until(deadline)
    sock = socket.socket(address.family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        sock.settimeout(min(left, max(left / share, _LEAST_SECONDS)))
        sock.connect(address.socket_address)
        sock.settimeout(seconds_until(deadline))  # a TLS handshake uses this timeout
    except BaseException:
        sock.close()
        raise
    return sock
