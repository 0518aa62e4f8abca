"""The server of health and metrics, over loopback."""

from __future__ import annotations

import errno
import itertools
import math
import socket
import ssl
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from datetime import timedelta
from http.client import HTTPConnection, HTTPSConnection
from socketserver import TCPServer
from typing import NoReturn

import pytest

from handloop.controller.runtime.serving import page_server
from handloop.controller.runtime.serving.bind_address import is_loopback
from handloop.controller.runtime.serving.health import health_page
from handloop.controller.runtime.serving.key_pairs import new_pair
from handloop.controller.runtime.serving.listening import ListenError, PortInUseError
from handloop.controller.runtime.serving.page_server import MAX_CONNECTIONS, TEXT, PageServer, Post
from handloop.testing.eventually import eventually as until
from support.checks.captured_logs import captured_logs
from support.checks.threads import Background, Gate
from support.doubles.unspeakable import UNSPEAKABLE
from support.servers.served_pages import fetch, serving


def ask(server: PageServer, head: str) -> bytes:
    """The first line of the answer to a request, as it is written here."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        connection.sendall(head.encode() + b"\r\n\r\n")
        return connection.makefile("rb").readline().strip()


NAMES = ("127.0.0.1", "localhost", "[::1]")


@pytest.mark.parametrize(
    ("head", "status"),
    [
        ("GET /p HTTP/1.1\r\nHost: 127.0.0.1:8080", 200),
        ("GET /p HTTP/1.1\r\nHost: localhost", 200),
        ("GET /p HTTP/1.1\r\nHost: LocalHost:1", 200),
        ("GET /p HTTP/1.1\r\nHost: [::1]:8080", 200),
        ("GET http://localhost:8080/p HTTP/1.1\r\nHost: localhost", 200),
        ("GET /p HTTP/1.1\r\nHost: evil.example", 403),
        ("GET /p HTTP/1.1\r\nHost: evil.example:8080", 403),
        ("GET /p HTTP/1.1\r\nHost: localhost.evil.example", 403),
        ("GET /p HTTP/1.1\r\nHost: 127.0.0.1:8080.evil.example", 403),
        ("GET http://evil.example/p HTTP/1.1\r\nHost: localhost", 403),
        ("HEAD /p HTTP/1.1\r\nHost: evil.example", 403),
        ("GET /other HTTP/1.1\r\nHost: evil.example", 403),
        ("GET /p HTTP/1.1\r\nHost: ", 403),
        ("GET /p HTTP/1.0", 403),
    ],
)
def test_on_loopback_other_names_are_refused(head: str, status: int) -> None:
    """A web page that points a name of its own at this machine reads nothing here."""
    asked: list[str] = []

    def guard(path: str, _authorization: str) -> int:
        asked.append(path)
        return 200

    pages = {"/p": lambda _: (200, TEXT, b"seen")}
    server = PageServer("127.0.0.1", 0, pages, purpose="metrics", guard=guard, names=NAMES)
    server.start()
    try:
        assert int(ask(server, head).split()[1]) == status
        assert asked == (["/p"] if status == 200 else [])
    finally:
        server.stop()


@pytest.mark.parametrize(
    ("host", "client", "status"),
    [
        ("127.0.0.1:8080", "127.0.0.1", 200),
        ("localhost:8080", "::ffff:127.0.0.1", 200),
        ("[::1]:8080", "::1", 200),
        ("evil.example:8080", "127.0.0.1", 403),
        ("", "127.0.0.1", 403),
        ("127.0.0.1:8080", "10.1.2.3", 403),
        ("127.0.0.1:8080", "::ffff:10.1.2.3", 403),
        ("127.0.0.1:8080", "fe80::1%eth0", 403),
    ],
)
def test_a_private_page_is_for_this_machine(
    host: str, client: str, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a guard, on all interfaces: by the client's address, and by the name that it asks for."""
    module = "handloop.controller.runtime.serving.page_server"
    monkeypatch.setattr(f"{module}.is_loopback", lambda _address: is_loopback(client))
    pages = {"/p": lambda _: (200, TEXT, b"seen"), "/open": lambda _: (200, TEXT, b"seen")}
    server = PageServer("127.0.0.1", 0, pages, purpose="metrics", private=("/p",))
    server.start()
    try:
        assert int(ask(server, f"GET /p HTTP/1.1\r\nHost: {host}").split()[1]) == status
        assert int(ask(server, f"GET /open HTTP/1.1\r\nHost: {host}").split()[1]) == 200
    finally:
        server.stop()


