"""Records a run in virtual time for the live page, with its steps, the state after them, and its story."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from handloop.picture.explain import document
from handloop.picture.parts import Parts, ThreadFrame
from handloop.picture.recorder import Step
from handloop.picture.recording import Entry, gap, numbered
from handloop.picture.snapshot import snapshot
from handloop.seams.step_trace import TRACE
from handloop_explore.played import Journal, Told
from handloop_explore.process import Process
from handloop_explore.virtual_threads import BlockedError, VirtualClock, VirtualThreads

MOST_STEPS: Final = 3000
"""The largest number of steps that are recorded per run. A limit lets the page open quickly."""
_LAST_STEPS: Final = 500
"""How many of the newest steps are stored, to determine the workers' state."""


class Tape:
    """
    Records one run, without changing it.

    State: _entries, the page's entries, each with `told`, the length of the story at that time, and `who`,
    the entry's process, or "" for all; _steps, the newest steps of each process. Threads: runs on the run's
    threads.
    """

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._steps: dict[Process, deque[Step]] = {}
        self._count = 0
        self._told = 0
        self._is_due = False

    @contextmanager
    def recording(self, threads: VirtualThreads, journal: Journal) -> Iterator[None]:
        """Record the run within the context."""
        self._threads, self._journal = threads, journal
        TRACE.start(self._step)
        try:
            yield
        finally:
            TRACE.stop()
            self._tell_story()

    def processes(self) -> list[str]:
        """Return the processes that took steps, ordered by their first step."""
        return [process.name for process in self._steps]

    def document(
        self, head: Mapping[str, Any], marks: Mapping[str, int], opening: str, process: str = ""
    ) -> dict[str, Any]:
        """
        Return the run as a document for the page.

        Args: head: the run's name, title and description; marks: indexes of story lines, by name; opening: a
        sentence before the first step; process: the only process to show, or "" for all.
        """
        shown = [entry for entry in self._entries if not process or entry["who"] in ("", process)]
        run = numbered([shown], opening)
        story = [step.get("told", 0) for step in run["steps"]]
        for step in run["steps"]:
            for ours in ("told", "who"):
                step.pop(ours, None)
        found = {
            name: next((seq for seq, told in enumerate(story, 1) if told > index), len(story))
            for name, index in marks.items()
        }
        return {**head, "key": "", "shows": ["myapp"], "marks": found, **run}

    def _step(self, number: int, component: str, key: str, facts: dict[str, Any]) -> None:
        process = self._threads.current_thread().process
        if not isinstance(process, Process) or self._count == MOST_STEPS:
            return
        self._tell_story()
        self._count += 1
        step = Step(
            self._count,
            self._threads.now,
            self._threads.current_thread().name,
            number,
            component,
            key,
            facts,
        )
        self._steps.setdefault(process, deque(maxlen=_LAST_STEPS)).append(step)
        self._add(document(step), process.name)
        if self._count == MOST_STEPS:
            self._add(gap(self._threads.now, f"The recording ends here, after {MOST_STEPS} steps."))
        elif not self._is_due:
            self._is_due = True
            self._threads.in_main(lambda: self._take_state(process))

    def _tell_story(self) -> None:
        """Add the story's lines since the last step, without writes, which are steps themselves."""
        for told in self._journal.story[self._told :]:
            self._told += 1
            if not (told.write and told.who.startswith("process")):
                who = told.who if told.starts_process else ""
                self._add(gap(told.at, _sentence(told), goes_on=not told.starts_process), who)
                if told.starts_process:
                    self._add({"state": snapshot(None, list)}, who)

    def _add(self, entry: Entry, who: str = "") -> None:
        self._entries.append({**entry, "told": self._told, "who": who})

    def _take_state(self, process: Process) -> None:
        """Add the state of a process, unless a waiting thread holds a lock that reading it needs."""
        self._is_due = False
        manager = process.manager
        try:
            with self._threads.looking():
                state = snapshot(
                    None if manager is None else Parts(manager, manager.runnables()),
                    lambda: list(self._steps[process]),
                    clock=VirtualClock(self._threads),
                    read_threads=lambda: _threads_of(process, self._threads),
                )
        except BlockedError:
            return
        self._add({"state": state}, process.name)


def _threads_of(process: Process, threads: VirtualThreads) -> list[ThreadFrame]:
    return [
        ThreadFrame(one.name, one.greenlet.gr_frame if one.greenlet else None)
        for one in threads.threads()
        if one.process is process
    ]


def _sentence(told: Told) -> str:
    return f"At {told.at:.2f} s {told.words}."
