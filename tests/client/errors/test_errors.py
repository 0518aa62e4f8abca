from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from handloop.client import errors
from handloop.client.errors import (
    APIError,
    ClientError,
    ConfigError,
    ConfigProblem,
    Conflict,
    ConnectionRefused,
    CredentialsError,
    NoKindMatch,
    NotFound,
    TransportError,
    error_from_status,
    is_expired,
    is_too_large_resource_version,
    seconds_asked_for,
)
from handloop.client.errors.status import (
    Status,
    StatusCause,
    StatusDetails,
    status_from_body,
    status_from_json,
)

CORPUS = Path(__file__).parents[3] / "sandbox/tests/contract/corpus" / "corpus.jsonl"

REAL_BODIES = [
    (400, "BadRequest", "BadRequest", "Widget in version v1 cannot be handled as a Widget"),
    (401, "Unauthorized", "Unauthorized", "Unauthorized"),
    (403, "Forbidden", "Forbidden", 'widgets.conf.example.com is forbidden: User "alice" cannot list'),
    (404, "NotFound", "NoKindMatch", "the server could not find the requested resource"),
    (405, "MethodNotAllowed", "MethodNotAllowed", "create is not supported on resources of kind"),
    (406, "NotAcceptable", "NotAcceptable", "406: Not Acceptable"),
    (409, "AlreadyExists", "AlreadyExists", 'namespaces "conf" already exists'),
    (409, "Conflict", "Conflict", "Operation cannot be fulfilled on widgets.conf.example.com"),
    (410, "Expired", "Expired", "The provided continue parameter is too old"),
    (410, "Gone", "Gone", "too old resource version"),
    (413, "RequestEntityTooLarge", "RequestEntityTooLarge", "limit is 3145728"),
    (415, "UnsupportedMediaType", "UnsupportedMediaType", "the body of the request was in an unknown format"),
    (422, "Invalid", "Invalid", 'Namespace "Bad_Name" is invalid'),
    (429, "TooManyRequests", "TooManyRequests", "Cannot evict pod"),
    (500, "InternalError", "InternalError", "an error on the server"),
    (500, "StoreReadError", "InternalError", "the object could not be read from etcd"),
    (500, "ServerTimeout", "ServerTimeout", "The POST operation against foos could not be completed"),
    (503, "ServiceUnavailable", "ServiceUnavailable", "the server is currently unable to handle the request"),
    (504, "Timeout", "ServerTimeout", "Timeout: Too large resource version: 99999999, current: 65"),
]


@pytest.mark.parametrize(("code", "reason", "name", "message"), REAL_BODIES)
def test_each_reason_has_its_class(code: int, reason: str, name: str, message: str) -> None:
    """The server's reason picks the class, with any code."""
    error = error_from_status(status_from_json({"code": code, "reason": reason, "message": message}))
    assert type(error).__name__ == name
    assert (error.code, error.reason, str(error)) == (code, reason, message)


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (400, "BadRequest"),
        (404, "NoKindMatch"),
        (409, "Conflict"),
        (410, "Gone"),
        (429, "TooManyRequests"),
        (500, "InternalError"),
        (503, "ServiceUnavailable"),
        (504, "ServerTimeout"),
        (418, "APIError"),
        (0, "APIError"),
    ],
)
def test_code_picks_the_class_when_the_reason_does_not(code: int, name: str) -> None:
    """An unknown reason, or none, leaves the HTTP status code to decide."""
    for reason in ("", "Novel"):
        assert type(error_from_status(Status(code=code, reason=reason))).__name__ == name


def test_every_recorded_failure_of_a_real_server_is_understood() -> None:
    """Each failed answer of a kube-apiserver becomes a class of its own kind with its message."""
    failures = 0
    for line in CORPUS.read_text(encoding="utf-8").splitlines():
        answer = json.loads(line)["response"]
        if answer["status"] < 400:
            continue
        failures += 1
        body = json.dumps(answer["body"]) if answer.get("body") is not None else answer.get("text", "")
        error = error_from_status(status_from_body(body.encode(), answer["status"]))
        assert type(error) is not APIError
        assert error.code == answer["status"]
        assert error.status.message
        if isinstance(answer.get("body"), dict) and answer["body"].get("reason"):
            assert error.reason == answer["body"]["reason"]
    assert failures > 100


def test_every_recorded_error_event_means_expired() -> None:
    """The ERROR events that a kube-apiserver sent for old resource versions are recognised."""
    events: list[dict[str, Any]] = []
    for line in CORPUS.read_text(encoding="utf-8").splitlines():
        events += json.loads(line)["response"].get("events") or []
    expired = [event for event in events if event.get("type") == "ERROR"]
    assert expired
    assert all(is_expired(error_from_status(status_from_json(event["object"]))) for event in expired)


def test_message_names_verb_resource_and_object() -> None:
    """An error can be understood without its traceback."""
    error = error_from_status(
        Status(code=409, reason="Conflict", message="the object has been modified"),
        verb="update",
        resource="foos.samplecontroller.k8s.io",
        namespace="default",
        name="web",
    )
    assert str(error) == (
        "update foos.samplecontroller.k8s.io default/web: the object has been modified (409 Conflict)"
    )
    assert isinstance(error, Conflict)


def test_message_without_object_or_reason() -> None:
    """Unknown parts are left out of the message."""
    error = error_from_status(Status(message="m"), verb="list", resource="pods")
    assert str(error) == "list pods: m"
    assert str(error_from_status(Status())) == "no message"


