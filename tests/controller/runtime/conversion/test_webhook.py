"""The webhook, asked over TLS as an API server does, and the certificate that it serves with."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from http.client import HTTPSConnection
from time import time
from typing import Any, Final

import pytest
from prometheus_client import CollectorRegistry

from handloop.controller.runtime.conversion.trust import NO_PAIR
from handloop.controller.runtime.conversion.webhook import AGAIN_SECONDS, NoPairError, ServedPair, Webhook
from handloop.controller.runtime.serving.bind_address import BindAddress
from handloop.controller.runtime.serving.key_pairs import KeyPair, new_pair
from handloop.testing.eventually import eventually
from handloop.testing.fake_clock import FakeClock
from support.builders.converted_sites import Site
from support.checks.api_errors import api_error
from support.checks.captured_logs import captured_logs
from support.checks.threads import Background

METRICS: Final = "controller_runtime_webhook"


def pair() -> KeyPair:
    """One for loopback."""
    return new_pair("webhook", time(), timedelta(days=1), hosts=("127.0.0.1",))


class Secret:
    """What the server says of the Secret."""

    def __init__(self, answer: KeyPair | Exception = NO_PAIR) -> None:
        self.answer = answer

    def __call__(self) -> KeyPair:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


# -- the certificate


def test_it_is_there_as_soon_as_the_secret_has_one() -> None:
    """Until then no connection is taken, and the process is not ready."""
    secret = Secret()
    served = ServedPair(secret)
    assert not served.refresh()
    assert served.check() == "no certificate yet"
    with pytest.raises(NoPairError):
        served.context()
    secret.answer = pair()
    assert served.refresh()
    assert served.check() is None
    first = served.context()
    assert served.refresh()
    assert served.context() is first
    secret.answer = pair()
    assert served.refresh()
    assert served.context() is not first


@pytest.mark.parametrize(
    "lost",
    [
        NO_PAIR,
        KeyPair(b"x", b"y"),
        api_error(403, "Forbidden"),
        api_error(503, "ServiceUnavailable"),
        OSError("x"),
    ],
)
def test_one_that_is_lost_is_served_on(lost: KeyPair | Exception) -> None:
    """The definitions trust it, whatever has become of the Secret; the log says once what is wrong."""
    secret = Secret(pair())
    served = ServedPair(secret)
    served.refresh()
    first, secret.answer = served.context(), lost
    with captured_logs() as logs:
        assert served.refresh()
        assert served.refresh()
    assert served.context() is first
    assert served.check() is None
    assert len(logs) == (lost != NO_PAIR)


def test_a_trouble_that_comes_back_is_told_again() -> None:
    """And another at once."""
    secret = Secret()
    served = ServedPair(secret)
    with captured_logs() as logs:
        for answer in (OSError("a"), OSError("a"), OSError("b"), NO_PAIR, OSError("b")):
            secret.answer = answer
            served.refresh()
    assert [line["err"] for line in logs] == ["a", "b", "b"]


# -- the server


class Running:
    """A webhook that runs, and whoever trusts it."""

    def __init__(self, secret: Secret) -> None:
        self.secret, self.registry, self.clock = secret, CollectorRegistry(), FakeClock()
        self.served = ServedPair(secret)
        self.webhook = Webhook(
            [Site],
            BindAddress("127.0.0.1", 0),
            self.served.context,
            refresh=self.served.refresh,
            check=self.served.check,
            registry=self.registry,
            clock=self.clock,
        )

    def connect(self) -> HTTPSConnection:
        """As a server that trusts what the Secret has."""
        assert isinstance(self.secret.answer, KeyPair)
        context = ssl.create_default_context(cadata=self.secret.answer.certificate.decode())
        return HTTPSConnection("127.0.0.1", self.webhook.port, timeout=20, context=context)

    def ask(self, body: bytes, path: str = "/convert?timeout=30s") -> tuple[int, bytes]:
        """One request."""
        with closing(self.connect()) as client:
            client.request("POST", path, body)
            with client.getresponse() as answer:
                return answer.status, answer.read()

    def metric(self, name: str, **labels: str) -> float | None:
        """A value."""
        return self.registry.get_sample_value(f"{METRICS}_{name}", {"webhook": "/convert"} | labels)


@contextmanager
def running(secret: Secret) -> Iterator[Running]:
    """For as long as the block lasts."""
    rig, stop = Running(secret), threading.Event()
    ending = Background(lambda: rig.webhook.run(stop))
    try:
        rig.clock.wait_for_waiters(1)
        yield rig
    finally:
        stop.set()
        ending.result()


def review(**spec: Any) -> bytes:
    """Of one object."""
    obj = {"apiVersion": "example.org/v1", "kind": "Site", "metadata": {"name": "a"}, "spec": spec}
    request = {"uid": "u", "desiredAPIVersion": "example.org/v1beta1", "objects": [obj]}
    return json.dumps({"request": request}).encode()


def test_a_review_is_answered_and_counted() -> None:
    """Also one whose objects are not converted; what is no review is 400."""
    with running(Secret(pair())) as rig:
        status, body = rig.ask(review(replicas=3))
        assert (status, json.loads(body)["response"]["convertedObjects"][0]["spec"]) == (200, {"size": 3})
        status, body = rig.ask(review(replicas="x"))
        assert (status, json.loads(body)["response"]["result"]["status"]) == (200, "Failure")
        status, body = rig.ask(b"hi")
        assert (status, body.startswith(b"no ConversionReview")) == (400, True)
        assert rig.ask(b"", "/other")[0] == 404
        assert rig.metric("requests_total", code="200") == 2
        assert rig.metric("requests_total", code="400") == 1
        assert rig.metric("latency_seconds_count") == 3


def test_a_client_that_asks_again_fills_no_log() -> None:
    """Nor does one that asks for something else each time; a minute later it is news again."""
    with captured_logs() as logs, running(Secret(pair())) as rig:

        def told() -> int:
            return len([line for line in logs if line["event"] == "Could not convert"])

        for _ in range(3):
            rig.ask(review(replicas="x"))
        assert told() == 1
        for number in range(30):
            rig.ask(review(replicas=[number] * number))
        assert told() < 25
        rig.clock.advance(61.0)
        before = told()
        rig.ask(review(replicas="x"))
        assert told() == before + 1


def test_a_new_certificate_is_for_new_connections() -> None:
    """One that is open goes on."""
    secret = Secret(pair())
    with running(secret) as rig, closing(rig.connect()) as client:
        client.connect()
        secret.answer = pair()
        rig.clock.advance(AGAIN_SECONDS)
        eventually(lambda: _can_ask(rig), "the new one is served")
        client.request("POST", "/convert", review())
        with client.getresponse() as answer:
            assert answer.status == 200


def _can_ask(rig: Running) -> bool:
    try:
        return rig.ask(review())[0] == 200
    except ssl.SSLError:
        return False


def test_before_a_certificate_connections_end_and_then_they_do_not() -> None:
    """It looks often, until there is one."""
    secret = Secret()
    with running(secret) as rig:
        assert rig.webhook.ready_check() == "no certificate yet"
        with socket.create_connection(("127.0.0.1", rig.webhook.port), timeout=20) as client:
            assert client.recv(1) == b""
        secret.answer = pair()
        rig.clock.advance(1.0)
        eventually(lambda: rig.webhook.ready_check() is None, "ready")
        assert rig.ask(review())[0] == 200


def test_whoever_speaks_no_tls_or_an_old_one_keeps_nobody_out() -> None:
    """Nor does one that never finishes its handshake."""
    with running(Secret(pair())) as rig:
        address = ("127.0.0.1", rig.webhook.port)
        with (
            socket.create_connection(address, timeout=20) as silent,
            socket.create_connection(address) as plain,
        ):
            plain.sendall(b"POST /convert HTTP/1.1\r\nContent-Length: 0\r\n\r\n")
            plain.settimeout(20)
            assert b"HTTP" not in plain.recv(100)
            old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
            with pytest.warns(DeprecationWarning, match="TLSv1_1"):
                old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_1
            old.set_ciphers("ALL:@SECLEVEL=0")
            with pytest.raises(ssl.SSLError, match="version"), socket.create_connection(address) as client:
                old.wrap_socket(client)
            assert rig.ask(review())[0] == 200
            assert silent.fileno() >= 0
