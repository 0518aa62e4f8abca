"""Who listens on a port."""

from __future__ import annotations

import os
import socket
import sys

import pytest

from controller.runtime.port_owner import port_owner

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /proc/net/tcp")


def test_our_own_listener_is_found() -> None:
    """The process is named with its pid."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert port_owner(server.getsockname()[1]).startswith(f"pid {os.getpid()} (")


def test_a_free_port_has_no_owner() -> None:
    """Nobody listens: nothing is said."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    assert port_owner(port) == ""
