from __future__ import annotations

from itertools import pairwise

from handloop_learn import ch02_reflector
from support.checks.chapters import told


def test_a_cut_costs_a_watch_and_a_410_a_list() -> None:
    """After a cut the watch goes on without a list; a 410 is the reason of the one relist; waits grow."""
    end, text = told(ch02_reflector.chapter)
    assert (end.listed.watches, end.listed.relists) == (1, {})
    assert (end.resumed.watches, end.resumed.relists) == (2, {})
    assert end.relisted.relists == {"expired": 1}
    assert end.names == ["one", "two", "one", "three", "two", "four", "one", "three", "two"]
    assert len(end.waited) == 4
    assert all(before < after for before, after in pairwise(end.waited))
    assert "return self._open_watch()" in text