def test_a_missing_object_and_a_missing_resource_are_two_errors() -> None:
    """`except NotFound` is for an object that is gone: a missing CRD or a wrong plural is no such answer."""
    gone = error_from_status(Status(code=404, details=StatusDetails(name="a", kind="foos")))
    assert type(gone) is NotFound
    assert isinstance(gone, LookupError)
    for body in (b"404 page not found\n", b'{"kind":"Status","code":404,"reason":"NotFound","details":{}}'):
        error = error_from_status(status_from_body(body, 404))
        assert type(error) is NoKindMatch
        assert not isinstance(error, NotFound | LookupError)


def test_a_real_server_names_the_object_that_it_does_not_find() -> None:
    """In each recorded 404 about an object, and in no other."""
    told = {"NotFound": 0, "NoKindMatch": 0}
    for line in CORPUS.read_text(encoding="utf-8").splitlines():
        answer = json.loads(line)["response"]
        if answer["status"] == 404:
            body = answer["text"] if "text" in answer else json.dumps(answer["body"])
            error = error_from_status(status_from_body(body.encode(), 404))
            assert isinstance(error, NotFound) == (f'"{error.status.details.name}" not found' in str(error))
            told[type(error).__name__] += 1
    assert min(told.values()) > 5


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (error_from_status(Status(code=410, reason="Expired")), True),
        (error_from_status(Status(code=410, reason="Gone")), True),
        (error_from_status(Status(code=410)), True),
        (error_from_status(Status(reason="Expired")), True),
        (error_from_status(Status(code=410, reason="Novel")), True),
        (error_from_status(Status(code=404)), False),
        (ValueError("410"), False),
    ],
    ids=repr,
)
def test_is_expired(error: Exception, expected: bool) -> None:
    """410 in either spelling, as a code or as a reason."""
    assert is_expired(error) is expected


def too_large(**fields: Any) -> APIError:
    return error_from_status(Status(**fields))


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (
            too_large(code=504, details=StatusDetails(causes=(StatusCause("ResourceVersionTooLarge"),))),
            True,
        ),
        (
            too_large(
                reason="Timeout",
                details=StatusDetails(causes=(StatusCause("", "Too large resource version"),)),
            ),
            True,
        ),
        (too_large(reason="Timeout", message="Timeout: Too large resource version: 9, current: 1"), True),
        (too_large(reason="Timeout", message="request did not complete"), False),
        (too_large(reason="Invalid", message="Too large resource version"), False),
        (ValueError("Too large resource version"), False),
    ],
    ids=["cause", "message of a cause", "message", "another timeout", "not a timeout", "not from the API"],
)
def test_is_too_large_resource_version(error: Exception, expected: bool) -> None:
    """All three answers of servers that have not seen a version yet."""
    assert is_too_large_resource_version(error) is expected


def test_retry_after_comes_from_the_details_when_no_header_gave_it() -> None:
    """The Status may carry the wait by itself; a header's wins."""
    status = Status(code=429, details=StatusDetails(retry_after_seconds=7))
    assert error_from_status(status).retry_after_seconds == 7.0
    assert error_from_status(status, retry_after_seconds=2.0).retry_after_seconds == 2.0
    assert error_from_status(Status(code=429)).retry_after_seconds is None


def failed(code: int, wait: float | None) -> APIError:
    return error_from_status(Status(code=code), retry_after_seconds=wait)


@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        (failed(429, 7), 7.0),
        (failed(503, 7), 7.0),
        (failed(429, 86_400), 120.0),
        (failed(429, None), 0.0),
        (ConnectionRefused("x"), 0.0),
        (ValueError("x"), 0.0),
    ],
)
def test_what_a_failure_asks_for(error: Exception, seconds: float) -> None:
    """Whoever tries again by itself leaves the server alone for so long, two minutes at most."""
    assert seconds_asked_for(error) == seconds


def test_every_error_has_the_same_root() -> None:
    """Whoever backs off on anything from the client catches one class."""
    found = [
        value
        for value in vars(errors).values()
        if isinstance(value, type)
        and issubclass(value, Exception)
        and value.__module__ == "handloop.client.errors"
    ]
    assert len(found) > 25
    assert all(issubclass(value, ClientError) for value in found)


def test_config_error_reads_as_message_and_cause() -> None:
    """The command line has its parts, other callers one line."""
    error = ConfigError(ConfigProblem.UNREADABLE, "kubeconfig /x", cause="no such file", fix="ls -l /x")
    assert str(error) == "kubeconfig /x: no such file"
    assert str(ConfigError(ConfigProblem.CONTEXT, "no context")) == "no context"


def test_transport_error_names_method_host_and_path() -> None:
    """A lost answer names its request, and its outcome as unknown."""
    error = TransportError("connection reset", host="https://h:1", request="PUT /a", outcome_unknown=True)
    assert str(error) == "PUT https://h:1/a: connection reset (outcome unknown)"
    assert str(TransportError("gone")) == "gone"
    assert str(TransportError("gone", host="https://h")) == "https://h: gone"


def test_credentials_error_keeps_the_problem() -> None:
    """A request that could not be sent for want of credentials carries what the command line explains."""
    problem = ConfigError(ConfigProblem.EXEC_PLUGIN, "not found", plugin="p", install_hint="brew install p")
    error = CredentialsError(problem, host="https://h", request="GET /version")
    assert error.problem is problem
    assert str(error) == "GET https://h/version: not found"
    assert not error.outcome_unknown
