"""Who leads, as /readyz says it."""

from __future__ import annotations

import pytest

from handloop.controller.runtime.election.candidacy import ElectionStatistics
from handloop.controller.runtime.serving.health import Well, health_page


def seen(holder: str, *, leading: bool) -> ElectionStatistics:
    """What an elector sees."""
    return ElectionStatistics("demo/foo", "pod-b", holder, leading, 1.0, 14.0, "")


@pytest.mark.parametrize(
    ("holder", "leading", "words"),
    [
        ("pod-b", True, "leader"),
        ("pod-a", False, "standby, holder=pod-a"),
        ("", False, "standby, holder=none"),
    ],
)
def test_a_standby_is_ready_and_says_so(holder: str, leading: bool, words: str) -> None:
    """Else a rollout would wait for ever, and people would think that it hangs."""
    statistics = seen(holder, leading=leading)
    assert statistics.state() == Well(words)
    page = health_page({"leader": statistics.state})
    assert page({}) == (200, "text/plain; charset=utf-8", b"ok")
    assert page({"verbose": [""]})[2].decode().splitlines()[0] == f"[+]leader: {words}"
