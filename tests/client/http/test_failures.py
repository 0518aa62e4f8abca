from __future__ import annotations

import errno
import http.client
import socket
import ssl

import pytest

from handloop.client.errors import (
    BadAnswer,
    ConfigError,
    ConfigProblem,
    ConnectionBroken,
    ConnectionRefused,
    CredentialsError,
    DeadlineExceeded,
    NameResolutionError,
    ProxyError,
    TLSError,
    TransportError,
)
from handloop.client.http.chunked import ChunkError
from handloop.client.http.failures import FAILURES, Attempt, explain


def attempt(*, write: bool = False, sent: bool = True, proxy: str = "") -> Attempt:
    return Attempt(
        host="https://k8s.example:6443",
        request="PUT /a" if write else "GET /a",
        write=write,
        sent=sent,
        seconds=30,
        verified_name="k8s.example",
        proxy=proxy,
        probe=lambda: None,
    )


@pytest.mark.parametrize(
    ("error", "kind", "reason"),
    [
        (ConnectionRefusedError(), ConnectionRefused, "connection refused"),
        (ConnectionResetError(), ConnectionBroken, "connection reset"),
        (BrokenPipeError(), ConnectionBroken, "the server closed the connection"),
        (
            http.client.RemoteDisconnected("x"),
            ConnectionBroken,
            "the server closed the connection without an answer",
        ),
        (http.client.IncompleteRead(b""), ConnectionBroken, "the answer was cut off"),
        (TimeoutError("timed out"), DeadlineExceeded, "no complete answer in 30 s"),
        (
            socket.gaierror(socket.EAI_NONAME, "Name or service not known"),
            NameResolutionError,
            "no address for k8s.example (name or service not known)",
        ),
        (http.client.BadStatusLine("garbage\n"), BadAnswer, "not a valid HTTP answer: garbage\\n"),
        (
            http.client.LineTooLong("header line"),
            BadAnswer,
            "not a valid HTTP answer: got more than 65536 bytes",
        ),
        (ChunkError("not a chunk size: b'zz'"), BadAnswer, "not a valid HTTP answer: not a chunk size"),
        (OSError(errno.EHOSTUNREACH, "x"), TransportError, "no route to host"),
        (OSError(errno.EMFILE, "x"), TransportError, "too many open files"),
        (OSError("odd"), TransportError, "odd"),
        (ssl.SSLEOFError(8, "EOF occurred"), ConnectionBroken, "the server closed the connection"),
        (ssl.SSLError(1, "[SSL: INTERNAL_ERROR] internal error"), TLSError, "TLS handshake failed"),
    ],
    ids=lambda value: getattr(value, "__name__", None) or repr(value),
)
def test_each_failure_has_its_error(error: Exception, kind: type[TransportError], reason: str) -> None:
    """T01, T03, T05, T08, T40: every failure of a socket has a class, words, host and request."""
    assert isinstance(error, FAILURES)
    found = explain(error, attempt())
    assert type(found) is kind
    assert isinstance(found, TransportError)
    assert found.reason.startswith(reason)
    assert (found.host, found.request) == ("https://k8s.example:6443", "GET /a")
    assert not found.outcome_unknown


@pytest.mark.parametrize(
    ("write", "sent", "unknown"), [(True, True, True), (True, False, False), (False, True, False)]
)
def test_only_a_write_that_was_sent_is_unknown(write: bool, sent: bool, unknown: bool) -> None:
    """T08: a request that never left, and a read, have no unknown outcome."""
    found = explain(ConnectionResetError(), attempt(write=write, sent=sent))
    assert isinstance(found, TransportError)
    assert found.outcome_unknown is unknown


def test_the_proxy_is_named() -> None:
    """T39: when a proxy refuses, it is the proxy's name that helps."""
    refused = explain(ConnectionRefusedError(), attempt(sent=False, proxy="http://proxy:3128"))
    assert (type(refused), str(refused)) == (
        ProxyError,
        "GET https://k8s.example:6443/a: proxy http://proxy:3128 refused the connection",
    )
    tunnel = explain(
        OSError("Tunnel connection failed: 407 Auth"), attempt(sent=False, proxy="http://proxy:3128")
    )
    assert isinstance(tunnel, ProxyError)
    assert tunnel.reason == "proxy http://proxy:3128 refused: 407 Auth"
    unknown = explain(socket.gaierror(-2, "Unknown"), attempt(sent=False, proxy="http://proxy:3128"))
    assert isinstance(unknown, NameResolutionError)
    assert unknown.reason == "no address for proxy (unknown)"


def test_configuration_problems_become_credentials_errors() -> None:
    """A request without credentials failed before it was sent, and keeps the problem for the command line."""
    problem = ConfigError(ConfigProblem.EXEC_PLUGIN, "exec plugin not found")
    found = explain(problem, attempt(write=True, sent=False))
    assert isinstance(found, CredentialsError)
    assert found.problem is problem


def test_our_own_errors_pass_with_host_and_request() -> None:
    """What has been explained already is completed, not explained again."""
    error = BadAnswer("too large")
    assert explain(error, attempt(write=True)) is error
    assert (error.host, error.request, error.outcome_unknown) == ("https://k8s.example:6443", "PUT /a", True)
