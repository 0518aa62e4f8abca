"""The picture of `top`, as a terminal shows it."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from handloop_learn.top.followed_key import FollowedKey
from handloop_learn.top.render import render, with_footer
from handloop_learn.top.stream import Message
from support.builders.live_page import CONNECTED, screen, snapshot, state, step


def drawn(*messages: Message, width: int = 120) -> str:
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=True, color_system=None)
    console.print(render(screen(*messages)))
    return out.getvalue()


def test_it_shows_what_the_page_shows() -> None:
    """Health, steps with their counts, the sentence, queues, workers, syncs, objects, reflectors."""
    seen = drawn(CONNECTED, snapshot(), Message("steps", [step(11, "default/a failed.")]))
    for text in (
        "✓ caches synced",
        "▶11 forget, or add rate limited",
        "(11) default/a failed.",
        "1: default/a in 2.56 s, failures 2",
        "▶ default/b, 500 ms",
        "· idle",
        "failed, 8 ms, again in 2.56 s: Conflict: old",
        "last heard  watches  relists",
        "2 / 3",
        "1 expired",
    ):
        assert text in seen


def test_the_footer_keeps_its_place_on_a_small_terminal() -> None:
    """Its lines are the last ones, wrapped as they must be; nothing of it is obeyed by the terminal."""
    out = io.StringIO()
    console = Console(file=out, width=40, height=10, force_terminal=True, color_system=None)
    footer = "q quit · " + " · ".join(f"{key} {'word ' * 4}" for key in "abc") + "\n[bold]\x1b[2J said"
    console.print(with_footer(render(screen(CONNECTED, snapshot())), footer, console))
    lines = out.getvalue().splitlines()
    assert len(lines) == 10
    assert lines[-1].rstrip() == "[bold]\N{REPLACEMENT CHARACTER}[2J said"
    assert any(line.startswith("q quit") for line in lines)
    assert max(map(len, lines)) <= 40


def test_the_newest_sentences_stay_when_there_are_too_many() -> None:
    """On a narrow terminal eight lines of them: the last one is whole."""
    told = [step(11, f"{number} " + "word " * 30) for number in range(5)]
    seen = drawn(CONNECTED, snapshot(), Message("steps", told), width=60)
    shown = [line[5] for line in seen.splitlines() if line.startswith("(11)")]
    assert shown == ["3", "4"]


def test_a_queue_shows_the_key_that_nobody_can_get() -> None:
    """And a worker that has a key from before the steps is not idle."""
    queue = state()["queues"][0] | {"processing": ["default/b"], "stuck": ["default/b"]}
    worker = {"name": "worker-0", "key": "", "unknown": True}
    seen = drawn(CONNECTED, snapshot(queues=[queue], workers=[worker]))
    assert "0: default/b (no worker has it)" in seen
    assert "idle" not in seen


def followed(width: int, height: int, count: int, *keys: str) -> list[str]:
    """The lines of a screen that follows a key, of so many steps."""
    key = FollowedKey("default/a")
    steps = [step(7, f"sentence {number} {'word ' * 15}", float(number)) for number in range(count)]
    key.take(Message("steps", steps))
    out = io.StringIO()
    console = Console(file=out, width=width, height=height, force_terminal=True, color_system=None)
    seen = screen(CONNECTED, snapshot())
    for _ in range(len(keys) + 1):
        out.truncate(out.seek(0))
        console.print(with_footer(render(seen, key), "q quit\nsaid", console))
        if keys:
            key.scroll(keys[0])
            keys = keys[1:]
    return [line.rstrip() for line in out.getvalue().splitlines()]


@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 45)])
def test_a_followed_key_fills_the_terminal_with_its_steps(width: int, height: int) -> None:
    """Under two lines that say where it is, and above the footer: twenty lines on the smallest terminal."""
    lines = followed(width, height, 100)
    assert lines[0].startswith("✓ connected to")
    assert "default/a · Foo 2 / 3 available · back in 2.56 s, failures 2 · last sync failed" in lines[1]
    assert lines[-2:] == ["q quit", "said"]
    body = [line for line in lines[2:-2] if line]
    assert len(body) >= 19
    assert "99.0000  (7) sentence 99" in body[-2 if width == 80 else -1]
    assert max(map(len, lines)) <= width


def test_scrolled_home_the_first_steps_fill_the_terminal() -> None:
    """From the first line of the steps on."""
    lines = followed(120, 45, 100, "home")
    assert "0.0000  (7) sentence 0" in lines[2]
    assert "40.0000  (7) sentence 40" in lines[42]


def test_on_a_tiny_terminal_the_newest_step_begins() -> None:
    """It does not fit: its first words are better than nothing."""
    assert any("99.0000" in line for line in followed(40, 8, 100))


def test_before_its_first_step_a_followed_key_is_waited_for() -> None:
    """With what to do."""
    assert "no step of default/a yet; change the object to see steps" in followed(80, 24, 0)[2]


def test_before_the_first_message_it_shows_what_to_do() -> None:
    """The reason why nothing is shown, and the command that makes a first step."""
    seen = drawn(Message("lost", "nothing answers at 127.0.0.1:1"))
    assert "✗ nothing answers at 127.0.0.1:1" in seen
    assert "kubectl apply -f manifests/samples/foo.yaml" in seen


@pytest.mark.parametrize("width", [40, 80, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    """With long names: each column keeps its place, and the name of the queue its letters."""
    queue = state()["queues"][0]
    keys = [f"default/{'long-' * 12}{n}" for n in range(9)]
    many = queue | {"queued": keys, "dirty": keys}
    many["counts"] = queue["counts"] | {"queued": 9, "dirty": 9}
    seen = drawn(CONNECTED, snapshot(queues=[many]), width=width)
    assert max(map(len, seen.splitlines())) <= width
    (heads,) = [line.split() for line in seen.splitlines() if line.startswith("queue ")]
    assert heads == ["queue", "dirty", "processing", "queue", "waiting"] or width == 40
    assert "\nfoo " in seen


def test_its_reports_are_text() -> None:
    """Neither rich's markup nor a terminal's codes."""
    rows = [{"key": "[bold]\x1b[2J", "desired": 1, "available": None}]
    seen = drawn(CONNECTED, snapshot(objects=[{"kind": "Foo", "count": 1, "rows": rows}]))
    assert "[bold]\N{REPLACEMENT CHARACTER}[2J" in seen
    assert "\x1b[2J" not in seen
