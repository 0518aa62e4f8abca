"""
Writing events to the API server: create or patch, with patience when it cannot be reached.

RBAC: create and patch on events.
Follows: client-go tools/record/event.go (recordToSink, recordEvent).
"""

from __future__ import annotations

import random as random_module
import threading
from collections.abc import Callable
from typing import Any, Final, NamedTuple, Protocol

import structlog
from msgspec.structs import replace

from apis.core_v1 import Event
from client.errors import AlreadyExists, APIError, NotFound
from client.resource_client import PatchType
from controller.runtime.events_correlator import EventCorrelator
from workqueue.clock import REAL_CLOCK, Clock
from workqueue.locks import new_lock

log = structlog.get_logger("events")

MAX_TRIES_PER_EVENT: Final = 12
SLEEP_SECONDS: Final = 10.0
_NAMESPACE_TERMINATING: Final = "NamespaceTerminating"


class EventSink(Protocol):
    """Where events are written: the two verbs of `client.resource(Event)` that are used."""

    def create(self, obj: Event, *, namespace: str) -> Event:
        """Create an event and return it as the server has it."""

    def patch(self, name: str, patch: Any, *, namespace: str, patch_type: PatchType) -> Event:
        """Patch an event and return it as the server has it."""


class SinkStatistics(NamedTuple):
    """How many events were written, skipped by the spam filter, and given up."""

    written: int = 0
    skipped: int = 0
    abandoned: int = 0


class EventWriter:
    """
    Correlates events and writes what comes out, one at a time.

    An event that the server refuses is given up at once; one that does not get through is tried 12 times,
    10 s apart, and holds up the later ones meanwhile. Once stop is set each event is tried once.
    State: _statistics, under _lock. Threads: write() from one thread; statistics() from any.
    """

    def __init__(
        self,
        sink: EventSink,
        correlator: EventCorrelator,
        stop: threading.Event,
        *,
        clock: Clock = REAL_CLOCK,
        random: Callable[[], float] = random_module.random,
    ) -> None:
        self._sink = sink
        self._correlator = correlator
        self._stop = stop
        self._clock = clock
        self._random = random
        self._lock = new_lock("EventWriter._lock", 97)
        self._statistics = SinkStatistics()

    def statistics(self) -> SinkStatistics:
        """What has become of the events so far."""
        with self._lock:
            return self._statistics

    def write(self, event: Event) -> None:
        """
        Write one event, whatever it takes; never raises for what the sink does.

        Blocks: up to about 2 minutes while the sink does not answer, or until stop is set.
        """
        correlation = self._correlator.correlate(event)
        if correlation.skip:
            self._count(skipped=1)
            return
        for tries in range(1, MAX_TRIES_PER_EVENT + 1):
            if self._try_once(correlation.event, correlation.patch):
                return
            if tries < MAX_TRIES_PER_EVENT and self._clock.sleep(self._delay(tries), self._stop):
                log.error("Unable to write event (broadcaster is shut down)", **_shown(event))
                break
        else:
            log.error("Unable to write event (retry limit exceeded!)", **_shown(event))
        self._count(abandoned=1)

    def _delay(self, tries: int) -> float:
        """The first delay is a random part, so that many clients do not all come back at once."""
        return SLEEP_SECONDS * self._random() if tries == 1 else SLEEP_SECONDS

    def _try_once(self, event: Event, patch: dict[str, Any] | None) -> bool:
        """Whether the event is settled: written, or not worth another try."""
        try:
            written = self._send(event, patch)
        except APIError as error:
            _log_rejection(error, event)
        except (TypeError, ValueError) as error:  # the request could not be built
            _log_failure("Unable to construct event (will not retry!)", error, event)
        except Exception as error:  # noqa: BLE001 - an event that cannot be sent must not end the recording
            _log_failure("Unable to write event (may retry after sleeping)", error, event)
            return False
        else:
            self._correlator.update_state(written)
            self._count(written=1)
            return True
        self._count(abandoned=1)
        return True

    def _send(self, event: Event, patch: dict[str, Any] | None) -> Event:
        metadata = event.metadata
        if patch is not None:
            try:
                return self._sink.patch(
                    metadata.name, patch, namespace=metadata.namespace, patch_type=PatchType.STRATEGIC
                )
            except NotFound:  # events expire on the server after an hour
                event = replace(event, metadata=replace(metadata, resource_version=""))
        return self._sink.create(event, namespace=metadata.namespace)

    def _count(self, *, written: int = 0, skipped: int = 0, abandoned: int = 0) -> None:
        with self._lock:
            before = self._statistics
            self._statistics = SinkStatistics(
                before.written + written, before.skipped + skipped, before.abandoned + abandoned
            )


def _log_rejection(error: APIError, event: Event) -> None:
    causes = error.status.details.causes
    if isinstance(error, AlreadyExists) or any(cause.reason == _NAMESPACE_TERMINATING for cause in causes):
        log.debug("Server rejected event (will not retry!)", v=5, err=str(error), **_shown(event))
    else:
        log.error("Server rejected event (will not retry!)", err=str(error), **_shown(event))


def _log_failure(text: str, error: Exception, event: Event) -> None:
    log.error(text, err=str(error), **_shown(event))


def _shown(event: Event) -> dict[str, str]:
    involved = event.involved_object
    return {"object": f"{involved.namespace}/{involved.name}", "reason": event.reason}
