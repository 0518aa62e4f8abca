"""A chapter as a test reads it: told without pauses, its end state and its text kept."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import TypeVar

from handloop.walkthrough.quiet_logs import quiet_logs
from handloop.walkthrough.screen import Screen

T = TypeVar("T")


def told(chapter: Callable[[Screen], T]) -> tuple[T, str]:
    """Tell a chapter. Returns: its end state, and what it wrote."""
    out = io.StringIO()
    with quiet_logs():
        return chapter(Screen(out)), out.getvalue()
