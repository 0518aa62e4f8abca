"""What is told of a run."""

from __future__ import annotations

from handloop_explore.played import Journal, Write
from handloop_explore.virtual_threads import VirtualThreads


def test_a_story_tells_when(threads: VirtualThreads) -> None:
    """In virtual seconds; a write without an answer says so."""
    journal = Journal(threads)
    threads.run_for(2.5)
    journal.tell("user", "something happens")
    assert [str(told) for told in journal.story] == ["    2.50 s  something happens"]
    assert str(Write(1, 2.5, "PUT", "/a", 0)) == "write 1: PUT /a: no answer"
