"""Who may read /metrics."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest

from handloop.client.errors import ConnectionRefused
from handloop.client.http.response import Response
from handloop.client.rest_client import RESTClient
from handloop.controller.runtime.rbac.roles import roles
from handloop.controller.runtime.serving.access import METRICS_AUTH_ACCESS
from handloop.controller.runtime.serving.metrics_auth import MetricsAuth
from handloop.testing.fake_clock import FakeClock
from support.doubles.scripted_transport import ScriptedTransport, answer

KNOWN = answer(201, b'{"status":{"authenticated":true,"user":{"username":"prometheus"}}}')
UNKNOWN = answer(201, b'{"status":{}}')
ALLOWED = answer(201, b'{"status":{"allowed":true}}')
DENIED = answer(201, b'{"status":{"allowed":false}}')


class Rig:
    """An auth over scripted answers, and what it asked."""

    def __init__(self, answers: Iterable[Response | Exception]) -> None:
        self.transport = ScriptedTransport(answers)
        self.clock = FakeClock()
        self.auth = MetricsAuth(RESTClient(self.transport), self.clock)

    def asked(self) -> list[str]:
        """The kinds of the reviews so far."""
        return [json.loads(sent.body or b"")["kind"] for sent in self.transport.sent]


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer ", "Basic abc", "abc"])
def test_without_a_token_no_review_is_made(header: str) -> None:
    """401, and no request to the API server for an anonymous caller."""
    rig = Rig([])
    assert rig.auth("/metrics", header) == 401
    assert rig.asked() == []


@pytest.mark.parametrize(
    ("answers", "status"),
    [([UNKNOWN], 401), ([KNOWN, DENIED], 403), ([KNOWN, ALLOWED], 200)],
)
def test_the_api_server_decides(answers: list[Response], status: int) -> None:
    """Whose the token is, and then what its bearer may do."""
    rig = Rig(answers)
    assert rig.auth("/metrics", "Bearer token") == status
    assert rig.asked() == ["TokenReview", "SubjectAccessReview"][: len(answers)]


def test_what_was_learnt_is_kept_for_a_while() -> None:
    """A bearer for a minute, leave for five."""
    rig = Rig([KNOWN, ALLOWED, KNOWN, KNOWN, ALLOWED])
    assert rig.auth("/metrics", "Bearer token") == 200
    rig.clock.advance(59.0)
    assert rig.auth("/metrics", "bearer token") == 200
    assert len(rig.asked()) == 2
    rig.clock.advance(2.0)
    assert rig.auth("/metrics", "Bearer token") == 200
    assert rig.asked()[2:] == ["TokenReview"]
    rig.clock.advance(240.0)
    assert rig.auth("/metrics", "Bearer token") == 200
    assert rig.asked()[3:] == ["TokenReview", "SubjectAccessReview"]


def test_a_refusal_is_kept_for_half_a_minute() -> None:
    """A role that has just been bound is seen soon."""
    rig = Rig([KNOWN, DENIED, ALLOWED])
    assert rig.auth("/metrics", "Bearer token") == 403
    rig.clock.advance(29.0)
    assert rig.auth("/metrics", "Bearer token") == 403
    rig.clock.advance(1.0)
    assert rig.auth("/metrics", "Bearer token") == 200


def test_paths_and_tokens_are_distinguished() -> None:
    """Leave for one is no leave for another."""
    rig = Rig([KNOWN, ALLOWED, DENIED, UNKNOWN])
    assert rig.auth("/metrics", "Bearer one") == 200
    assert rig.auth("/other", "Bearer one") == 403
    assert rig.auth("/metrics", "Bearer two") == 401


def test_without_an_api_server_no_client_gets_in() -> None:
    """500, and the next one asks again."""
    rig = Rig([ConnectionRefused("refused"), KNOWN, ALLOWED])
    assert rig.auth("/metrics", "Bearer token") == 500
    assert rig.auth("/metrics", "Bearer token") == 200


def test_tokens_are_not_kept() -> None:
    """A dump of the process's memory need not hold those of others; hashes do for the caches."""
    rig = Rig([KNOWN, ALLOWED])
    rig.auth("/metrics", "Bearer very-secret")
    kept: list[Any] = [*rig.auth._bearers, *rig.auth._allowed]
    assert "very-secret" not in repr(kept)


def test_it_needs_two_permissions() -> None:
    """Cluster-scoped creates, in a role of their own."""
    [role] = roles(METRICS_AUTH_ACCESS)
    assert (role["kind"], role["metadata"]["name"]) == ("ClusterRole", "handloop-metrics-auth")
    assert [(rule["resources"], rule["verbs"]) for rule in role["rules"]] == [
        (["tokenreviews"], ["create"]),
        (["subjectaccessreviews"], ["create"]),
    ]
