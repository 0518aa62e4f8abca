"""The controls of a live page without a controller behind it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

from handloop.walkthrough.live.control_error import ControlError
from handloop.walkthrough.live.guard import LOOPBACK_NAMES
from handloop.walkthrough.live.server import LiveServer


class PageControls:
    """Pauses when it is asked to, and refuses all else."""

    def offers(self) -> list[dict[str, Any]]:
        """What the page may show."""
        return [{"name": "pause", "title": "Pause the workers", "lookFor": "", "on": False, "blocked": ""}]

    def act(self, name: str, wanted: dict[str, Any]) -> str:
        """Carry one out."""
        if name != "pause":
            raise ControlError(f"no {name} of {wanted['key']!r} here")
        return "no worker gets a key"

    def undo_all(self) -> None:
        """Nothing was done."""


@contextmanager
def page_with_controls(*, allowed: bool) -> Iterator[LiveServer]:
    """A page whose program has no controllers."""
    server = LiveServer("127.0.0.1", 0, names=LOOPBACK_NAMES, controls=allowed)
    if allowed:
        server.show(cast("Any", None), cast("Any", PageControls()))
    server.start()
    try:
        yield server
    finally:
        server.stop()
