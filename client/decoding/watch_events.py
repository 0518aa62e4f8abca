"""What a watch delivers."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Generic, NamedTuple, TypeVar

from handloop.client.decoding.pages import Undecodable
from handloop.client.errors import APIError

T = TypeVar("T")

INITIAL_EVENTS_END = "k8s.io/initial-events-end"


class EventType(StrEnum):
    """What happened; values as on the wire."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"
    ERROR = "ERROR"


class Bookmark(NamedTuple):
    """A point in the history without an object: everything up to resource_version has been sent."""

    resource_version: str
    annotations: Mapping[str, str]

    @property
    def ends_initial_events(self) -> bool:
        """Whether a streaming list is complete with this bookmark."""
        return self.annotations.get(INITIAL_EVENTS_END) == "true"


class WrongKind(NamedTuple):
    """An object of a kind that was not asked for."""

    api_version: str
    kind: str


class WatchEvent(NamedTuple, Generic[T]):
    """
    One event.

    object is a T; for BOOKMARK a Bookmark; for ERROR an APIError; an Undecodable for an object that does not
    fit its type; a WrongKind for an object of another kind.
    """

    type: EventType
    object: T | Bookmark | APIError | Undecodable | WrongKind
