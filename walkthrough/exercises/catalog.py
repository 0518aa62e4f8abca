"""The exercises, by the number of their chapter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from handloop.walkthrough.exercises import backoff, delta_fifo, indexer, sync_handler, workqueue
from handloop.walkthrough.exercises.exercise import Exercise

EXERCISES: Final[Mapping[int, Exercise]] = {
    3: delta_fifo.EXERCISE,
    4: indexer.EXERCISE,
    6: workqueue.EXERCISE,
    7: backoff.EXERCISE,
    8: sync_handler.EXERCISE,
}
