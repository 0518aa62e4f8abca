"""Deployments and watch events to test informers with."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from handloop.apis.apps_v1 import Deployment
from handloop.apis.meta import FrozenMap, ObjectMeta
from handloop.client.decoding.watch_stream import INITIAL_EVENTS_END, Bookmark, EventType, WatchEvent


def deployment(
    name: str,
    rv: str | int = "1",
    *,
    namespace: str = "default",
    uid: str = "",
    labels: Mapping[str, str] | None = None,
) -> Deployment:
    """A Deployment of that name and resource version; without a UID unless one is given."""
    return Deployment(
        metadata=ObjectMeta(
            name=name,
            namespace=namespace,
            resource_version=str(rv),
            uid=uid,
            labels=FrozenMap(labels or {}),
        )
    )


def at_version(obj: Deployment, rv: str | int) -> Deployment:
    """The same object, later."""
    metadata = msgspec.structs.replace(obj.metadata, resource_version=str(rv))
    return msgspec.structs.replace(obj, metadata=metadata)


def added(obj: Deployment) -> WatchEvent[Deployment]:
    """An ADDED event."""
    return WatchEvent(EventType.ADDED, obj)


def modified(obj: Deployment) -> WatchEvent[Deployment]:
    """A MODIFIED event."""
    return WatchEvent(EventType.MODIFIED, obj)


def deleted(obj: Deployment) -> WatchEvent[Deployment]:
    """A DELETED event."""
    return WatchEvent(EventType.DELETED, obj)


def bookmark(rv: str | int, *, ends_list: bool = False, annotation: str = "true") -> WatchEvent[Deployment]:
    """A BOOKMARK event; ends_list marks the end of a streamed list with the annotation given."""
    annotations = {INITIAL_EVENTS_END: annotation} if ends_list else {}
    return WatchEvent(EventType.BOOKMARK, Bookmark(str(rv), annotations))


def names(objects: list[Deployment]) -> list[str]:
    """Names, sorted."""
    return sorted(obj.metadata.name for obj in objects)
