"""Collects the steps of one key for scrolling, including all steps of a worker while it has the key."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Final

from handloop.picture.syncs import DONE, GET
from handloop_learn.top.screen_state import skipped
from handloop_learn.top.stream import Message

KEPT: Final = 2000
"""The number of steps that are stored for scrolling back. Older steps are discarded."""

SCROLLS: Final = ("up", "down", "page up", "page down", "home", "end")
"""The keyboard keys that scroll, as keyboard.typed names them."""


class FollowedKey:
    """
    Collects the steps of a key. Threads: runs on the caller's thread.

    State: steps contains the stored steps, oldest first. frozen is whether the window of visible steps stays
    at its position. _back is the number of steps that are newer than the window's last step. _page is the
    number of steps that fit into the window. _threads contains the threads of the workers that have the key.
    _began is the time of the key's first step in the current program.
    """

    def __init__(self, key: str) -> None:
        self.key: Final = key
        self.steps: deque[Mapping[str, Any]] = deque(maxlen=KEPT)
        self.frozen = False
        self._back = 0
        self._page = 1
        self._threads: set[str] = set()
        self._began: float | None = None

    def take(self, message: Message) -> list[Mapping[str, Any]]:
        """
        Process one message.

        Returns: the key's new steps. `t` is the number of seconds since the key's first step. A gap is
        returned as a step with the number 0.
        """
        new: list[Mapping[str, Any]] = []
        if message.event == "snapshot":
            new = self._gap(message.data["missed"])
        elif message.event == "steps":
            new = [self._timed(step) for step in message.data if self._is_its(step)]
        self.steps.extend(new)
        self._back += len(new) if self.frozen or self._back else 0
        self._clamp()
        return new

    def scroll(self, key: str) -> None:
        """Move the window. Args: key is one of SCROLLS."""
        steps = {"up": 1, "down": -1, "page up": self._page - 1, "page down": 1 - self._page}
        self._back = {"home": KEPT, "end": 0}.get(key, self._back + steps.get(key, 0))
        self._clamp()

    def freeze(self) -> None:
        """Freeze the window at its position. If it is frozen, let it follow the newest step again."""
        self.frozen = not self.frozen
        self._back = self._back if self.frozen else 0

    def newer(self) -> int:
        """Return how many steps are newer than the window's last step."""
        return self._back

    def around(self, most: int) -> tuple[Sequence[Mapping[str, Any]], Sequence[Mapping[str, Any]]]:
        """Return up to `most` steps that end with the window's last step, and up to `most` newer steps."""
        steps, end = list(self.steps), len(self.steps) - self._back
        return steps[max(0, end - most) : end], steps[end : end + most]

    def shown(self, count: int) -> None:
        """Record how many steps fit on the screen."""
        self._page = max(1, count)

    def _gap(self, missed: int | None) -> list[Mapping[str, Any]]:
        self._threads.clear()
        if not self.steps:
            return []
        if missed != 0:
            return [{"step": 0, "t": self.steps[-1]["t"], "why": skipped(missed)}]
        self._began = None
        return [{"step": 0, "t": 0.0, "why": "another program from here on"}]

    def _is_its(self, step: Mapping[str, Any]) -> bool:
        if step["key"] == self.key and step["step"] == GET:
            self._threads.add(step["thread"])
        has_key = step["thread"] in self._threads
        if has_key and step["step"] in (GET, DONE) and step["key"] != self.key:
            # The worker has stopped working on the key without calling done().
            self._threads.discard(step["thread"])
            return False
        if has_key and step["step"] == DONE:
            self._threads.discard(step["thread"])
        return has_key or bool(step["key"] == self.key)

    def _timed(self, step: Mapping[str, Any]) -> Mapping[str, Any]:
        self._began = step["t"] if self._began is None else self._began
        return {**step, "t": step["t"] - self._began}

    def _clamp(self) -> None:
        self._back = max(0, min(self._back, len(self.steps) - self._page))
