"""
Writing one Event to the API server: create or patch, with patience while the server cannot be reached.

RBAC: create and patch on the Events' resource.
Follows: client-go tools/record/event.go and tools/events/event_broadcaster.go (recordEvent), differs: Events
of both groups wait between tries as core/v1 does. If a patch finds no Event and the create that follows finds
one, that counts as a failed try.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from enum import Enum
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar

import structlog
from msgspec.structs import replace

from handloop.apis import events_v1
from handloop.apis.core_v1 import Event, ObjectReference
from handloop.client.errors import AlreadyExists, APIError, NotFound
from handloop.client.resource_client import PatchType
from handloop.workqueue.locks import new_lock
from handloop.workqueue.seams import REAL_SEAMS, Seams

log = structlog.get_logger("events")

MAX_TRIES_PER_EVENT: Final = 12
SLEEP_SECONDS: Final = 10.0
_NAMESPACE_TERMINATING: Final = "NamespaceTerminating"


E = TypeVar("E", bound=Event | events_v1.Event)


class EventSink(Protocol[E]):
    """Where Events are written: two verbs of `client.resource(Event)`."""

    def create(self, obj: E, *, namespace: str) -> E:
        """Create an Event and return it as the server has it."""

    def patch(self, name: str, patch: Any, *, namespace: str, patch_type: PatchType) -> E:
        """Patch an Event and return it as the server has it."""


class Outcome(Enum):
    """The outcome of one try."""

    WRITTEN = "written"
    REFUSED = "refused"
    TRY_AGAIN = "try again"


class SinkStatistics(NamedTuple):
    """How many Events were written, not worth a write, and given up."""

    written: int = 0
    skipped: int = 0
    abandoned: int = 0


class EventDelivery(Generic[E]):
    """
    Writes Events to a sink, one at a time.

    An Event that the server refuses is given up at once. An Event that does not get through is tried 12
    times, 10 s apart, and delays later ones. Once stop is set each Event is tried once.
    State: _statistics, under _lock. Threads: any.
    """

    def __init__(
        self,
        sink: EventSink[E],
        about: Callable[[E], ObjectReference],
        stop: threading.Event,
        *,
        on_written: Callable[[E], None] = lambda _: None,
        seams: Seams = REAL_SEAMS,
    ) -> None:
        """Args: about returns the object of an Event, for the log; on_written gets the answers."""
        self._sink = sink
        self._about = about
        self._stop = stop
        self._on_written = on_written
        self._clock = seams.clock
        self._random = seams.random
        self._lock = new_lock("EventDelivery._lock", 97)
        self._statistics = SinkStatistics()

    def statistics(self) -> SinkStatistics:
        """The outcomes so far."""
        with self._lock:
            return self._statistics

    def skip(self) -> None:
        """Count an Event that need not be written."""
        self._count(skipped=1)

    def deliver(self, event: E, patch: dict[str, Any] | None) -> None:
        """
        Write one Event, with up to 12 tries; never raises for an error of the sink.

        Args: patch changes an Event that was written before; None creates the Event.
        Blocks: up to about 2 minutes while the sink does not answer, or until stop is set.
        """
        for tries in range(1, MAX_TRIES_PER_EVENT + 1):
            if self.try_once(event, patch) is not Outcome.TRY_AGAIN:
                return
            if tries < MAX_TRIES_PER_EVENT and self._clock.sleep(self._delay(tries), self._stop):
                log.error("Unable to write event (broadcaster is shut down)", **self._shown(event))
                break
        else:
            log.error("Unable to write event (retry limit exceeded!)", **self._shown(event))
        self._count(abandoned=1)

    def try_once(self, event: E, patch: dict[str, Any] | None) -> Outcome:
        """Try to write one Event; never raises for an error of the sink. Args: as deliver."""
        try:
            written = self._send(event, patch)
        except APIError as error:
            # the patch found no Event, then the create found one: another replica created it meanwhile
            if patch is not None and isinstance(error, AlreadyExists):
                return Outcome.TRY_AGAIN
            self._log_rejection(error, event)
        except (TypeError, ValueError) as error:  # the request could not be built
            self._log_failure("Unable to construct event (will not retry!)", error, event)
        except Exception as error:  # noqa: BLE001 - an Event that cannot be sent must not end the recording
            self._log_failure("Unable to write event (may retry after sleeping)", error, event)
            return Outcome.TRY_AGAIN
        else:
            self._on_written(written)
            self._count(written=1)
            return Outcome.WRITTEN
        self._count(abandoned=1)
        return Outcome.REFUSED

    def _delay(self, tries: int) -> float:
        """The first delay is a random part, so that many clients do not come back all at once."""
        return SLEEP_SECONDS * self._random() if tries == 1 else SLEEP_SECONDS

    def _send(self, event: E, patch: dict[str, Any] | None) -> E:
        metadata = event.metadata
        if patch is not None:
            try:
                return self._sink.patch(
                    metadata.name, patch, namespace=metadata.namespace, patch_type=PatchType.STRATEGIC
                )
            except NotFound:  # Events expire on the server after an hour
                event = replace(event, metadata=replace(metadata, resource_version=""))
        return self._sink.create(event, namespace=metadata.namespace)

    def _count(self, *, written: int = 0, skipped: int = 0, abandoned: int = 0) -> None:
        with self._lock:
            before = self._statistics
            self._statistics = SinkStatistics(
                before.written + written, before.skipped + skipped, before.abandoned + abandoned
            )

    def _log_rejection(self, error: APIError, event: E) -> None:
        causes = error.status.details.causes
        if isinstance(error, AlreadyExists) or any(
            cause.reason == _NAMESPACE_TERMINATING for cause in causes
        ):
            log.debug("Server rejected event (will not retry!)", v=5, err=str(error), **self._shown(event))
        else:
            self._log_failure("Server rejected event (will not retry!)", error, event)

    def _log_failure(self, text: str, error: Exception, event: E) -> None:
        log.error(text, err=str(error), **self._shown(event))

    def _shown(self, event: E) -> dict[str, str]:
        about = self._about(event)
        return {"object": f"{about.namespace}/{about.name}", "reason": event.reason}
