"""The data that `top` shows: the connection, the last state and steps, and the signs of health."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from handloop_learn.top.stream import Message

SENTENCES: Final = 5
_MOST_CHARACTERS: Final = 120
OLD_SECONDS: Final = 10.0
"""How long a key can be queued or processed before that counts as a sign of bad health."""


_INVISIBLE: Final = dict.fromkeys((*range(32), *range(127, 160)), "\N{REPLACEMENT CHARACTER}")


def visible(text: str) -> str:
    """Replace each control character in a text with a visible symbol, so that none affects the terminal."""
    return text.translate(_INVISIBLE)


def skipped(missed: int | None) -> str:
    """Return a phrase that says how many steps were missed. None means that the number is unknown."""
    return "steps were not recorded meanwhile" if missed is None else f"+{missed} events skipped"


class Health(NamedTuple):
    """One sign of health, with its description."""

    good: bool
    words: str


class ScreenState:
    """
    Keeps what a stream's messages have reported so far. Threads: runs on the caller's thread.

    State: url, the page's address; trouble, why the stream is not connected, or "" if it is; state, the last
    received state, which docs/live.md describes, or {} before the first one; hits, how often each step was
    executed; steps, the last few steps; missed, how many steps were missed, or None if unknown.
    """

    def __init__(self) -> None:
        self.url = ""
        self.trouble = "connecting"
        self.state: Mapping[str, Any] = {}
        self.hits: Counter[int] = Counter()
        self.steps: deque[Mapping[str, Any]] = deque(maxlen=SENTENCES)
        self.missed: int | None = 0

    def take(self, message: Message) -> None:
        """Process one message."""
        match message.event:
            case "connected":
                self.url, self.trouble = message.data, ""
            case "lost":
                self.trouble = message.data
            case "end":
                self.trouble = f"the program ends: {message.data['reason']}"
            case "snapshot":
                self.state, self.missed = message.data["state"], message.data["missed"]
            case "state":
                self.state = message.data
            case "steps":
                self.hits.update(step["step"] for step in message.data)
                self.steps.extend(message.data)

    def health(self) -> list[Health]:
        """Return the signs of health, connection first. While disconnected, use the last received state."""
        signs = [Health(good=not self.trouble, words=self.trouble or f"connected to {self.url}")]
        state = self.state
        if not state:
            return signs
        if not state["ready"]:
            return [*signs, Health(good=False, words="the controllers have not started yet")]
        signs.append(Health(state["synced"], "caches synced" if state["synced"] else "caches not synced"))
        shards = state.get("shards")
        signs.append(Health(*shards["sign"]) if shards else _election(state["election"]))
        paused = [queue["name"] for queue in state["queues"] if queue["paused"]]
        signs += [Health(good=False, words=f"{name}: workers paused") for name in paused]
        if failing := _failing(state):
            signs.append(Health(good=False, words=failing))
        ages = [queue["oldest"] for queue in state["queues"] if queue["oldest"] is not None]
        if ages:
            signs.append(Health(max(ages) < OLD_SECONDS, f"oldest key {max(ages):.1f} s"))
        return signs


def _failing(state: Mapping[str, Any]) -> str:
    """Return one failing key with its error, and the number of the others, or "" if there is none."""
    reasons = {one["key"]: one["reason"] for one in state["results"] if one["outcome"] == "failed"}
    keys = [one["key"] for queue in state["queues"] for one in queue["delayed"] if one["failures"]]
    words = next((f"{key} fails: {reasons[key]}" for key in keys if reasons.get(key)), "")
    return words and words[:_MOST_CHARACTERS] + (f", and {len(keys) - 1} more" if len(keys) > 1 else "")


def _election(election: Mapping[str, Any] | None) -> Health:
    if election is None:
        return Health(good=True, words="no election")
    if election["leading"]:
        return Health(good=True, words="leader")
    return Health(good=False, words=f"standby, holder {election['holder'] or 'nobody'}")
