"""The chapters, in order."""

from __future__ import annotations

from importlib import import_module
from typing import Final, NamedTuple

from handloop_learn.screen import Screen


class Chapter(NamedTuple):
    """
    A chapter: its module, its subject, and how many minutes it takes a reader.

    read is a docs page that explains more, with a heading after `#`. run is a recording on the live page that
    shows the same thing, and at is the name of a moment in that recording ("" = its start).
    """

    module: str
    title: str
    minutes: int
    read: str
    run: str = ""
    at: str = ""

    @property
    def number(self) -> int:
        """The number in the module's name."""
        return int(self.module[2:4])

    @property
    def name(self) -> str:
        """`Chapter 3: DeltaFIFO`."""
        return f"Chapter {self.number}: {self.title}"

    @property
    def progress(self) -> str:
        """The chapter's place and duration: `4/11, about 4 min` for the fourth of 11 chapters."""
        return f"{CHAPTERS.index(self) + 1}/{len(CHAPTERS)}, about {self.minutes} min"

    @property
    def page(self) -> str:
        """The address of its recording, relative to learn/docs, or "" if it has no recording."""
        place = f"live-page/index.html#run={self.run}" + (f"&at={self.at}" if self.at else "")
        return place if self.run else ""

    @property
    def next(self) -> Chapter | None:
        """The next chapter, or None after the last one."""
        after = CHAPTERS[CHAPTERS.index(self) + 1 :]
        return after[0] if after else None

    def tell(self, screen: Screen) -> object:
        """Run the chapter, and name what to read next. Returns: its end state, which the tests check."""
        screen.title(self.name, self.progress)
        script = import_module(f"handloop_learn.{self.module}")
        end: object = script.chapter(screen)
        screen.recap(*script.RECAP)
        screen.line("")
        play = {"play": f"learn/docs/{self.page}"} if self.page else {}
        screen.show(read_on=self.read.replace("#", ", "), **play)
        return end


WALK: Final = "learn/docs/walkthrough.md"
CHAPTERS: Final = (
    Chapter("ch00_tour", "a first tour", 3, f"{WALK}#The way in one view", "apply", "created"),
    Chapter("ch01_log", "the API is a log", 3, f"{WALK}#(1) list & watch", "expired", "broke"),
    Chapter("ch02_reflector", "the reflector", 4, f"{WALK}#(1) list & watch", "expired", "listing"),
    Chapter("ch03_delta_fifo", "DeltaFIFO", 4, f"{WALK}#(2) add object", "expired", "tombstone"),
    Chapter("ch04_indexer", "indexer and lister", 3, f"{WALK}#(4) update index", "apply", "read"),
    Chapter("ch05_informer", "shared informer and handlers", 3, f"{WALK}#(6) dispatch", "apply", "added"),
    Chapter("ch06_workqueue", "the workqueue", 3, f"{WALK}#(8) get key", "in-flight", "dirty"),
    Chapter(
        "ch07_backoff",
        "rate limits and back-off",
        4,
        f"{WALK}#(11) forget, or add rate limited",
        "failures",
        "first",
    ),
    Chapter("ch08_sync_handler", "the sync handler", 3, f"{WALK}#(9) get object by key", "restart", "killed"),
    Chapter("ch09_status", "writing back", 5, f"{WALK}#(10) write", "conflict", "conflict"),
    Chapter("ch10_production", "production", 3, "docs/how-to/leader-election.md", "lease", "taken"),
    Chapter("ch11_plain", "what breaks in the plain one", 4, "docs/guarantees.md", "storm", "stale"),
    Chapter(
        "ch12_owners", "owner references and garbage", 3, "docs/how-to/cluster-scope.md", "apply", "created"
    ),
    Chapter("ch13_finalizers", "finalizers", 3, "docs/how-to/finalizers.md", "restart", "killed"),
    Chapter("ch14_apply", "server-side apply", 3, "docs/coming-from.md"),
    Chapter("ch15_scale", "scale", 3, "docs/how-to/selections.md", "merge", "merged"),
    Chapter("ch16_your_own", "your own controller", 3, "docs/your-first-controller.md", "apply", "reported"),
)
