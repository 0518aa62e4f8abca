from __future__ import annotations

from handloop_learn import ch10_production
from handloop_learn.ch10_production import WORKERS
from support.checks.chapters import told


def test_one_replica_works_and_another_follows() -> None:
    """The holder alone works; after its deadline it gives up, the other follows, and ends in order."""
    end, _ = told(ch10_production.chapter)
    assert end.first == ("ada", WORKERS, 0)
    assert end.last == ("bob", 0, WORKERS)
    assert end.ada_gave_up
    takeover, gap = end.seconds
    assert takeover > 10
    assert gap > 0
    assert 'User "nobody" cannot list resource "foos"' in end.refusal
    assert end.adds >= 1
    assert end.holder == ""
    ends = {name: place for place, name in enumerate(end.order)}
    workers = [ends[f"worker-{number}"] for number in range(WORKERS)]
    assert max(workers) < ends["lease"] < ends["informer-foos"]
