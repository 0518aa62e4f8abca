from __future__ import annotations

import base64
import socket
import threading
from collections.abc import Iterator

import pytest

from handloop_sandbox.custom.conversion_webhook import CallError, Target, authorities_of, call
from support.servers.conversion_webhook import ConversionWebhook, Raw


@pytest.fixture
def hook() -> Iterator[ConversionWebhook]:
    """A webhook that is up."""
    with ConversionWebhook("*.hooks.svc", "hook.other.svc") as hook:
        yield hook


def _target(hook: ConversionWebhook, name: str = "127.0.0.1") -> Target:
    authorities = authorities_of({"caBundle": hook.authority})
    return Target(f"https://{name}:{hook.port}/convert", "127.0.0.1", hook.port, name, authorities)


def test_an_answer(hook: ConversionWebhook) -> None:
    """As it came, whatever its length."""
    hook.answer = lambda _: Raw(200, body=b"x" * 300_000)
    assert len(call(_target(hook), b'{"a":1}')) == 300_000
    assert hook.reviews == [{"a": 1}]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("a.hooks.svc", ""),
        ("hook.other.svc", ""),
        ("a.b.hooks.svc", r"valid for \*.hooks.svc, hook.other.svc, not a.b.hooks.svc"),
        ("127.0.0.2", "valid for 127.0.0.1, not 127.0.0.2"),
    ],
)
def test_the_name_in_the_certificate(hook: ConversionWebhook, name: str, told: str) -> None:
    """A star stands for one label."""
    hook.answer = lambda _: Raw(200, body=b"x")
    if not told:
        assert call(_target(hook, name), b"{}") == b"x"
        return
    with pytest.raises(CallError, match=f"x509: certificate is {told}"):
        call(_target(hook, name), b"{}")


def test_an_answer_that_does_not_come(hook: ConversionWebhook) -> None:
    """The time counts from the beginning of the call."""
    held = threading.Event()

    def answer(_: object) -> Raw:
        held.wait(10)
        return Raw(200)

    hook.answer = answer
    with pytest.raises(CallError, match="context deadline exceeded"):
        call(_target(hook), b"{}", seconds=0.2)
    held.set()


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        (b"HTTP/1.0 400 Bad Request\r\n\r\n", "http: server gave HTTP response to HTTPS client"),
        (b"", "EOF"),
    ],
)
def test_a_server_without_tls(sent: bytes, told: str) -> None:
    """It answers in plain HTTP, or leaves."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]

        def serve() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(10_000)
                connection.sendall(sent)

        thread = threading.Thread(target=serve)
        thread.start()
        with pytest.raises(CallError) as failed:
            call(Target(f"https://127.0.0.1:{port}/x", "127.0.0.1", port, "127.0.0.1", ""), b"{}")
        thread.join()
    assert str(failed.value) == f'failed: Post "https://127.0.0.1:{port}/x?timeout=30s": {told}'


def test_a_blank_bundle_is_none() -> None:
    """Then the authorities of the machine count."""
    assert authorities_of({"caBundle": base64.b64encode(b" \n").decode()}) == authorities_of({}) == ""
