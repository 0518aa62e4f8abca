from __future__ import annotations

from collections.abc import Iterator

import pytest

from handloop.client.request_reports import (
    ServerWarnings,
    log_answer,
    log_body,
    log_headers,
    masked,
    set_verbosity,
)
from support.checks.captured_logs import captured_logs

TOKEN = "canary-token-5f3a"


@pytest.fixture(autouse=True)
def _quiet_again() -> Iterator[None]:
    yield
    set_verbosity(0)


def log_everything() -> str:
    """What a request logs at the set level."""
    with captured_logs() as entries:
        log_answer(verb="GET", url="h/api", status=200, seconds=0.0123)
        log_headers("Request headers", "GET /api", [("Authorization", f"Bearer {TOKEN}"), ("Accept", "json")])
        log_body("Request body", "/api/v1/pods", b"x" * 5000)
        log_body("Request body", "/api/v1/namespaces/n/secrets/s", TOKEN.encode())
        log_body("Response body", "/api/v1/namespaces/n/serviceaccounts/s/token", TOKEN.encode())
        log_body("Request body", "/api/v1/pods", b"")
    return "\n".join(str(entry) for entry in entries)


@pytest.mark.parametrize(("level", "lines"), [(0, 0), (5, 0), (6, 1), (7, 2), (8, 5), (9, 5)], ids=str)
def test_each_level_adds_its_lines(level: int, lines: int) -> None:
    """-v 6 shows requests, 7 headers, 8 bodies; below that requests are not logged at all."""
    set_verbosity(level)
    text = log_everything()
    assert len(text.splitlines()) == lines


def test_the_line_has_verb_url_code_and_milliseconds() -> None:
    """-v 6: one line per attempt."""
    set_verbosity(6)
    with captured_logs() as entries:
        log_answer(verb="GET", url="h/api", status=200, seconds=0.0123)
    assert entries == [
        {
            "event": "Response",
            "log_level": "debug",
            "v": 6,
            "verb": "GET",
            "url": "h/api",
            "status": 200,
            "milliseconds": 12.3,
        }
    ]


def test_bodies_are_cut_below_level_9() -> None:
    """-v 8 shows the first kilobyte of a body, 9 all of it."""
    for level, length in ((8, 1024), (9, 5000)):
        set_verbosity(level)
        with captured_logs() as entries:
            log_body("Response body", "/api", b"x" * 5000)
        assert len(entries[0]["body"]) == length


def test_no_secret_is_ever_logged() -> None:
    """Credentials and the bodies of Secrets are in no line at any level."""
    for level in range(10):
        set_verbosity(level)
        assert TOKEN not in log_everything()


def test_credentials_keep_their_scheme() -> None:
    """A masked header still shows whether it was a bearer token or a password."""
    fields = [("authorization", "Bearer x"), ("Proxy-Authorization", "Basic y"), ("Accept", "z")]
    assert masked(fields) == {
        "authorization": "Bearer <masked>",
        "Proxy-Authorization": "Basic <masked>",
        "Accept": "z",
    }


def test_a_warning_of_the_server_is_logged_once() -> None:
    """One header may hold several, with commas and quotes in them; other answers have none."""
    warnings = ServerWarnings()
    two = r'299 - "unknown field \"spec.foo\", ignored", 299 k8s "v1 ComponentStatus is deprecated"'
    with captured_logs() as entries:
        for header in ({"Warning": two}, {"Warning": two}, {}, {"Warning": "garbage"}):
            warnings.hear(header, "pods")
    texts = [entry["text"] for entry in entries]
    assert texts == ['unknown field "spec.foo", ignored', "v1 ComponentStatus is deprecated"]
    assert {(entry["log_level"], entry["resource"]) for entry in entries} == {("warning", "pods")}
