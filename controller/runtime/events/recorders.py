"""The recorders of one process, and the broadcaster behind them."""

from __future__ import annotations

import threading
from typing import Final

from handloop.apis.core_v1 import Event
from handloop.client.resource_client import Client
from handloop.controller.runtime.events.broadcaster import EventBroadcaster
from handloop.controller.runtime.events.recorder import EventRecorder
from handloop.seams.seams import REAL_SEAMS, Seams

FLUSH_SECONDS: Final = 5.0
_LOG_VERBOSITY: Final = 3


class Recorders:
    """
    Creates recorders at any time. Their Events are written between start and shutdown.

    State: _ended, which shutdown sets at its end to cancel waiting requests. Threads: any.
    """

    def __init__(self, client: Client, *, seams: Seams = REAL_SEAMS) -> None:
        self._ended = threading.Event()
        self._client = client.until(self._ended)
        self._broadcaster = EventBroadcaster(seams=seams)

    def recorder(self, component: str) -> EventRecorder:
        """Like Manager.recorder."""
        return self._broadcaster.new_recorder(component)

    def start(self) -> None:
        """Write Events from now on."""
        self._broadcaster.start_structured_logging(_LOG_VERBOSITY)
        self._broadcaster.start_recording_to_sink(self._client.resource(Event))

    def shutdown(self, seconds: float = FLUSH_SECONDS) -> int:
        """
        Try to write each queued Event once, and stop the threads.

        Returns: the number of Events that were not written before the time limit.
        Blocks: until the Events are written, for at most min(seconds, FLUSH_SECONDS).
        """
        left = self._broadcaster.shutdown(min(seconds, FLUSH_SECONDS))
        self._ended.set()
        return left
