"""Who may see the page, and who may act."""

from __future__ import annotations

import pytest

from handloop_learn.live.guard import LOOPBACK_NAMES, TOKEN_HEADER, Guard


def headers(host: str = "127.0.0.1:8082", origin: str = "", token: str = "") -> dict[str, str]:
    return {"Host": host, "Origin": origin, TOKEN_HEADER: token}


@pytest.mark.parametrize(
    ("host", "refused"),
    [
        ("127.0.0.1:8082", False),
        ("LOCALHOST:8082", False),
        ("localhost", False),
        ("[::1]:8082", False),
        ("evil.example:8082", True),
        ("127.0.0.1.evil.example", True),
        ("", True),
    ],
)
def test_loopback_answers_to_its_own_names(host: str, refused: bool) -> None:
    """A name that a web page points here reaches nothing; on a public address any name is served."""
    assert bool(Guard(LOOPBACK_NAMES, controls=True).refusal("GET", headers(host))) is refused
    assert Guard(None, controls=False).refusal("GET", headers(host)) == ""


@pytest.mark.parametrize(("site", "refused"), [("cross-site", True), ("same-origin", False), ("none", False)])
def test_another_site_is_refused(site: str, refused: bool) -> None:
    """Its requests could cost lists and places of viewers; our own page and a typed address pass."""
    said = Guard(LOOPBACK_NAMES, controls=True).refusal("GET", headers() | {"Sec-Fetch-Site": site})
    assert said == (
        "requests from another site are refused: type the page's address into the browser" if refused else ""
    )


def test_an_act_needs_the_switch_the_origin_and_the_token() -> None:
    """Each by itself is not enough, and the token of another process is refused."""
    guard, other = Guard(LOOPBACK_NAMES, controls=True), Guard(LOOPBACK_NAMES, controls=True)
    ours = "http://127.0.0.1:8082"
    assert guard.refusal("POST", headers(origin=ours, token=guard.token)) == ""
    assert "own page" in guard.refusal("POST", headers(token=guard.token))
    assert "own page" in guard.refusal("POST", headers(origin="http://evil.example", token=guard.token))
    assert "own page" in guard.refusal("POST", headers(origin="null", token=guard.token))
    assert "does not contain the token" in guard.refusal("POST", headers(origin=ours))
    assert "does not contain the token" in guard.refusal("POST", headers(origin=ours, token=other.token))
    assert "does not contain the token" in guard.refusal("POST", headers(origin=ours, token="ä"))
    assert "does not contain the token" in guard.refusal("POST", headers(origin=ours, token="\udcff"))
    off = Guard(LOOPBACK_NAMES, controls=False)
    assert "--debug-controls" in off.refusal("POST", headers(origin=ours, token=off.token))
