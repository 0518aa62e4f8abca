from __future__ import annotations

import socket
import threading
import time
from typing import Any

import pytest

from handloop.client.http.resolver import connect, resolve
from support.wire_server import WireServer, answering, response


def soon() -> float:
    return time.monotonic() + 10


@pytest.mark.parametrize(("host", "family"), [("127.0.0.1", socket.AF_INET), ("::1", socket.AF_INET6)])
def test_a_literal_address_asks_nobody(host: str, family: int) -> None:
    """No thread is started for an address."""

    def refuse(name: str, target: object) -> Any:
        raise AssertionError(f"started {name}")

    (address,) = resolve(host, 6443, deadline=soon(), spawn=refuse)
    assert address.family == family
    assert address.socket_address[:2] == (host, 6443)


def test_a_name_is_resolved() -> None:
    """A name gives the addresses the system knows."""
    addresses = resolve("localhost", 80, deadline=soon())
    assert {address.socket_address[0] for address in addresses} <= {"127.0.0.1", "::1"}
    assert addresses


def test_a_resolver_that_hangs_is_left_behind_at_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """T40: the system's resolver has no deadline, ours has."""
    release = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", _hanging(release))
    begun = time.monotonic()
    try:
        with pytest.raises(TimeoutError, match=r"no address for k8s.example in time"):
            resolve("k8s.example", 443, deadline=begun + 0.05)
        assert time.monotonic() - begun < 5
    finally:
        release.set()


def _hanging(release: threading.Event) -> Any:
    real = socket.getaddrinfo

    def getaddrinfo(host: str, *args: Any, **kwargs: Any) -> Any:
        if host == "k8s.example" and not kwargs.get("flags"):
            assert release.wait(20)
            return real("127.0.0.1", *args, **kwargs)
        return real(host, *args, **kwargs)

    return getaddrinfo


def test_every_connection_resolves_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """T40: a change of address is seen at the next connection; nothing is cached."""
    answers = iter(["127.0.0.1", "127.0.0.2"])
    real = socket.getaddrinfo

    def getaddrinfo(host: str, *args: Any, **kwargs: Any) -> Any:
        if kwargs.get("flags"):
            return real(host, *args, **kwargs)
        return real(next(answers), *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    found = [resolve("k8s.example", 443, deadline=soon())[0].socket_address[0] for _ in range(2)]
    assert found == ["127.0.0.1", "127.0.0.2"]


def test_an_unknown_name_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The resolver's own error comes out."""

    def getaddrinfo(*args: Any, **kwargs: Any) -> Any:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    with pytest.raises(socket.gaierror, match="not known"):
        resolve("nowhere.example", 443, deadline=soon())


def test_a_name_that_cannot_be_one() -> None:
    """A label that is too long is an unknown name, not a UnicodeError."""
    with pytest.raises(socket.gaierror):
        resolve("a" * 70 + ".example", 443, deadline=soon())


def test_connects_to_the_first_address_that_answers() -> None:
    """An address that refuses is passed over."""
    with WireServer(answering(response())) as server:
        free = socket.create_server(("127.0.0.1", 0))
        closed = free.getsockname()[1]
        free.close()
        addresses = resolve("127.0.0.1", closed, deadline=soon()) + resolve(
            "127.0.0.1", server.port, deadline=soon()
        )
        with connect(addresses, deadline=soon()) as sock:
            assert sock.getpeername()[1] == server.port
            assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_refused_everywhere_is_the_last_error() -> None:
    """When nobody answers, the reason of the last address is raised, and nothing stays open."""
    free = socket.create_server(("127.0.0.1", 0))
    closed = free.getsockname()[1]
    free.close()
    with pytest.raises(ConnectionRefusedError):
        connect(resolve("127.0.0.1", closed, deadline=soon()), deadline=soon())
    with pytest.raises(OSError, match="no address"):
        connect([], deadline=soon())


def test_a_deadline_that_has_passed() -> None:
    """Nothing is tried when there is no time left."""
    with pytest.raises(TimeoutError):
        connect(resolve("127.0.0.1", 1, deadline=soon()), deadline=time.monotonic() - 1)
