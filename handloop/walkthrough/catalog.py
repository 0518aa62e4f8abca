"""The chapters, in order."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Final, NamedTuple

from handloop.walkthrough.screen import Screen


class Chapter(NamedTuple):
    """One chapter: its module, what it is about, and how long a reader takes."""

    module: str
    title: str
    minutes: int

    @property
    def number(self) -> int:
        """The number in the module's name."""
        return int(self.module[2:4])

    @property
    def progress(self) -> str:
        """`4/11, about 4 min`: chapter 3 is the fourth of 11."""
        return f"{self.number + 1}/{len(CHAPTERS)}, about {self.minutes} min"

    def run(self, screen: Screen) -> object:
        """Tell the chapter. Returns: its end state, which the tests assert."""
        screen.title(f"Chapter {self.number}: {self.title}", self.progress)
        tell: Callable[[Screen], object] = import_module(f"handloop.walkthrough.{self.module}").chapter
        return tell(screen)


CHAPTERS: Final = (
    Chapter("ch00_tour", "60-second tour", 1),
    Chapter("ch01_log", "the API is a log", 3),
    Chapter("ch02_reflector", "the reflector", 4),
    Chapter("ch03_delta_fifo", "DeltaFIFO", 4),
    Chapter("ch04_indexer", "indexer and lister", 3),
    Chapter("ch05_informer", "shared informer and handlers", 3),
    Chapter("ch06_workqueue", "the workqueue", 5),
    Chapter("ch07_backoff", "rate limits and back-off", 3),
    Chapter("ch08_sync_handler", "the sync handler", 5),
    Chapter("ch09_status", "writing back", 4),
    Chapter("ch10_production", "production", 5),
)
