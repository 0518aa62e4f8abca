from __future__ import annotations

from handloop_learn import ch09_status
from handloop_learn.ch09_status import ENOUGH_WRITES
from support.checks.chapters import told


def test_a_status_ends_where_nothing_is_new() -> None:
    """An equal status wakes no worker; a new one each time never ends; a 409 is one failed sync."""
    end, _ = told(ch09_status.chapter)
    assert end.touched == (1, 1)
    assert end.loop.writes >= ENOUGH_WRITES
    assert end.error.startswith("Conflict: ")
    assert end.event_count >= 2
    assert [answer for _, answer in end.retries] == ["409 Conflict", "accepted", "accepted"]


def test_the_generation_counts_specs() -> None:
    """The version rises with each write, the generation with the spec, and the observed one follows."""
    end, _ = told(ch09_status.chapter)
    versions, generations, observed = zip(*end.versions, strict=True)
    assert list(versions) == sorted(set(versions))
    assert (generations[0], observed[0]) == (1, -1)
    assert (1, 1) in zip(generations, observed, strict=True)
    assert (2, 1) in zip(generations, observed, strict=True)
    assert (generations[-1], observed[-1]) == (2, 2)
