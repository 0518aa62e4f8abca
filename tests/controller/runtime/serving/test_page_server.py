"""The server of health and metrics, over loopback."""

from __future__ import annotations

import socket
import urllib.request
from contextlib import ExitStack

import pytest

from controller.runtime.serving.health import health_page
from controller.runtime.serving.listening import ListenError, PortInUseError
from controller.runtime.serving.page_server import MAX_CONNECTIONS, TEXT, PageServer
from support.served_pages import fetch, serving


def test_other_paths_are_not_found() -> None:
    """Only the pages that were given exist."""
    with serving({"/healthz": health_page({})}) as url:
        assert fetch(url + "/debug")[0] == 404


def test_head_has_no_body() -> None:
    """HEAD answers like GET without the body."""
    with serving({"/healthz": health_page({})}) as url:
        request = urllib.request.Request(url + "/healthz", method="HEAD")
        with urllib.request.urlopen(request, timeout=10) as answer:
            assert (answer.status, answer.read()) == (200, b"")


def test_a_taken_port_is_known_before_anything_starts() -> None:
    """The constructor raises and names the purpose and, on Linux, the process."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(PortInUseError, match=f"cannot listen on 127.0.0.1:{port} for metrics") as caught:
            PageServer("127.0.0.1", port, {}, purpose="metrics")
    assert caught.value.owner.startswith("pid ")


def test_an_address_of_another_machine_is_an_error_of_its_own() -> None:
    """Not every failure to bind is a taken port."""
    with pytest.raises(ListenError, match="cannot assign requested address") as caught:
        PageServer("192.0.2.1", 0, {}, purpose="metrics")
    assert not isinstance(caught.value, PortInUseError)
    assert (caught.value.address, caught.value.purpose) == ("192.0.2.1:0", "metrics")


def test_ipv6_loopback() -> None:
    """[::1] is an address too."""
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6 loopback")
    with serving({"/healthz": lambda _: (200, TEXT, b"six")}, host="::1") as url:
        assert fetch(url + "/healthz") == (200, "six")


def test_stop_without_start_closes_the_socket() -> None:
    """A program that fails between binding and serving leaves no port behind."""
    server = PageServer("127.0.0.1", 0, {}, purpose="health")
    port = server.port
    server.stop()
    with socket.create_server(("127.0.0.1", port)):
        pass


def test_clients_that_say_nothing_keep_nobody_out() -> None:
    """S08: of three times as many silent connections as there may be the oldest go; probes are answered."""
    with serving({"/healthz": health_page({})}) as url, ExitStack() as stack:
        address = ("127.0.0.1", int(url.rpartition(":")[2]))
        silent = []
        for _ in range(3 * MAX_CONNECTIONS):
            connection = stack.enter_context(socket.create_connection(address, timeout=10))
            connection.sendall(b"GET /healthz HTTP/1.0\r\n")
            silent.append(connection)
            if len(silent) % MAX_CONNECTIONS == 0:
                assert fetch(url + "/healthz") == (200, "ok")
        assert silent[0].recv(100) == b""
        silent[-1].sendall(b"\r\n")
        assert silent[-1].recv(100).startswith(b"HTTP/1.0 200")
