"""Describes the changes of a screen, one plain line per change, for logs and screen readers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from handloop_learn.top.followed_key import FollowedKey
from handloop_learn.top.screen_state import ScreenState, skipped, visible
from handloop_learn.top.stream import Message

_CHANGING: Final = "oldest key "
"""Plain lines leave out the sign that starts with these words, because it changes all the time."""


class PlainLines:
    """
    Returns lines on the changes since the last message. Threads: runs on the caller's thread.

    State: _said contains the last line on each subject. _began is the time of the first step.
    """

    def __init__(self, followed: FollowedKey | None = None) -> None:
        """Args: if followed is set, the lines describe only its steps and the signs of health."""
        self._followed = followed
        self._said: dict[str, str] = {}
        self._began: float | None = None

    def of(self, message: Message, screen: ScreenState) -> list[str]:
        """Return the lines for a message that the screen has already processed."""
        if self._followed is not None:
            return self._of_key(self._followed, message, screen)
        if message.event == "connected":
            # The next message is the snapshot, which shows the connection, too.
            return []
        if message.event == "steps":
            return [visible(self._step(step)) for step in message.data]
        gap = [skipped(screen.missed)] if message.event == "snapshot" and screen.missed != 0 else []
        return [visible(line) for line in (*gap, *self._changes(_facts(screen)))]

    def _of_key(self, followed: FollowedKey, message: Message, screen: ScreenState) -> list[str]:
        steps = [_line(step) for step in followed.take(message)]
        changes = self._changes({"signs": _signs(screen)}) if message.event != "connected" else ()
        return [visible(line) for line in (*changes, *steps)]

    def _step(self, step: dict[str, Any]) -> str:
        self._began = step["t"] if self._began is None else self._began
        return _line({**step, "t": step["t"] - self._began})

    def _changes(self, facts: Mapping[str, str]) -> Iterator[str]:
        for subject, words in facts.items():
            if self._said.get(subject) != words:
                self._said[subject] = words
                yield words


def _line(step: Mapping[str, Any]) -> str:
    return f"{step['t']:10.4f} s  ({step['step']}) {step['why']}"


def _signs(screen: ScreenState) -> str:
    signs = [sign for sign in screen.health() if not sign.words.startswith(_CHANGING)]
    return "; ".join(f"{'ok' if sign.good else 'not ok'}: {sign.words}" for sign in signs)


def _facts(screen: ScreenState) -> dict[str, str]:
    facts = {"signs": _signs(screen)}
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
