"""A place where events of events.k8s.io/v1 are written, that can refuse on command."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from handloop.apis.events_v1 import Event, EventSeries
from handloop.client.resource_client import PatchType
from support.api_errors import api_error

_DEADLINE_SECONDS = 10.0


class SeriesCall(NamedTuple):
    """One request, in the order in which they came."""

    verb: str
    name: str
    patch: dict[str, Any] | None


class FakeSeriesSink:
    """
    Implements EventSink as an API server does: a patch of nothing is 404, a second create is 409.

    outcome is asked before each call, with the number of calls so far; an exception it returns is raised.
    """

    def __init__(self, outcome: Callable[[int], Exception | None] = lambda _call: None) -> None:
        self._outcome = outcome
        self._changed = threading.Condition()
        self.calls: list[SeriesCall] = []
        self.stored: dict[str, Event] = {}

    def create(self, obj: Event, *, namespace: str) -> Event:
        assert namespace == obj.metadata.namespace
        assert not obj.metadata.resource_version
        self._record(SeriesCall("create", obj.metadata.name, None))
        if obj.metadata.name in self.stored:
            raise api_error(409, "AlreadyExists")
        return self._store(obj)

    def patch(self, name: str, patch: Any, *, namespace: str, patch_type: PatchType) -> Event:
        assert patch_type is PatchType.STRATEGIC
        assert namespace == "default"
        self._record(SeriesCall("patch", name, patch))
        if name not in self.stored:
            raise api_error(404, "NotFound")
        series = msgspec.convert(patch["series"], EventSeries)
        return self._store(msgspec.structs.replace(self.stored[name], series=series))

    @property
    def verbs(self) -> list[str]:
        """What was asked for so far."""
        with self._changed:
            return [call.verb for call in self.calls]

    def wait_for_calls(self, count: int) -> None:
        """Block until there were count calls; raises after 10 seconds."""
        with self._changed:
            if not self._changed.wait_for(lambda: len(self.calls) >= count, _DEADLINE_SECONDS):
                raise TimeoutError(f"{len(self.calls)} of {count} expected calls")

    def _record(self, call: SeriesCall) -> None:
        with self._changed:
            error = self._outcome(len(self.calls))
            self.calls.append(call)
            self._changed.notify_all()
        if error is not None:
            raise error

    def _store(self, event: Event) -> Event:
        metadata = msgspec.structs.replace(event.metadata, resource_version=str(len(self.calls)))
        self.stored[event.metadata.name] = msgspec.structs.replace(event, metadata=metadata)
        return self.stored[event.metadata.name]
