"""Usual mistakes, each in an operator of its own: found within a hundred plans, and nothing else is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from handloop_explore.explorer import run_plans
from support.builders.planted import PLANTED, Planted

MOST_PLANS = 100
SOME = 60
"""After so many each is found already."""
FEW = 12

WRONG = [pytest.param(one, id=name) for name, one in PLANTED.items() if one.words]
RIGHT = [pytest.param(one, id=name) for name, one in PLANTED.items()]


@pytest.mark.parametrize("planted", WRONG)
def test_each_mistake_is_found(planted: Planted) -> None:
    """In its own words; by few plans, or else by more."""
    reports = (run_plans(planted.workload(is_wrong=True), plans=plans) for plans in (FEW, SOME))
    said = (words for report in reports for one in report.failures for words in one.verdicts)
    assert any(planted.words in words for words in said)


@pytest.mark.parametrize("planted", RIGHT)
@pytest.mark.parametrize("plans", [FEW, pytest.param(MOST_PLANS, marks=pytest.mark.nightly)])
def test_nothing_is_found_without_it(planted: Planted, plans: int) -> None:
    """The operator does the same in another way."""
    run_plans(planted.workload(is_wrong=False), plans=plans).check()


@pytest.mark.nightly
@pytest.mark.parametrize("planted", RIGHT)
def test_nothing_is_found_in_two_processes(planted: Planted) -> None:
    """Of which one leads: the uids of objects come in another order then, and stand in the labels of Jobs."""
    run_plans(replace(planted.workload(is_wrong=False), replicas=2), plans=MOST_PLANS).check()
