"""The exercises, by the number of their chapter."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Final

from handloop_learn.exercise import Exercise

_MODULES: Final = (
    *("ex02_reflector", "ex03_delta_fifo", "ex04_indexer", "ex06_workqueue", "ex07_backoff"),
    *("ex08_sync_handler", "ex09_conflict", "ex12_owners", "ex13_finalizers", "ex14_apply", "ex16_your_own"),
)
EXERCISES: Final[Mapping[int, Exercise]] = {
    int(name[2:4]): import_module(f"{__package__}.{name}").EXERCISE for name in _MODULES
}
