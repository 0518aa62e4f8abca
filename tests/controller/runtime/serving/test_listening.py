"""Failures to listen."""

from __future__ import annotations

import os
import socket
import sys

import pytest

from handloop.controller.runtime.serving import listening as module
from handloop.controller.runtime.serving.listening import PortInUseError, listen_error, port_owner


@pytest.mark.parametrize(
    ("error", "host", "address", "reason"),
    [
        (OSError(98, "in use"), "", ":80", "address already in use"),
        (OSError(13, "denied"), "::1", "[::1]:80", "permission denied"),
        (OSError(-2, "Name or service not known"), "nowhere", "nowhere:80", "name or service not known"),
        (OSError("words"), "h", "h:80", "words"),
    ],
)
def test_failures_to_listen_are_put_in_words(error: OSError, host: str, address: str, reason: str) -> None:
    """An address as one writes it, and the system's own words in short."""
    found = listen_error(error, host, 80, "metrics")
    assert (found.address, found.reason) == (address, reason)
    assert isinstance(found, PortInUseError) is (error.errno == 98)


# -- who has the port


pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /proc/net/tcp")


def test_our_own_listener_is_found() -> None:
    """The process is named with its pid."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert port_owner(server.getsockname()[1]).startswith(f"pid {os.getpid()} (")


def test_a_free_port_has_no_owner() -> None:
    """Without a listener the text is empty."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    assert port_owner(port) == ""


def test_a_proc_that_may_not_be_read_gives_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hardened containers: the message goes without the owner."""

    def refuse(_port: int) -> set[str]:
        raise PermissionError

    monkeypatch.setattr(module, "_listening_inodes", refuse)
    assert port_owner(80) == ""


def test_a_listener_whose_process_we_may_not_see_has_no_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another user's, or one in another PID namespace."""
    monkeypatch.setattr(module, "_listening_inodes", lambda _port: {"socket:[0]"})
    assert port_owner(80) == ""
