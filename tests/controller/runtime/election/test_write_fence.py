"""Nothing is written by a process that does not lead."""

from __future__ import annotations

import math

import pytest

from handloop.client.auth.credentials import StaticCredentials
from handloop.client.config import ClientConfig
from handloop.client.errors import Cancelled, DeadlineExceeded
from handloop.client.transport import HTTPTransport
from handloop.controller.runtime.election.write_fence import WriteFence
from handloop.seams.seams import Seams
from handloop.testing.fake_clock import FakeClock
from support.doubles.scripted_transport import ScriptedStream, ScriptedTransport, answer
from support.servers.wire_server import WireServer, always, response

FOO = "/apis/samplecontroller.k8s.io/v1alpha1/namespaces/default/foos/a/status"


def fence(*, leading: bool) -> tuple[WriteFence, ScriptedTransport]:
    """A fence, and the transport behind it."""
    transport = ScriptedTransport([answer()], [ScriptedStream()])
    return WriteFence(transport, lambda _path: 7.5 if leading else 0.0), transport


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_a_standby_writes_nothing(method: str) -> None:
    """The request is refused before it is sent, and its error is that: the outcome is known."""
    closed, transport = fence(leading=False)
    with pytest.raises(Cancelled, match="not the leader: nothing was sent") as error:
        closed.request(method, FOO, body=b"{}")
    assert error.value.request == f"{method} {FOO}"
    assert not error.value.outcome_unknown
    assert transport.sent == []


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_a_leader_writes(method: str) -> None:
    """Everything is handed on as it came, with the time until another may lead for it to leave."""
    opened, transport = fence(leading=True)
    opened.request(method, FOO, query={"a": "b"}, headers={"c": "d"}, body=b"{}", timeout_seconds=3.0)
    [sent] = transport.sent
    assert (sent.method, sent.path, sent.body, sent.timeout_seconds) == (method, FOO, b"{}", 3.0)
    assert (sent.query, dict(sent.headers)) == ({"a": "b"}, {"c": "d"})
    assert sent.send_seconds == 7.5


class SlowCredentials(StaticCredentials):
    """Credentials of a program that takes some seconds."""

    def __init__(self, clock: FakeClock, seconds: float) -> None:
        super().__init__("Bearer x")
        self._clock = clock
        self._seconds = seconds

    def authorization(self, timeout_seconds: float = math.inf) -> str:
        self._clock.advance(self._seconds)
        return super().authorization(timeout_seconds)


@pytest.mark.parametrize(("seconds", "arrives"), [(9.0, True), (10.0, False), (17.0, False)])
@pytest.mark.parametrize("warm", [True, False])
def test_what_is_held_up_behind_the_fence_does_not_leave_late(
    seconds: float, arrives: bool, warm: bool
) -> None:
    """While credentials were fetched another became the leader, and gets no writes of ours."""
    clock = FakeClock()
    with WireServer(always(response())) as server:
        config = ClientConfig(host=server.url, credentials=SlowCredentials(clock, seconds))
        transport = HTTPTransport(config, seams=Seams(clock=clock))
        if warm:
            transport.request("GET", "/")
        renewed_at = clock.now()
        opened = WriteFence(transport, lambda _path: renewed_at + 10.0 - clock.now())
        if arrives:
            opened.request("PUT", FOO, body=b"{}")
        else:
            with pytest.raises(DeadlineExceeded, match=r"not completely sent in 10 s$") as caught:
                opened.request("PUT", FOO, body=b"{}")
            assert not caught.value.outcome_unknown
        transport.close()
        assert [request.method for request in server.requests] == ["GET"] * warm + ["PUT"] * arrives


def test_a_standby_reads() -> None:
    """Its caches stay warm."""
    closed, transport = fence(leading=False)
    closed.request("GET", FOO)
    closed.stream("GET", FOO, read_timeout_seconds=2.0)
    assert [(sent.method, sent.send_seconds) for sent in transport.sent] == [("GET", math.inf)] * 2
    assert closed.host == ScriptedTransport.host


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/api/v1/namespaces/default/events"),
        ("PATCH", "/api/v1/namespaces/default/events/a.17"),
        ("POST", "/apis/events.k8s.io/v1/namespaces/default/events"),
        ("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"),
        ("POST", "/apis/authentication.k8s.io/v1/tokenreviews"),
    ],
)
def test_events_and_reviews_pass(method: str, path: str) -> None:
    """Events for people, and questions about access, are not the work that the lease guards."""
    closed, transport = fence(leading=False)
    closed.request(method, path, body=b"{}")
    assert [sent.send_seconds for sent in transport.sent] == [math.inf]


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/namespaces/events/services",
        "/api/v1/namespaces/default/services/events",
        "/api/v1/namespaces/default/services/a/events",
        "/apis/example.com/v1/namespaces/default/events",
        "/api/v1/namespaces/events",
    ],
)
def test_a_name_that_only_looks_like_events_does_not_pass(path: str) -> None:
    """A namespace, an object or a custom kind may be called so."""
    closed, transport = fence(leading=False)
    with pytest.raises(Cancelled):
        closed.request("POST", path, body=b"{}")
    assert transport.sent == []
