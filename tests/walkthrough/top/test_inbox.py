"""The messages of several sources in one line."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from handloop.walkthrough.top.inbox import Inbox
from handloop.walkthrough.top.stream import Told


def broken() -> Iterator[Told]:
    yield Told("said", "last words")
    raise LookupError("broken")


def test_what_a_source_raises_ends_the_iteration() -> None:
    """After what it told before, and what another source told."""
    inbox = Inbox()
    inbox.follow("first", [Told("key", "p")])
    arrived = iter(inbox)
    assert next(arrived) == Told("key", "p")
    inbox.follow("second", broken())
    assert next(arrived) == Told("said", "last words")
    with pytest.raises(LookupError, match="broken"):
        next(arrived)
