"""The picture of `top`, as a terminal shows it."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from handloop.walkthrough.top.render import render, with_footer
from handloop.walkthrough.top.stream import Message
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
        "failed, 8 ms, again in 2.56 s",
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


def test_before_the_first_message_it_shows_what_to_do() -> None:
    """The reason why nothing is shown, and the command that makes a first step."""
    seen = drawn(Message("lost", "nothing answers at 127.0.0.1:1"))
    assert "✗ nothing answers at 127.0.0.1:1" in seen
    assert "kubectl apply -f manifests/samples/foo.yaml" in seen


@pytest.mark.parametrize("width", [40, 80, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    """With a long name; a long list of keys ends with the number of the others."""
    queue = state()["queues"][0]
    many = queue | {"queued": [f"default/{'long-' * 12}{n}" for n in range(9)]}
    many["counts"] = queue["counts"] | {"queued": 9}
    seen = drawn(CONNECTED, snapshot(queues=[many]), width=width)
    assert max(map(len, seen.splitlines())) <= width


def test_its_reports_are_text() -> None:
    """Neither rich's markup nor a terminal's codes."""
    rows = [{"key": "[bold]\x1b[2J", "desired": 1, "available": None}]
    seen = drawn(CONNECTED, snapshot(objects=[{"kind": "Foo", "count": 1, "rows": rows}]))
    assert "[bold]\N{REPLACEMENT CHARACTER}[2J" in seen
    assert "\x1b[2J" not in seen
