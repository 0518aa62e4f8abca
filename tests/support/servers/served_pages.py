"""A page server on loopback, and what it answers."""

from __future__ import annotations

import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

from handloop.controller.runtime.serving.page_server import Page, PageServer


@contextmanager
def serving(pages: dict[str, Page], host: str = "127.0.0.1") -> Iterator[str]:
    """A running server; gives its URL."""
    server = PageServer(host, 0, pages, purpose="health")
    server.start()
    try:
        yield f"http://[{host}]:{server.port}" if ":" in host else f"http://{host}:{server.port}"
    finally:
        server.stop()


def fetch(
    url: str, *, context: ssl.SSLContext | None = None, token: str = "", host: str = ""
) -> tuple[int, str]:
    """Status and body."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    headers |= {"Host": host} if host else {}
    try:
        request = urllib.request.Request(url, headers=headers)
        with urllib.request.urlopen(request, timeout=20, context=context) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()
