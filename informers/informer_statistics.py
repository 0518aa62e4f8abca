"""A snapshot of an informer for logs, metrics, health checks and tests."""

from __future__ import annotations

import msgspec

from handloop.informers.processor import ListenerStatistics
from handloop.informers.reflector import ReflectorStatistics


class InformerStatistics(msgspec.Struct, frozen=True):
    """
    A snapshot of an informer.

    name is, for example, `deployments.apps`; plural is the kind's plural name. objects counts the
    objects in the store. queued counts the keys in the FIFO. quarantined counts the objects that are not
    stored because they do not fit their type. reflector is None before run. unindexed counts the index
    entries that are missing because an index function failed. narrowed_by is the result of
    Restriction.narrowed_by.
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
