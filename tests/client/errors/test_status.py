from __future__ import annotations

from typing import Any

import pytest

from handloop.client.errors.status import (
    Status,
    StatusCause,
    reason_for_code,
    status_from_body,
    status_from_json,
)


def test_reads_every_field_of_a_status() -> None:
    """A well-formed Status keeps reason, code, message and details."""
    status = status_from_json(
        {
            "status": "Failure",
            "code": 422,
            "reason": "Invalid",
            "message": "m",
            "details": {
                "name": "n",
                "group": "g",
                "kind": "k",
                "uid": "u",
                "retryAfterSeconds": 3,
                "causes": [{"reason": "FieldValueInvalid", "message": "bad", "field": "spec.replicas"}],
            },
        }
    )
    assert (status.code, status.reason, status.message, status.status) == (422, "Invalid", "m", "Failure")
    assert status.details.causes == (StatusCause("FieldValueInvalid", "bad", "spec.replicas"),)
    assert (status.details.name, status.details.group, status.details.kind) == ("n", "g", "k")
    assert (status.details.uid, status.details.retry_after_seconds) == ("u", 3)


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        "text",
        7,
        {"code": "410", "reason": 5, "message": [], "status": {}},
        {"details": "none"},
        {"details": {"causes": "none"}},
        {"details": {"causes": [None, "x", {"reason": 1, "message": None, "field": []}]}},
        {"code": True},
        {"details": {"retryAfterSeconds": "soon"}},
        {"details": {"retryAfterSeconds": -3}},
    ],
    ids=repr,
)
def test_any_shape_is_a_status(body: Any) -> None:
    """A Status with fields of the wrong type still gives one, those fields counting as absent."""
    status = status_from_json(body)
    assert (status.code, status.reason, status.message, status.status) == (0, "", "", "Failure")
    assert status.details.retry_after_seconds == 0
    assert all(cause == StatusCause() for cause in status.details.causes)


def test_code_of_the_body_beats_that_of_the_response() -> None:
    """The HTTP status code only fills in for a body without one."""
    assert status_from_json({"code": 410}, code=200).code == 410
    assert status_from_json({}, code=404) == Status(code=404, reason="NotFound")


def test_text_body_becomes_the_message() -> None:
    """An answer that is no Status, such as a proxy's page, is shown as it is."""
    assert status_from_body(b"404 page not found\n", 404) == Status(
        code=404, reason="NotFound", message="404 page not found"
    )


@pytest.mark.parametrize("body", [b'{"kind":"Table"}', b"[1]", b"", b"null"], ids=repr)
def test_json_that_is_no_status_is_text(body: bytes) -> None:
    """Only kind Status is read as one."""
    assert status_from_body(body, 502) == Status(code=502, message=body.decode())


def test_unprintable_bytes_are_escaped_and_long_ones_cut() -> None:
    """A binary body cannot put control characters into a log, nor megabytes."""
    status = status_from_body(b"k8s\x00\x1b[31m\xff" + b"x" * 10_000, 500)
    assert status.message.startswith("k8s\\x00\\x1b[31m\\xff")
    assert len(status.message) < 2100


def test_a_status_that_is_not_utf8_is_text() -> None:
    """A gateway's page in another encoding is still an error with a code, even inside JSON."""
    status = status_from_body(b'{"kind":"Status","message":"caf\xe9"}', 502)
    assert (status.code, status.message) == (502, '{"kind":"Status","message":"caf\\xe9"}')


def test_deeply_nested_body_is_text() -> None:
    """A body that no decoder can read is still an error with a code."""
    status = status_from_body(b"[" * 100_000, 500)
    assert (status.code, status.reason) == (500, "InternalError")


@pytest.mark.parametrize(("code", "reason"), [(409, "Conflict"), (410, "Gone"), (418, ""), (504, "Timeout")])
def test_reason_for_code(code: int, reason: str) -> None:
    """A bare status code stands for the reason the server would have given."""
    assert reason_for_code(code) == reason
