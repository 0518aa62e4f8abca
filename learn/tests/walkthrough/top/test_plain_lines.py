"""The lines of `top --plain`."""

from __future__ import annotations

from handloop_learn.top.followed_key import FollowedKey
from handloop_learn.top.plain_lines import PlainLines
from handloop_learn.top.screen_state import ScreenState
from handloop_learn.top.stream import Message
from support.builders.live_page import CONNECTED, snapshot, state, step

SIGNS = "ok: connected to http://127.0.0.1:8082; ok: caches synced; ok: no election"


def lines_of(*messages: Message, follow: str = "") -> list[str]:
    screen, lines, said = ScreenState(), PlainLines(FollowedKey(follow) if follow else None), []
    for message in messages:
        screen.take(message)
        said += lines.of(message, screen)
    return said


def test_the_first_state_is_sent_whole_and_then_its_changes() -> None:
    """A line a fact; an equal state adds none."""
    said = lines_of(CONNECTED, snapshot(), Message("state", state()))
    assert said == [
        f"{SIGNS}; not ok: default/a fails: Conflict: old",
        "reflector of foos: WATCHING",
        "work queue foo: queued 0, dirty 0, processing 0, delayed 1",
        "Foo default/a: 2 of 3 replicas available",
    ]
    again = lines_of(CONNECTED, snapshot(), Message("state", state(synced=False)))
    assert again[len(said) :] == [said[0].replace("ok: caches synced", "not ok: caches not synced")]


def test_a_reason_is_reported_once() -> None:
    """Not with every try to connect."""
    lost = Message("lost", "nothing answers")
    assert lines_of(lost, lost, lost) == ["not ok: nothing answers"]


def test_each_step_is_a_line() -> None:
    """With the time since the first one, and nothing that a terminal would obey."""
    steps = Message("steps", [step(7, "queued\x1b[2J", 5.0), step(8, "got", 5.25)])
    assert lines_of(steps) == [
        "    0.0000 s  (7) queued\N{REPLACEMENT CHARACTER}[2J",
        "    0.2500 s  (8) got",
    ]


def test_a_missed_step_is_reported() -> None:
    """With its number, where it is known."""
    assert lines_of(snapshot(missed=312))[0] == "+312 events skipped"
    assert lines_of(snapshot(missed=None))[0] == "steps were not recorded meanwhile"


def test_a_followed_key_has_its_steps_and_the_signs_alone() -> None:
    """No other key's steps, and no queues or caches."""
    said = lines_of(
        CONNECTED,
        snapshot(queues=[]),
        Message("steps", [step(7, "queued"), step(7, "other") | {"key": "b"}]),
        follow="default/a",
    )
    assert said == [
        SIGNS,
        "    0.0000 s  (7) queued",
    ]
