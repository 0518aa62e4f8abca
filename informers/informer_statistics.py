"""What can be seen of an informer from outside, at one moment."""

from __future__ import annotations

import msgspec

from handloop.informers.processor import ListenerStatistics
from handloop.informers.reflecting.reflector_statistics import ReflectorStatistics


class InformerStatistics(msgspec.Struct, frozen=True):
    """
    An informer at one moment.

    name such as `deployments.apps`, plural for people; objects in the store, queued keys in the FIFO,
    quarantined objects that do not fit their type; reflector None before run; unindexed = entries that
    indexes lack, because an index function failed on an object.
    """

    name: str
    plural: str
    started: bool
    stopped: bool
    synced: bool
    objects: int
    queued: int
    quarantined: int
    reflector: ReflectorStatistics | None
    listeners: tuple[ListenerStatistics, ...]
    unindexed: int = 0

    @property
    def listeners_synced(self) -> bool:
        """Whether every handler has been through the initial list."""
        return all(listener.synced for listener in self.listeners)
