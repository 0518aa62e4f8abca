"""
Sockets that know when they have to be done.

A timeout on a socket starts anew with every receive, so a server that drips one byte a second is never too
slow for it. These check a point in time before each receive, also beneath `http.client` and TLS.
"""

from __future__ import annotations

import socket
import ssl
import time
from typing import Any, Final

_BUFFER_BYTES: Final = 65_536


class _Deadline:
    """
    When the peer has to have answered.

    deadline is a point in monotonic time, None when only silence counts: idle_seconds without a byte.
    """

    deadline: float | None = None
    idle_seconds: float | None = None

    def arm(self, *, deadline: float | None, idle_seconds: float | None = None) -> None:
        """Set both; they hold from the next receive or send."""
        self.deadline = deadline
        self.idle_seconds = idle_seconds

    def left(self) -> float | None:
        """
        Seconds that the next receive or send may take, None for no limit.

        Raises: TimeoutError when there are none.
        """
        if self.deadline is None:
            return self.idle_seconds
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("deadline exceeded")
        return left if self.idle_seconds is None else min(left, self.idle_seconds)


class DeadlineSocket(_Deadline, socket.socket):
    """A plain socket with a deadline."""

    def recv_into(self, *args: Any) -> int:
        """Receive at most until the deadline."""
        self.settimeout(self.left())
        return super().recv_into(*args)

    def sendall(self, *args: Any) -> None:
        """Send everything, at most until the deadline."""
        self.settimeout(self.left())
        super().sendall(*args)

    def makefile(self, *args: Any, **kwargs: Any) -> Any:
        """A file with a buffer that many small messages fit in."""
        return super().makefile(*args, **{"buffering": _BUFFER_BYTES, **kwargs})


class DeadlineSSLSocket(_Deadline, ssl.SSLSocket):
    """A TLS socket with a deadline."""

    def recv_into(self, *args: Any) -> int:
        """Receive at most until the deadline."""
        self.settimeout(self.left())
        return super().recv_into(*args)

    def send(self, *args: Any) -> int:
        """Send a part, at most until the deadline."""
        self.settimeout(self.left())
        return super().send(*args)

    def makefile(self, *args: Any, **kwargs: Any) -> Any:
        """A file with a buffer that many small messages fit in."""
        return super().makefile(*args, **{"buffering": _BUFFER_BYTES, **kwargs})


def with_deadline(plain: socket.socket) -> DeadlineSocket:
    """Take a connected socket over; plain is detached."""
    timeout = plain.gettimeout()
    sock = DeadlineSocket(plain.family, plain.type, plain.proto, fileno=plain.detach())
    sock.settimeout(timeout)
    return sock
