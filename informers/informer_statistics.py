"""Snapshots of an informer: for logs, metrics, health checks and tests."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class State(StrEnum):
    """The state of a reflector's round; see the head of reflector.py."""

    EMPTY = "EMPTY"
    LISTING = "LISTING"
    LISTED = "LISTED"
    WATCHING = "WATCHING"


class ReflectorStatistics(msgspec.Struct, frozen=True):
    """
    A reflector at one moment.

    listed and page = objects and pages of the list that is being read; page is 0 while the list is streamed.
    relists = lists after the first, by RelistReason. watches = streams opened. last_event_at and retry_at as
    Clock.now() counts, None = none. fix is for the last error that was logged, "" = waiting helps.
    """

    state: State
    listed: int
    page: int
    relists: dict[str, int]
    watches: int
    last_sync_resource_version: str
    last_event_at: float | None
    last_error: str
    retry_at: float | None
    fix: str = ""


class ListenerStatistics(msgspec.Struct, frozen=True):
    """
    A listener at one moment.

    pending = notifications not yet handled; handled and panics = calls so far; synced = whether every add of
    the initial list has returned.
    """

    name: str
    pending: int
    handled: int
    panics: int
    synced: bool


class InformerStatistics(msgspec.Struct, frozen=True):
    """
    An informer at one moment.

    name such as `deployments.apps`, plural for people. objects in the store, queued keys in the FIFO,
    quarantined objects that do not fit their type. reflector is None before run. unindexed = entries that
    indexes lack, because an index function failed on an object. sharded_by as SharedIndexInformer.sharded_by.
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
    sharded_by: str = ""
