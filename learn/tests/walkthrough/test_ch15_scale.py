from __future__ import annotations

from handloop_learn import ch15_scale
from handloop_learn.ch15_scale import CROWDS, KEYS, OBJECTS
from support.checks.chapters import told


def test_what_grows_with_a_cluster() -> None:
    """A key has one worker at a time; caches of less are smaller; an object that changes shards is gone."""
    end, _ = told(ch15_scale.chapter)
    assert [(end.work[workers].syncs, end.work[workers].most_on_one_key) for workers in CROWDS] == [
        (KEYS, 1)
    ] * len(CROWDS)
    assert end.hot.most_on_one_key == 1
    assert end.hot.syncs < KEYS
    whole, *smaller = end.kilobytes.values()
    assert max(smaller) < whole / 2
    assert sum(end.shards) == OBJECTS
    assert end.moved == ["DELETED", "ADDED"]
