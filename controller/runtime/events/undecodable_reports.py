"""Objects that do not fit their type, told to whoever made them: the Warning event InvalidObject."""

from __future__ import annotations

from typing import Final

from apis.meta import Kind
from client.decoding.pages import Undecodable
from controller.runtime.events.recorder import EVENT_TYPE_WARNING, EventRecorder
from controller.runtime.events.reference import reference_to_undecodable
from workqueue.locks import new_lock

INVALID_OBJECT: Final = "InvalidObject"
_REMEMBERED: Final = 1000


class UndecodableReports:
    """
    Records an event per object and version; until start it only remembers them, as a standby is to be silent.

    State, under _lock: _waiting, the first 1000 objects to be reported at start; None from then on.
    Threads: reflectors call it, `run-<name>` starts it.
    """

    def __init__(self, kind: type[Kind], recorder: EventRecorder) -> None:
        self._resource = kind.resource
        self._recorder = recorder
        self._lock = new_lock("UndecodableReports._lock", 97)
        self._waiting: list[Undecodable] | None = []

    def __call__(self, undecodable: Undecodable) -> None:
        """An object was found that does not fit."""
        with self._lock:
            if self._waiting is not None:
                if len(self._waiting) < _REMEMBERED:
                    self._waiting.append(undecodable)
                return
        self._record(undecodable)

    def start(self) -> None:
        """Record what waits, and everything from here on."""
        with self._lock:
            waiting, self._waiting = self._waiting or [], None
        for undecodable in waiting:
            self._record(undecodable)

    def _record(self, undecodable: Undecodable) -> None:
        reference = reference_to_undecodable(self._resource, undecodable)
        self._recorder.event(reference, EVENT_TYPE_WARNING, INVALID_OBJECT, undecodable.error)