def test_without_names_any_host_will_do() -> None:
    """A kubelet names the pod's address, Prometheus that or a Service: the names are unknown."""
    server = PageServer("127.0.0.1", 0, {"/p": lambda _: (200, TEXT, b"seen")}, purpose="metrics")
    server.start()
    try:
        for host in ("10.1.2.3:8080", "handloop-metrics.handloop-system.svc:8080", ""):
            assert b" 200 " in ask(server, f"GET /p HTTP/1.1\r\nHost: {host}")
    finally:
        server.stop()


def test_head_has_no_body() -> None:
    """HEAD answers like GET without the body."""
    with serving({"/healthz": health_page({})}) as url:
        request = urllib.request.Request(url + "/healthz", method="HEAD")
        with urllib.request.urlopen(request, timeout=20) as answer:
            assert (answer.status, answer.read()) == (200, b"")


@pytest.mark.parametrize(
    "error", [ZeroDivisionError("odd"), SystemExit(3), *UNSPEAKABLE], ids=lambda e: type(e).__name__
)
def test_a_page_that_fails_is_an_error_and_told(error: BaseException) -> None:
    """A client gets an answer of 500, and the log the traceback; the next page is served."""

    def broken(_query: object) -> NoReturn:
        raise error

    with captured_logs() as logs, serving({"/bad": broken, "/healthz": health_page({})}) as url:
        assert fetch(f"{url}/bad") == (500, "the page failed: see the log\n")
        assert fetch(f"{url}/healthz") == (200, "ok")
    assert [(line["event"], line["page"]) for line in logs] == [("A page failed", "/bad")]


def test_only_reads_are_answered() -> None:
    """Whatever else is asked, no page is made."""
    server = PageServer("127.0.0.1", 0, {"/p": lambda _: (200, TEXT, b"seen")}, purpose="metrics")
    server.start()
    try:
        for method in ("POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"):
            assert b" 501 " in ask(server, f"{method} /p HTTP/1.1\r\nHost: localhost")
    finally:
        server.stop()


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


def test_silent_clients_keep_no_others_out() -> None:
    """Of three times as many silent connections as there may be the oldest go; probes are answered."""
    with serving({"/healthz": health_page({})}) as url, ExitStack() as stack:
        address = ("127.0.0.1", int(url.rpartition(":")[2]))
        silent = []
        for _ in range(3 * MAX_CONNECTIONS):
            connection = stack.enter_context(socket.create_connection(address, timeout=20))
            connection.sendall(b"GET /healthz HTTP/1.0\r\n")
            silent.append(connection)
            if len(silent) % MAX_CONNECTIONS == 0:
                assert fetch(url + "/healthz") == (200, "ok")
        with suppress(ConnectionResetError):  # if the server had not read what it sent
            assert silent[0].recv(100) == b""
        silent[-1].sendall(b"\r\n")
        assert silent[-1].recv(100).startswith(b"HTTP/1.0 200")


class Exhausted:
    """Descriptors that run out: while `most` is not reached, a connection cannot be accepted."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, code: int, most: float) -> None:
        self.tried_at: list[float] = []
        self.tried = threading.Event()
        accept = TCPServer.get_request

        def get_request(server: TCPServer) -> tuple[socket.socket, object]:
            self.tried.set()
            if len(self.tried_at) < most:
                self.tried_at.append(time.monotonic())
                raise OSError(code, "exhausted")
            return accept(server)

        monkeypatch.setattr(TCPServer, "get_request", get_request)


@pytest.mark.parametrize("code", [errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM])
def test_without_descriptors_it_waits_and_then_answers(monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    """Who cannot be accepted stays in the kernel's queue: after the spare descriptor's try, with a pause."""
    exhausted = Exhausted(monkeypatch, code, most=4)
    with serving({"/healthz": health_page({})}) as url:
        assert fetch(url + "/healthz") == (200, "ok")
    pauses = [after - before for before, after in itertools.pairwise(exhausted.tried_at)]
    assert len(pauses) == 3
    assert min(pauses[1:]) > 0.04


def test_a_server_without_descriptors_can_be_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pause ends with the server, however long it is."""
    monkeypatch.setattr(page_server, "_EXHAUSTED_PAUSE_SECONDS", 60.0)
    exhausted = Exhausted(monkeypatch, errno.EMFILE, most=math.inf)
    server = PageServer("127.0.0.1", 0, {}, purpose="health")
    server.start()
    with socket.create_connection(("127.0.0.1", server.port), timeout=20):
        assert exhausted.tried.wait(20)
        Background(server.stop).result()


