"""A handler that writes down its calls, and lets a test wait for them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeAlias

from handloop.apis.apps_v1 import Deployment
from handloop.informers.keys import DeletedFinalStateUnknown

_HARD_LIMIT_SECONDS = 30.0

Hook: TypeAlias = Callable[[str], None]


class Gate:
    """A handler's hook that blocks until it is opened."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self._open = threading.Event()

    def __call__(self, _line: str) -> None:
        self.reached.set()
        assert self._open.wait(_HARD_LIMIT_SECONDS)

    def wait(self) -> None:
        """Until the handler is in the gate."""
        assert self.reached.wait(_HARD_LIMIT_SECONDS)

    def open(self) -> None:
        """Let the handler through, for good."""
        self._open.set()


class RecordingHandler:
    """
    Records each call as a line: `add NAME RV initial|late`, `update NAME OLD NEW`, `delete NAME RV`,
    `delete KEY gone` for a tombstone.

    hook is called with the line before it is recorded, on the handler's thread; it may block or raise.
    """

    def __init__(self, hook: Hook | None = None) -> None:
        self._changed = threading.Condition()
        self._lines: list[str] = []
        self.hook = hook

    def on_add(self, obj: Deployment, is_in_initial_list: bool) -> None:
        mark = "initial" if is_in_initial_list else "late"
        self._record(f"add {obj.metadata.name} {obj.metadata.resource_version} {mark}")

    def on_update(self, old: Deployment, new: Deployment) -> None:
        versions = f"{old.metadata.resource_version} {new.metadata.resource_version}"
        self._record(f"update {new.metadata.name} {versions}")

    def on_delete(self, obj: Deployment | DeletedFinalStateUnknown[Deployment]) -> None:
        if isinstance(obj, DeletedFinalStateUnknown):
            self._record(f"delete {obj.key} gone")
        else:
            self._record(f"delete {obj.metadata.name} {obj.metadata.resource_version}")

    def seen(self) -> list[str]:
        """The lines so far."""
        with self._changed:
            return list(self._lines)

    def names(self, word: str) -> list[str]:
        """The names of the lines that begin with word, sorted, each once."""
        return sorted({line.split()[1] for line in self.seen() if line.startswith(word)})

    def clear(self) -> None:
        """Forget the lines."""
        with self._changed:
            self._lines.clear()

    def wait_for(self, wanted: int | str | Callable[[list[str]], bool]) -> list[str]:
        """Block until there are that many lines, or that line, or the condition holds; the lines then."""
        if isinstance(wanted, int):
            count = wanted
            holds: Callable[[list[str]], bool] = lambda lines: len(lines) >= count  # noqa: E731 - one of three
        elif isinstance(wanted, str):
            line = wanted
            holds = lambda lines: line in lines  # noqa: E731 - the same
        else:
            holds = wanted
        with self._changed:
            if not self._changed.wait_for(lambda: holds(self._lines), _HARD_LIMIT_SECONDS):
                raise AssertionError(f"waited 30 s for {wanted!r}, have {self._lines}")
            return list(self._lines)

    def _record(self, line: str) -> None:
        if self.hook is not None:
            self.hook(line)
        with self._changed:
            self._lines.append(line)
            self._changed.notify_all()
