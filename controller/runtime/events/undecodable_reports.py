"""Objects that do not fit their type, told to whoever made them: the Warning event InvalidObject."""

from __future__ import annotations

from typing import Final

from handloop.apis.meta import Kind
from handloop.client.decoding.pages import Undecodable
from handloop.controller.runtime.events.recorder import EVENT_TYPE_WARNING, EventRecorder
from handloop.controller.runtime.events.reference import reference_to_undecodable

INVALID_OBJECT: Final = "InvalidObject"


class UndecodableReports:
    """
    Records an event per object and version.

    Implements handloop.informers.quarantine.UndecodableCallback.

    Whoever is to be silent as a standby hands it to the informer at the start only: nothing is missed.
    """

    def __init__(self, kind: type[Kind], recorder: EventRecorder) -> None:
        self._resource = kind.resource
        self._recorder = recorder

    def __call__(self, undecodable: Undecodable) -> None:
        """An object was found that does not fit."""
        reference = reference_to_undecodable(self._resource, undecodable)
        self._recorder.event(reference, EVENT_TYPE_WARNING, INVALID_OBJECT, undecodable.error)
