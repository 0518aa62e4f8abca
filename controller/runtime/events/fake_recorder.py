"""
A recorder for tests, which stores reports as lines of text.

Follows: client-go tools/record/fake.go, differs: never blocks.
"""

from __future__ import annotations

from collections.abc import Mapping

from handloop.controller.runtime.events.recorder import reference_to
from handloop.seams.locks import new_lock


class FakeRecorder:
    """
    Implements EventRecorder. Each report is stored as one line `<type> <reason> <message>`.

    With include_object, ` involvedObject{kind=...,apiVersion=...}` is appended to the line. Annotations
    follow as ` map[key:value ...]`.
    State: _events, oldest first, under _lock. Threads: any thread may record.
    """

    def __init__(self, *, include_object: bool = False) -> None:
        self._include_object = include_object
        self._lock = new_lock("FakeRecorder._lock", 95)
        self._events: list[str] = []

    @property
    def events(self) -> list[str]:
        """The lines so far, oldest first."""
        with self._lock:
            return list(self._events)

    def take(self) -> list[str]:
        """Return the lines since the last call."""
        with self._lock:
            taken, self._events = self._events, []
            return taken

    def event(
        self,
        obj: object,
        event_type: str,
        reason: str,
        message: str,
        *,
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        """Keep a report."""
        line = f"{event_type} {reason} {message}"
        about = reference_to(obj) if self._include_object else None
        if about is not None:
            line += f" involvedObject{{kind={about.kind},apiVersion={about.api_version}}}"
        if annotations:
            line += f" map[{' '.join(f'{key}:{value}' for key, value in sorted(annotations.items()))}]"
        with self._lock:
            self._events.append(line)