# -- posts


@contextmanager
def taking(post: Post) -> Iterator[PageServer]:
    """A server for posts to /p."""
    server = PageServer("127.0.0.1", 0, {}, purpose="conversion", posts={"/p": post})
    server.start()
    try:
        yield server
    finally:
        server.stop()


def echo(body: bytes) -> tuple[int, str, bytes]:
    """What was sent."""
    return 200, TEXT, body


def test_a_connection_is_for_several_posts() -> None:
    """A large body, an empty one, and one for which the client waits until it may send it."""
    with taking(echo) as server, closing(HTTPConnection("127.0.0.1", server.port, timeout=20)) as client:
        for body in (b"x" * 10_000_000, b"", b"y"):
            client.request("POST", "/p?timeout=30s", body)
            with client.getresponse() as answer:
                assert (answer.status, answer.getheader("Connection")) == (200, None)
                assert answer.read() == body
        assert client.sock is not None
        client.sock.sendall(b"POST /p HTTP/1.1\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\n")
        lines = client.sock.makefile("rb")
        assert lines.readline() == b"HTTP/1.1 100 Continue\r\n"
        client.sock.sendall(b"z")
        assert (lines.readline(), lines.readline()) == (b"\r\n", b"HTTP/1.1 200 OK\r\n")


@pytest.mark.parametrize(
    ("head", "status"),
    [
        ("POST /p HTTP/1.1", 411),
        ("POST /p HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0", 411),
        ("POST /p HTTP/1.1\r\nContent-Length: -1", 411),
        ("POST /p HTTP/1.1\r\nContent-Length: 1e3", 411),
        ("POST /p HTTP/1.1\r\nContent-Length: 268435457", 413),
        (f"POST /p HTTP/1.1\r\nContent-Length: {'9' * 5000}", 413),
        ("POST /other HTTP/1.1\r\nContent-Length: 0", 404),
        ("POST /p/ HTTP/1.1\r\nContent-Length: 0", 404),
        ("PUT /p HTTP/1.1\r\nContent-Length: 0", 501),
    ],
)
def test_a_body_that_is_not_read_ends_the_connection(head: str, status: int) -> None:
    """What follows would be taken for the next request."""
    with taking(echo) as server, socket.create_connection(("127.0.0.1", server.port), timeout=20) as client:
        client.sendall(head.encode() + b"\r\n\r\n")
        answer = client.makefile("rb").read()
        assert answer.startswith(f"HTTP/1.1 {status} ".encode())
        assert b"\r\nConnection: close\r\n" in answer


def test_a_get_finds_no_post() -> None:
    """Nor does a page exist where something is posted to."""
    with taking(echo) as server:
        assert b" 404 " in ask(server, "GET /p HTTP/1.1\r\nHost: localhost")


def test_a_body_that_ends_early_is_handed_to_nobody() -> None:
    """Its client has gone."""
    seen: list[bytes] = []

    def post(body: bytes) -> tuple[int, str, bytes]:
        seen.append(body)
        return echo(body)

    with taking(post) as server, socket.create_connection(("127.0.0.1", server.port), timeout=20) as client:
        client.sendall(b"POST /p HTTP/1.1\r\nContent-Length: 9\r\n\r\nhi")
        client.shutdown(socket.SHUT_WR)
        assert client.recv(100) == b""
    assert not seen


@pytest.mark.parametrize(
    "error", [ZeroDivisionError("odd"), SystemExit(3), *UNSPEAKABLE], ids=lambda e: type(e).__name__
)
def test_a_post_that_fails_is_an_error_and_told(error: BaseException) -> None:
    """As a page; the connection goes on."""
    errors = [error]

    def post(body: bytes) -> tuple[int, str, bytes]:
        if errors:
            raise errors.pop()
        return echo(body)

    with captured_logs() as logs, taking(post) as server, ExitStack() as stack:
        client = stack.enter_context(closing(HTTPConnection("127.0.0.1", server.port, timeout=20)))
        for expected in ((500, b"the post failed: see the log\n"), (200, b"x")):
            client.request("POST", "/p", b"x")
            with client.getresponse() as answer:
                assert (answer.status, answer.read()) == expected
    assert [(line["event"], line["page"]) for line in logs] == [("A post failed", "/p")]


