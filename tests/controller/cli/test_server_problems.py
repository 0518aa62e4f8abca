"""E04, E05, E06 and E09 in words."""

from __future__ import annotations

import pytest

from handloop.client.errors import (
    ConnectionBroken,
    ConnectionRefused,
    DeadlineExceeded,
    DecodeError,
    Forbidden,
    InternalError,
    NameResolutionError,
    NotFound,
    ProxyError,
    Status,
    TLSError,
    TLSProblem,
    TransportError,
    Unauthorized,
)
from handloop.controller.cli import server_problems


def test_e04_mentions_containers_only_for_loopback() -> None:
    """127.0.0.1 refused inside a container is the usual cause."""
    local = server_problems.server_problem(
        ConnectionRefused("connection refused"), host="https://127.0.0.1:1"
    )
    remote = server_problems.server_problem(
        ConnectionRefused("connection refused"), host="https://10.0.0.1:1"
    )
    assert (local.code, local.exit_code) == ("E04", 4)
    assert local.what == "cannot reach https://127.0.0.1:1: connection refused"
    assert any("container" in fix for fix in local.fixes)
    assert not any("container" in fix for fix in remote.fixes)


def test_e04_says_how_hard_it_tried() -> None:
    """How often and for how long, unless it was once."""
    problem = server_problems.server_problem(
        ConnectionRefused("connection refused"), host="h", effort=server_problems.Effort(tries=3, seconds=6.8)
    )
    assert problem.what == "cannot reach h: connection refused (tried 3 times, 7s)"


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (ConnectionRefused("refused"), "nothing listens there"),
        (NameResolutionError("no address"), "the name has no address"),
        (DeadlineExceeded("no complete answer"), "nothing answers there"),
        (ProxyError("proxy refused"), "the proxy"),
        (ConnectionBroken("reset"), "the connection does not hold"),
    ],
)
def test_e04_gives_the_likely_cause(error: TransportError, cause: str) -> None:
    """What each way of not reaching a server usually means."""
    assert cause in server_problems.server_problem(error, host="h").causes[0]


@pytest.mark.parametrize("problem", TLSProblem)
def test_e05_gives_the_likely_cause(problem: TLSProblem) -> None:
    """One fact for every way in which TLS fails; what comes first names the certificate."""
    found = server_problems.server_problem(
        TLSError("certificate for x expired", problem=problem), host="https://x"
    )
    assert (found.code, found.exit_code, len(found.causes)) == ("E05", 4, 1)
    assert found.what == "certificate for x expired (https://x)"


def test_e05_never_suggests_to_skip_verification() -> None:
    """Names in the certificate help; turning the check off does not."""
    problem = server_problems.server_problem(TLSError("not trusted", names=("a", "b")), host="https://x")
    assert "a, b" in problem.causes[1]
    assert "insecure" not in str(problem)


@pytest.mark.parametrize(
    ("message", "known", "cause"),
    [
        ("Unauthorized", "token expired 3 h ago", "token expired 3 h ago"),
        ("Unauthorized", "", "a token that has expired or was revoked"),
        ("", "", "a token that has expired or was revoked"),
        ("the clock is wrong", "", "the clock is wrong"),
    ],
)
def test_e06_for_401(message: str, known: str, cause: str) -> None:
    """What we know about our credentials comes first, then what the server says beyond its standard word."""
    error = Unauthorized(Status(code=401, message=message))
    problem = server_problems.server_problem(error, host="h", credentials=known)
    assert (problem.code, problem.exit_code) == ("E06", 3)
    assert problem.causes[0].startswith(cause)


def test_e09_when_not_even_the_question_is_allowed() -> None:
    """A 403 to everything is about permissions, not about the connection."""
    problem = server_problems.server_problem(Forbidden(Status(code=403, message="no")), host="h")
    assert (problem.code, problem.exit_code, problem.causes) == ("E09", 5, ("no",))


@pytest.mark.parametrize(
    ("error", "what", "fix"),
    [
        (NotFound(Status(code=404)), "does not answer like a Kubernetes API server", "kubectl config view"),
        (DecodeError("<html>"), "does not answer like a Kubernetes API server", "kubectl config view"),
        (InternalError(Status(code=500)), "is not well", "kubectl get --raw /readyz?verbose"),
    ],
)
def test_e04_for_answers_that_make_no_sense(error: Exception, what: str, fix: str) -> None:
    """Something listens there and is no API server, or one in trouble."""
    problem = server_problems.server_problem(error, host="h")
    assert (problem.code, problem.exit_code) == ("E04", 4)
    assert problem.what == f"h {what}"
    assert problem.fixes[0].startswith(fix)
