"""
The operator of a stranger, who has made five usual mistakes and says no more than what users do.

Each line below is what `handloop explore` prints for one of them.
"""

from __future__ import annotations

from typing import Final

import pytest

from handloop_explore.explorer import run_plans
from handloop_explore.report import Failure
from support.builders.stranger import (
    AllFive,
    Careful,
    CleanupLast,
    NameByTime,
    NoOwner,
    StaleWrite,
    StatusFirst,
    site_workload,
)

FOUND: Final = {
    NoOwner: ("0:late", "ConfigMap default/a exists in the end, but should not"),
    StatusFirst: ("6:crash-after", "ConfigMap default/a-print is missing"),
    NameByTime: ("4:crash-after", "2 objects of kind Secret of Site default/a at once"),
    StaleWrite: ("7:rival-edit", "removed another client's label from ConfigMap default/a-print"),
    CleanupLast: ("16:crash-after", "ConfigMap kube-public/default-a exists in the end"),
}
"""By mistake: the plan that finds it, and its verdict."""


def words_of(failures: list[Failure]) -> str:
    """All that went wrong."""
    return "\n".join(words for failure in failures for words in failure.verdicts)


@pytest.mark.parametrize("mistake", FOUND, ids=lambda mistake: mistake.__name__)
def test_each_mistake_is_found_where_it_alone_was_made(mistake: type[Careful]) -> None:
    """By a plan that the careful operator endures."""
    plan, words = FOUND[mistake]
    assert words in words_of(run_plans(site_workload(mistake), replay=plan).failures)
    assert run_plans(site_workload(Careful), replay=plan).failures == []


@pytest.mark.nightly
def test_all_five_are_found_by_one_exploration() -> None:
    """Within the plans with one strike each."""
    found = words_of(run_plans(site_workload(AllFive), plans=400).failures)
    assert [words for _, words in FOUND.values() if words not in found] == []
