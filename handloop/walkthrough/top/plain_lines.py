"""The changes of a screen as lines, for logs and screen readers: one a change, no colour, no cursor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from handloop.walkthrough.top.screen_state import ScreenState, visible
from handloop.walkthrough.top.stream import Message

_CHANGING: Final = "oldest key "
"""A sign whose words change with time; plain lines leave it out."""


class PlainLines:
    """
    Says what changed. Threads: the caller's.

    State: _said, by what it was about; _began, the time of the first step.
    """

    def __init__(self) -> None:
        self._said: dict[str, str] = {}
        self._began: float | None = None

    def of(self, message: Message, screen: ScreenState) -> list[str]:
        """The lines for a message that the screen has taken in."""
        if message.event == "connected":
            # the snapshot comes next, and has it, too
            return []
        if message.event == "steps":
            return [visible(self._step(step)) for step in message.data]
        skipped = [_skipped(screen.missed)] if message.event == "snapshot" and screen.missed != 0 else []
        return [visible(line) for line in (*skipped, *self._changes(screen))]

    def _step(self, step: dict[str, Any]) -> str:
        self._began = step["t"] if self._began is None else self._began
        return f"{step['t'] - self._began:10.4f} s  ({step['step']}) {step['why']}"

    def _changes(self, screen: ScreenState) -> Iterator[str]:
        for subject, words in _facts(screen).items():
            if self._said.get(subject) != words:
                self._said[subject] = words
                yield words


def _facts(screen: ScreenState) -> dict[str, str]:
    signs = [sign for sign in screen.health() if not sign.words.startswith(_CHANGING)]
    facts = {"signs": "; ".join(f"{'ok' if sign.good else 'not ok'}: {sign.words}" for sign in signs)}
    for row in screen.state.get("informers", ()):
        words = row.get("state", "not started") + (f": {row['error']}" if row.get("error") else "")
        facts[f"informer {row['name']}"] = f"reflector of {row['plural']}: {words}"
    for queue in screen.state.get("queues", ()):
        counts = ", ".join(f"{name} {count}" for name, count in queue["counts"].items())
        facts[f"queue {queue['name']}"] = f"work queue {queue['name']}: {counts}"
    for kind in screen.state.get("objects", ()):
        for row in kind["rows"]:
            wanted = f"{row['available'] or 0} of {row['desired']} replicas available"
            facts[f"{kind['kind']} {row['key']}"] = f"{kind['kind']} {row['key']}: {wanted}"
    return facts


def _skipped(missed: int | None) -> str:
    return "steps were not recorded meanwhile" if missed is None else f"+{missed} events skipped"
