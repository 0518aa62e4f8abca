"""The chapters, in order."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Final, NamedTuple

from handloop.walkthrough.screen import Screen


class Chapter(NamedTuple):
    """
    One chapter: its module, what it is about, and how many minutes a reader takes.

    run is the recorded run of the live page that shows the same; at is a mark in it, "" = its beginning.
    """

    module: str
    title: str
    minutes: int
    run: str
    at: str = ""

    @property
    def number(self) -> int:
        """The number in the module's name."""
        return int(self.module[2:4])

    @property
    def progress(self) -> str:
        """`4/11, about 4 min`: chapter 3 is the fourth of 11."""
        return f"{self.number + 1}/{len(CHAPTERS)}, about {self.minutes} min"

    @property
    def page(self) -> str:
        """Where `make docs` puts its run, below build/docs, with the step to show."""
        return f"live-page/index.html#run={self.run}" + (f"&at={self.at}" if self.at else "")

    def tell(self, screen: Screen) -> object:
        """Tell the chapter. Returns: its end state, which the tests assert."""
        screen.title(f"Chapter {self.number}: {self.title}", self.progress)
        chapter: Callable[[Screen], object] = import_module(f"handloop.walkthrough.{self.module}").chapter
        return chapter(screen)


CHAPTERS: Final = (
    Chapter("ch00_tour", "60-second tour", 1, "apply"),
    Chapter("ch01_log", "the API is a log", 3, "expired", "broke"),
    Chapter("ch02_reflector", "the reflector", 4, "expired"),
    Chapter("ch03_delta_fifo", "DeltaFIFO", 4, "expired", "tombstone"),
    Chapter("ch04_indexer", "indexer and lister", 3, "apply", "read"),
    Chapter("ch05_informer", "shared informer and handlers", 3, "apply", "added"),
    Chapter("ch06_workqueue", "the workqueue", 5, "in-flight"),
    Chapter("ch07_backoff", "rate limits and back-off", 3, "failures"),
    Chapter("ch08_sync_handler", "the sync handler", 5, "restart"),
    Chapter("ch09_status", "writing back", 4, "conflict"),
    Chapter("ch10_production", "production", 5, "lease"),
)
