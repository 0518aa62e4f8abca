"""Every listener of the project and odd requests: each is refused or cut off, and the next is answered."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

import pytest

from handloop.controller.runtime.serving.health import health_page
from handloop.controller.runtime.serving.page_server import TEXT, PageServer
from handloop.sandbox.server import Sandbox
from handloop.walkthrough.live.guard import LOOPBACK_NAMES, TOKEN_HEADER
from handloop.walkthrough.live.server import LiveServer
from support.odd_requests import first_line, odd_requests

_REQUESTS: Final = 300
_SEED: Final = 1


class Listener(NamedTuple):
    """A running server: paths that it knows, and the headers that open its doors."""

    port: int
    known: tuple[str, ...]
    headers: dict[str, str]


@contextmanager
def _pages() -> Iterator[Listener]:
    pages = {"/healthz": health_page({"ping": lambda: None}), "/metrics": lambda _: (200, TEXT, b"")}
    server = PageServer("127.0.0.1", 0, pages, purpose="health", names=LOOPBACK_NAMES)
    server.start()
    try:
        yield Listener(server.port, ("/healthz", "/healthz/ping", "/metrics"), {"Host": "127.0.0.1"})
    finally:
        server.stop()


@contextmanager
def _live() -> Iterator[Listener]:
    server = LiveServer("127.0.0.1", 0, names=LOOPBACK_NAMES, controls=True)
    server.start()
    host = f"127.0.0.1:{server.port}"
    ours = {"Host": host, "Origin": f"http://{host}", TOKEN_HEADER: server._guard.token}
    paths = ("", "events", "controls/pause", "controls/x", "source/3", f"source/{'9' * 5000}")
    known = (*(f"/debug/live/{path}" for path in paths), "/debug/state", "/debug/compare", "/debug/stacks")
    try:
        yield Listener(server.port, known, ours)
    finally:
        server.stop()


@contextmanager
def _sandbox() -> Iterator[Listener]:
    with Sandbox() as sandbox:
        maps = "/api/v1/namespaces/default/configmaps"
        known = (
            maps,
            f"{maps}/x",
            f"{maps}?watch=1",
            "/apis",
            "/openapi/v2",
            "/version",
            "/sandbox/faults",
            "/readyz",
        )
        ours = {
            "Host": "127.0.0.1",
            "Authorization": f"Bearer {sandbox.token}",
            "Content-Type": "application/json",
        }
        yield Listener(int(sandbox.url.rpartition(":")[2]), known, ours)


@pytest.mark.parametrize("serving", [_pages, _live, _sandbox])
def test_odd_requests_are_refused_and_leave_nothing_behind(
    serving: object, caplog: pytest.LogCaptureFixture
) -> None:
    """No error of the server, no traceback in the log; afterwards it still answers."""
    assert callable(serving)
    with serving() as listener:
        for request in odd_requests(_SEED, _REQUESTS, listener.known, listener.headers):
            assert b" 500 " not in first_line(listener.port, request), request[:300]
        with urllib.request.urlopen(f"http://127.0.0.1:{listener.port}{listener.known[-1]}") as answer:
            assert answer.status == 200
    assert not [record for record in caplog.records if record.exc_info or record.levelname == "ERROR"]
