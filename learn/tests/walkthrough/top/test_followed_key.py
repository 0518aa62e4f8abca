"""The steps of one key, to scroll in."""

from __future__ import annotations

from typing import Any

from handloop_learn.top.followed_key import FollowedKey
from handloop_learn.top.stream import Message
from support.builders.live_page import snapshot

KEY = "default/a"


def told(number: int, *, key: str = KEY, thread: str = "worker-0", at: float = 1.0) -> dict[str, Any]:
    return {"step": number, "key": key, "thread": thread, "t": at, "why": f"{number} {key} {thread}"}


def steps(*told: dict[str, Any]) -> Message:
    return Message("steps", list(told))


def following(count: int, *, page: int = 4) -> FollowedKey:
    """One that has so many steps, and shows so many."""
    followed = FollowedKey(KEY)
    followed.take(steps(*(told(7, at=float(number)) for number in range(count))))
    followed.shown(page)
    return followed


def times(followed: FollowedKey) -> list[float]:
    """Those of the steps in the window."""
    return [step["t"] for step in followed.around(followed._page)[0]]


def test_it_keeps_the_key_s_steps_and_what_its_worker_does_meanwhile() -> None:
    """Between get and done, on that thread; a worker that has left the key without done() has it no more."""
    followed = FollowedKey(KEY)
    new = followed.take(
        steps(
            told(7, thread="listener-foos-1", at=5.0),
            told(8),
            told(9, key="default/deployment", at=5.5),
            told(9, key="default/other", thread="worker-1"),
            told(10, key="default/"),
            told(12),
            told(9, key="default/b"),
            told(8),
            told(8, key="default/b"),
            told(9, key="default/b"),
        )
    )
    assert [step["step"] for step in new] == [7, 8, 9, 10, 12, 8]
    assert [new[0]["t"], new[2]["t"]] == [0.0, 0.5]


def test_the_window_follows_the_newest_step_until_it_is_scrolled() -> None:
    """Then it stays where it is, whatever comes; the end key lets it follow again."""
    followed = following(10)
    assert (times(followed), followed.newer()) == ([6, 7, 8, 9], 0)
    followed.scroll("up")
    followed.take(steps(told(7, at=10.0)))
    assert (times(followed), followed.newer()) == ([5, 6, 7, 8], 2)
    followed.scroll("end")
    assert times(followed) == [7, 8, 9, 10]


def test_each_key_scrolls_as_far_as_there_is_something() -> None:
    """A page overlaps the last one by a step."""
    followed = following(10)
    seen = []
    for key in ("page up", "page up", "page up", "down", "page down", "home", "up"):
        followed.scroll(key)
        seen.append(times(followed)[0])
    assert seen == [3, 0, 0, 1, 4, 0, 0]


def test_a_frozen_window_stays_at_the_newest_step_of_then() -> None:
    """The second time it goes on from the newest one of now."""
    followed = following(10)
    followed.freeze()
    followed.take(steps(told(7, at=10.0)))
    assert (times(followed)[-1], followed.newer()) == (9, 1)
    followed.freeze()
    followed.take(steps(told(7, at=11.0)))
    assert (times(followed)[-1], followed.newer()) == (11, 0)


def test_a_gap_is_a_step_of_its_own() -> None:
    """Steps that were missed, and another program, whose time begins anew; the first snapshot is no gap."""
    followed = FollowedKey(KEY)
    assert followed.take(snapshot()) == []
    followed.take(steps(told(7, at=5.0), told(8, at=6.0)))
    (missed,) = followed.take(snapshot(missed=312))
    assert (missed["step"], missed["t"], missed["why"]) == (0, 1.0, "+312 events skipped")
    (other,) = followed.take(snapshot())
    assert other["why"] == "another program from here on"
    assert followed.take(steps(told(9, key="default/b"), told(7, at=99.0)))[0]["t"] == 0.0
