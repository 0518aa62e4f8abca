"""The texts of health pages."""

from __future__ import annotations

import pytest

from handloop.controller.runtime.serving.health import Check, Well, health_page
from support.checks.captured_logs import captured_logs
from support.doubles.unspeakable import UNSPEAKABLE
from support.servers.served_pages import fetch, serving


def test_a_healthy_process_answers_ok() -> None:
    """All checks well: 200 and the word ok, as Kubernetes' own components."""
    with serving({"/healthz": health_page({"ping": lambda: None})}) as url:
        assert fetch(url + "/healthz") == (200, "ok")
        assert fetch(url + "/healthz/") == (200, "ok")


def test_a_failing_check_is_named_with_its_reason() -> None:
    """500, and one line per check."""
    page = health_page({"ping": lambda: None, "informers-synced": lambda: "foos: no answer yet"})
    with serving({"/readyz": page}) as url:
        status, body = fetch(url + "/readyz")
    assert status == 500
    assert body.splitlines() == [
        "[+]ping ok",
        "[-]informers-synced failed: foos: no answer yet",
        "healthz check failed",
    ]


def test_verbose_lists_and_exclude_skips() -> None:
    """?verbose shows the good ones too; ?exclude=NAME leaves one out."""
    page = health_page({"ping": lambda: None, "bad": lambda: "broken"})
    with serving({"/readyz": page}) as url:
        assert fetch(url + "/readyz?exclude=bad") == (200, "ok")
        assert fetch(url + "/readyz?exclude=bad&verbose") == (200, "[+]ping ok\nhealthz check passed\n")


def test_a_good_state_may_have_a_word() -> None:
    """A standby is well, and shows that it waits."""
    status, _, body = health_page({"leader": lambda: Well("standby, holder=pod-a")})({"verbose": [""]})
    assert (status, body.decode()) == (200, "[+]leader: standby, holder=pod-a\nhealthz check passed\n")


def test_a_check_that_raises_is_a_bad_one() -> None:
    """The probe gets an answer, with the others' words, and the log the traceback."""

    def broken() -> None:
        raise ZeroDivisionError("no divisor")

    with captured_logs() as entries:
        status, _, body = health_page({"broken": broken, "ping": lambda: None})({})
    assert status == 500
    assert body.decode().splitlines()[:2] == ["[-]broken failed: ZeroDivisionError: no divisor", "[+]ping ok"]
    assert [entry["event"] for entry in entries] == ["Health check raised"]


@pytest.mark.parametrize("error", UNSPEAKABLE, ids=lambda error: type(error).__name__)
def test_an_error_without_words_is_a_bad_one_too(error: BaseException) -> None:
    """The probe gets an answer even if no text of it can be made."""

    def broken() -> None:
        raise error

    with captured_logs():
        status, _, body = health_page({"broken": broken, "ping": lambda: None})({})
    assert status == 500
    assert body.decode().splitlines()[1] == "[+]ping ok"


@pytest.mark.parametrize("text", ["a\n[+]leader: us", "\ud800", "\x1b[2J", "a\u2028b"])
def test_a_foreign_text_stays_in_its_line(text: str) -> None:
    """Nobody can write the line of another check, nor one that cannot be sent."""
    page = health_page({"holder": lambda: Well(text), "bad": lambda: text})
    lines = page({"verbose": [""]})[2].decode().split("\n")
    assert [line[:8] for line in lines] == ["[+]holde", "[-]bad f", "healthz ", ""]
    assert all(line.isprintable() for line in lines)
    assert page({"*": ["bad"]})[2].decode().removesuffix("\n").isprintable()


def test_each_check_has_a_page_of_its_own() -> None:
    """Its name stands below the path; a good state needs no word, and an unknown name is not found."""
    checks: dict[str, Check] = {"leader": lambda: Well("standby"), "bad": lambda: "broken"}
    page = health_page(checks)
    with serving({"/readyz": page, "/readyz/*": page}) as url:
        assert fetch(url + "/readyz/leader") == (200, "ok")
        assert fetch(url + "/readyz/bad/") == (500, "internal server error: broken\n")
        assert fetch(url + "/readyz/nothing")[0] == 404
        assert fetch(url + "/readyz/leader/more")[0] == 404
