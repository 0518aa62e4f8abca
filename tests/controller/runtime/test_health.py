"""The health and metrics endpoints over loopback."""

from __future__ import annotations

import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from controller.runtime.health import (
    TEXT,
    ListenError,
    Page,
    PageServer,
    PortInUseError,
    health_page,
    listen_error,
    stopped_check,
)


@contextmanager
def serving(pages: dict[str, Page], host: str = "127.0.0.1") -> Iterator[str]:
    """A running server; gives its URL."""
    server = PageServer(host, 0, pages, purpose="health")
    server.start()
    try:
        yield f"http://[{host}]:{server.port}" if ":" in host else f"http://{host}:{server.port}"
    finally:
        server.stop()


def fetch(url: str) -> tuple[int, str]:
    """Status and body."""
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_a_healthy_process_answers_ok() -> None:
    """All checks well: 200 and the word ok, as Kubernetes' own components."""
    with serving({"/healthz": health_page({"ping": lambda: None})}) as url:
        assert fetch(url + "/healthz") == (200, "ok")
        assert fetch(url + "/healthz/") == (200, "ok")


def test_a_failing_check_is_named_with_its_reason() -> None:
    """500, and one line per check."""
    page = health_page({"ping": lambda: None, "informers-synced": lambda: "foos: no answer yet"})
    with serving({"/readyz": page}) as url:
        status, body = fetch(url + "/readyz")
    assert status == 500
    assert body.splitlines() == [
        "[+]ping ok",
        "[-]informers-synced failed: foos: no answer yet",
        "healthz check failed",
    ]


def test_verbose_lists_and_exclude_skips() -> None:
    """?verbose shows the good ones too; ?exclude=NAME leaves one out."""
    page = health_page({"ping": lambda: None, "bad": lambda: "broken"})
    with serving({"/readyz": page}) as url:
        assert fetch(url + "/readyz?exclude=bad") == (200, "ok")
        assert fetch(url + "/readyz?exclude=bad&verbose") == (200, "[+]ping ok\nhealthz check passed\n")


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


def test_a_stopping_process_is_not_ready() -> None:
    """Readiness goes first, so that nothing new is sent here."""
    stop = threading.Event()
    check = stopped_check(stop)
    assert check() is None
    stop.set()
    assert check() == "shutting down"
