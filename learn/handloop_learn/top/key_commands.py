"""The keys with which a user of `top` quits, freezes the display, and runs the page's experiments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from handloop_learn.top.followed_key import SCROLLS, FollowedKey
from handloop_learn.top.screen_state import ScreenState
from handloop_learn.top.stream import Message

QUIT: Final = "q"
HOLD: Final = "p"
CONTROLS: Final[Mapping[str, str]] = {
    "w": "pause",
    "c": "touch",
    "f": "fail",
    "k": "kill-watch",
    "e": "expire",
    "d": "delete-deployment",
    "s": "slow-handler",
    "l": "lose-done",
    "m": "many",
    "r": "clean",
}
"""The page's control for each key. Other controls need a number or end the program, so they have no key."""


class KeyCommands:
    """
    Carries out the commands of keys. Threads: runs on the caller's thread.

    State: ended is whether the user has quit. held is whether the display is frozen. said is the answer to
    the last key.
    """

    def __init__(
        self,
        screen: ScreenState,
        start: Callable[[Iterator[Message]], None],
        run_control: Callable[..., str],
        followed: FollowedKey | None = None,
    ) -> None:
        """Args: start reads messages in the background. run_control takes a URL, a control and a key."""
        self._screen = screen
        self._followed = followed
        self._start = start
        self._run_control = run_control
        self.ended = False
        self.held = False
        self.said = ""

    def take(self, message: Message) -> None:
        """Process a `key` or `said` message. Other messages are for ScreenState."""
        if message.event == "said":
            self.said = message.data
        elif message.event == "key":
            self._obey(message.data)

    def footer(self) -> str:
        """Return a text that lists the keys that work now, and the answer to the last key."""
        offers = self._screen.state.get("controls", ())
        titles = {offer["name"]: offer["title"] for offer in offers if not offer["blocked"]}
        if self._followed is not None:
            allowed = " ".join(key for key, name in CONTROLS.items() if name in titles)
            more = self.said or (f"{allowed} experiments, as without --follow" if allowed else "")
            return f"{self._scrolling(self._followed)}\n{more}"
        keys = [f"{QUIT} quit", f"{HOLD} {'resume' if self.held else 'pause the display'}"]
        keys += [f"{key} {titles[name]}" for key, name in CONTROLS.items() if name in titles]
        if not offers:
            keys.append("the experiments are off here")
        return " · ".join(keys) + (f"\n{self.said}" if self.said else "")

    def _obey(self, key: str) -> None:
        self.said = ""
        if key == QUIT:
            self.ended = True
        elif key == HOLD and self._followed is not None:
            self._followed.freeze()
        elif key == HOLD:
            self.held = not self.held
        elif key in SCROLLS:
            if self._followed is not None:
                self._followed.scroll(key)
        elif key not in CONTROLS:
            self.said = f"{key} does nothing here"
        elif self._screen.trouble:
            self.said = f"not connected: {self._screen.trouble}"
        else:
            self.said = "…"
            self._start(self._answer(self._screen.url, CONTROLS[key], self._foo()))

    def _answer(self, url: str, control: str, key: str) -> Iterator[Message]:
        yield Message("said", self._run_control(url, control, key))

    def _foo(self) -> str:
        """Return the key of the followed Foo, or else of the first Foo on the page, or "" without any Foo."""
        if self._followed is not None:
            return self._followed.key
        kinds = self._screen.state.get("objects", ())
        return next((row["key"] for kind in kinds if kind["kind"] == "Foo" for row in kind["rows"]), "")

    def _scrolling(self, followed: FollowedKey) -> str:
        where = f"{newer} newer below" if (newer := followed.newer()) else "at the newest"
        hold = "resume" if followed.frozen else "hold"
        return f"{QUIT} quit · {HOLD} {hold} · ↑ ↓ PgUp PgDn Home End scroll: {where}"
