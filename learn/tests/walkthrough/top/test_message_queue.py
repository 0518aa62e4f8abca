"""The messages of several sources in one line."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from handloop_learn.top.message_queue import MessageQueue
from handloop_learn.top.stream import Message


def broken() -> Iterator[Message]:
    yield Message("said", "last words")
    raise LookupError("broken")


def test_what_a_source_raises_ends_the_iteration() -> None:
    """After what it sent before, and what another source sent."""
    merged = MessageQueue()
    merged.follow("first", [Message("key", "p")])
    arrived = iter(merged)
    assert next(arrived) == Message("key", "p")
    merged.follow("second", broken())
    assert next(arrived) == Message("said", "last words")
    with pytest.raises(LookupError, match="broken"):
        next(arrived)
