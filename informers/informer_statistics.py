"""A snapshot of an informer: for logs, metrics, health checks and tests."""

from __future__ import annotations

import msgspec

from handloop.informers.processor import ListenerStatistics
from handloop.informers.reflector import ReflectorStatistics


class InformerStatistics(msgspec.Struct, frozen=True):
    """
    An informer at one moment.

    name such as `deployments.apps`, plural for people. objects in the store, queued keys in the FIFO,
    quarantined objects that do not fit their type. reflector is None before run. unindexed = entries that
    indexes lack, because an index function failed on an object. narrowed_by as Restriction.narrowed_by.
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
    narrowed_by: str = ""
