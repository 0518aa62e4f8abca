"""The exercises, by the number of their chapter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from handloop_learn import (
    ex02_reflector,
    ex03_delta_fifo,
    ex04_indexer,
    ex06_workqueue,
    ex07_backoff,
    ex08_sync_handler,
    ex09_conflict,
    ex12_owners,
    ex13_finalizers,
    ex14_apply,
    ex16_your_own,
)
from handloop_learn.exercise import Exercise

EXERCISES: Final[Mapping[int, Exercise]] = {
    2: ex02_reflector.EXERCISE,
    3: ex03_delta_fifo.EXERCISE,
    4: ex04_indexer.EXERCISE,
    6: ex06_workqueue.EXERCISE,
    7: ex07_backoff.EXERCISE,
    8: ex08_sync_handler.EXERCISE,
    9: ex09_conflict.EXERCISE,
    12: ex12_owners.EXERCISE,
    13: ex13_finalizers.EXERCISE,
    14: ex14_apply.EXERCISE,
    16: ex16_your_own.EXERCISE,
}
