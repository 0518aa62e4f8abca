"""Each piece of production.py: a plan that breaks the plain controller, and the same plan with the piece."""

from __future__ import annotations

import re

from handloop.controller.foo import production
from handloop.controller.runtime.guards.repeat_backoff import FIRST_SECONDS
from handloop_learn import ch11_plain
from handloop_learn.ch11_plain import FAILURES, ROUNDS
from support.checks.chapters import told


def test_each_plan_breaks_the_plain_one_and_not_the_other() -> None:
    """The harm grows with each round in the plain one; the other tries an impossible Foo once."""
    end, text = told(ch11_plain.chapter)
    plain = {number: counts[0] for number, counts in end.counted.items()}
    hardened = {number: counts[1] for number, counts in end.counted.items()}
    each_round = dict.fromkeys((1, 3, 6, 7, 8, 9), ROUNDS)
    assert plain == each_round | {2: 1, 4: 10, 5: FAILURES}
    assert hardened == dict.fromkeys(range(1, 10), 0) | {5: 1}
    assert end.repair_seconds == FIRST_SECONDS
    assert f"0, repaired after {FIRST_SECONDS:g} s" in " ".join(text.split())


def test_the_pieces_are_those_of_the_file() -> None:
    """The chapter breaks each that production.py lists, by its number there, but the tenth, the pause."""
    numbers = [int(number) for number in re.findall(r"^ +(\d+)\. ", production.__doc__ or "", re.MULTILINE)]
    assert numbers == [*sorted(piece.number for piece in (ch11_plain.STORM, *ch11_plain.PIECES)), 10]