def test_as_many_as_an_api_server_works_on_are_answered_at_once() -> None:
    """Each of two hundred has its connection, and none is cut off for another."""
    together = threading.Barrier(200)

    def post(body: bytes) -> tuple[int, str, bytes]:
        together.wait(20)
        return echo(body)

    with taking(post) as server, ExitStack() as stack:
        clients = [
            stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=20))
            for _ in range(200)
        ]
        for client in clients:
            client.sendall(b"POST /p HTTP/1.1\r\nContent-Length: 1\r\n\r\nx")
        assert {client.recv(15) for client in clients} == {b"HTTP/1.1 200 OK"}


def test_silent_clients_cut_off_none_that_posts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that is used stays, however many others are opened."""
    monkeypatch.setattr(page_server, "MAX_POSTING", 8)
    with taking(echo) as server, ExitStack() as stack:

        def post(client: HTTPConnection) -> socket.socket | None:
            client.request("POST", "/p", b"x")
            with client.getresponse() as answer:
                assert answer.read() == b"x"
            return client.sock

        def connect() -> HTTPConnection:
            return stack.enter_context(closing(HTTPConnection("127.0.0.1", server.port, timeout=20)))

        client = connect()
        first = post(client)
        for at in range(40):
            post(connect())
            if at % 5 == 0:
                assert post(client) is first


def is_refused(port: int) -> bool:
    """Whether nobody listens."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=20).close()
    except OSError:
        return True
    return False


def test_a_stop_waits_for_what_is_being_answered() -> None:
    """And the answer says that the connection ends."""
    gate = Gate()

    def post(body: bytes) -> tuple[int, str, bytes]:
        gate()
        return echo(body)

    server = PageServer("127.0.0.1", 0, {}, purpose="conversion", posts={"/p": post})
    server.start()
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as client:
        client.sendall(b"POST /p HTTP/1.1\r\nContent-Length: 1\r\n\r\nx")
        gate.wait_entered()
        stopping = Background(server.stop)
        until(lambda: is_refused(server.port), "no other connection is taken")
        assert not stopping.has_ended()
        gate.open()
        stopping.result()
        answer = client.makefile("rb").read()
    assert answer.endswith(b"\r\nConnection: close\r\n\r\nx")


def test_without_a_certificate_a_connection_is_closed_at_once() -> None:
    """Whoever asks then learns it before a timeout, and the server goes on."""
    contexts: list[ssl.SSLContext] = []

    def tls() -> ssl.SSLContext:
        if not contexts:
            raise OSError("none yet")
        return contexts[0]

    pair = new_pair("p", time.time(), timedelta(days=1), hosts=("127.0.0.1",))
    server = PageServer("127.0.0.1", 0, {}, purpose="conversion", tls=tls, posts={"/p": echo})
    server.start()
    try:
        for _ in range(3):
            with socket.create_connection(("127.0.0.1", server.port), timeout=20) as client:
                assert client.recv(1) == b""
        contexts.append(pair.context())
        trusting = ssl.create_default_context(cadata=pair.certificate.decode())
        with closing(HTTPSConnection("127.0.0.1", server.port, timeout=20, context=trusting)) as asking:
            asking.request("POST", "/p", b"x")
            with asking.getresponse() as answer:
                assert answer.read() == b"x"
    finally:
        server.stop()


def test_a_certificate_that_fails_in_any_way_ends_no_server() -> None:
    """The next connection is accepted: only the one without a certificate is closed."""
    made = iter([ValueError("not a date"), SystemExit(1)])

    def tls() -> ssl.SSLContext:
        raise next(made, OSError())

    server = PageServer("127.0.0.1", 0, {}, purpose="metrics", tls=tls)
    server.start()
    try:
        with captured_logs() as lines:
            for _ in range(3):
                with socket.create_connection(("127.0.0.1", server.port), timeout=5) as connection:
                    assert connection.recv(1) == b""
    finally:
        server.stop()
    assert [line["err"] for line in lines] == ["ValueError('not a date')", "SystemExit(1)"]


def test_a_page_sees_what_its_reader_accepts() -> None:
    """All headers of that name, and nothing that a query says in their place."""
    with serving({"/p": lambda query: (200, TEXT, repr(query["Accept"]).encode())}) as url:
        connection = HTTPConnection(url.removeprefix("http://"))
        connection.request("GET", "/p?Accept=c", headers={"Accept": "a, b"})
        assert connection.getresponse().read() == b"['a, b']"
        connection.close()
