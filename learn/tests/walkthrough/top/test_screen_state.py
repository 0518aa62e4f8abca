"""What a viewer in a terminal knows."""

from __future__ import annotations

from typing import Any

import pytest

from handloop_learn.top.screen_state import ScreenState
from handloop_learn.top.stream import Message
from support.builders.live_page import CONNECTED, screen, snapshot, state, step

LEADING = {"lease": "default/handloop", "holder": "me", "leading": True}


def signs(seen: ScreenState) -> list[tuple[bool, str]]:
    return [(sign.good, sign.words) for sign in seen.health()]


def test_steps_are_counted_and_the_last_ones_kept() -> None:
    """By number, with anything else in the same message."""
    seen = screen(Message("steps", [step(7, "a"), step(7, "b")]), Message("steps", [step(8, "c")] * 6))
    assert (seen.hits[7], seen.hits[8], seen.hits[9]) == (2, 6, 0)
    assert [one["why"] for one in seen.steps] == ["c"] * 5


def test_the_connection_is_the_first_sign() -> None:
    """The last view stays while the program is away."""
    assert signs(screen()) == [(False, "connecting")]
    away = screen(CONNECTED, snapshot(), Message("lost", "the connection broke"))
    assert signs(away)[0] == (False, "the connection broke")
    assert away.state == state()


@pytest.mark.parametrize(
    ("changes", "sign"),
    [
        ({"ready": False}, (False, "the controllers have not started yet")),
        ({}, (False, "default/a fails: Conflict: old")),
        ({"synced": False}, (False, "caches not synced")),
        ({"synced": True}, (True, "caches synced")),
        ({"election": None}, (True, "no election")),
        ({"shards": {"sign": [False, "nobody has slots 3 of 4"]}}, (False, "nobody has slots 3 of 4")),
        ({"election": LEADING}, (True, "leader")),
        ({"election": LEADING | {"leading": False}}, (False, "standby, holder me")),
        ({"queues": [state()["queues"][0] | {"paused": True}]}, (False, "foo: workers paused")),
        ({"queues": [state()["queues"][0] | {"oldest": 0.2}]}, (True, "oldest key 0.2 s")),
        ({"queues": [state()["queues"][0] | {"oldest": 10.0}]}, (False, "oldest key 10.0 s")),
    ],
)
def test_each_sign_of_health(changes: dict[str, Any], sign: tuple[bool, str]) -> None:
    """In words, as on the page."""
    assert sign in signs(screen(CONNECTED, snapshot(**changes)))


def test_of_many_keys_that_fail_one_is_named() -> None:
    """With how many others there are; one that only waits, or waits for another queue's retry, is none."""
    failed = {"outcome": "failed", "reason": "Conflict: old"}
    delayed = [
        {"key": key, "seconds": 1.0, "failures": failures} for key, failures in (("b", 0), ("c", 2), ("a", 1))
    ]
    results = [failed | {"key": "a"}, failed | {"key": "b"}]
    changes: dict[str, Any] = {"queues": [state()["queues"][0] | {"delayed": delayed}], "results": results}
    assert (False, "a fails: Conflict: old, and 1 more") in signs(screen(CONNECTED, snapshot(**changes)))
    assert "the program ends: why" in signs(screen(CONNECTED, Message("end", {"reason": "why"})))[0][1]
