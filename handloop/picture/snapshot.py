"""
The state of the running parts as JSON: reflectors, FIFOs, indexes, queues, workers, election.

Of API objects, only names, versions and replicas are shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Final

import msgspec

from handloop.controller.runtime.election.candidacy import ElectionStatistics
from handloop.informers.keys import ObjectName
from handloop.informers.shared_informer import SharedIndexInformer
from handloop.picture.parts import (
    Parts,
    ThreadFrame,
    Work,
    is_held,
    oldest_seconds,
    real_threads,
    waits_for_key,
)
from handloop.picture.recorder import Step
from handloop.picture.syncs import DONE, GET, Sync, syncs
from handloop.seams.clock import REAL_CLOCK, Clock

MOST_ITEMS: Final = 50
"""The maximum number of keys or objects in a list of the snapshot. The total number is given separately."""

_RESULTS: Final = 10
_WORKER: Final = re.compile(r"(?:.+-)?worker-\d+")


def snapshot(
    parts: Parts | None,
    read_steps: Callable[[], Sequence[Step]],
    *,
    clock: Clock = REAL_CLOCK,
    read_threads: Callable[[], Iterable[ThreadFrame]] = real_threads,
) -> dict[str, Any]:
    """
    Return the state at this moment.

    Args: parts is None if the program has no controllers yet. read_steps returns the steps recorded so far,
    which show the workers' syncs.
    Returns: a JSON object, with times in seconds. `age` and a worker's `seconds` are the time since an event;
    `retryIn` and a delayed key's `seconds` are the time until the next try.
    """
    now = clock.now()
    if parts is None:
        return {"ready": False, "informers": [], "queues": [], "workers": [], "results": [], "objects": []}
    informers = parts.informers()
    # The order matters: a key that a worker gives back between the reads must not appear to be left behind.
    before = read_steps()
    queues = [_queue_row(name, queue, partial(parts.says, name)) for name, queue in parts.queues().items()]
    workers = _Workers(now, before, read_threads(), read_steps())
    return {
        "ready": True,
        "synced": all(informer.has_synced() for informer in informers),
        "election": _election(parts),
        "shards": _shards(parts),
        "foo": parts.foo_controller(),
        "foreign": sorted(parts.foreign_listeners()),
        "informers": [_informer(informer, now) for informer in informers],
        "queues": [row | {"stuck": workers.stuck(row["name"], row["processing"])} for row in queues],
        "workers": workers.rows(),
        "results": [_result(sync) for sync in workers.ended][-_RESULTS:],
        # The objects of our own kinds, which are custom resources with desired and available replicas.
        "objects": [_replicas(informer) for informer in informers if hasattr(informer.kind, "scale")],
    }


def _election(parts: Parts) -> dict[str, Any] | None:
    elector = parts.manager.elector
    if elector is None:
        return None
    statistics: ElectionStatistics = elector.candidacy.statistics()
    return {
        "lease": statistics.lease,
        "holder": statistics.holder,
        "leading": statistics.leading,
        "expiresIn": round(statistics.expires_in_seconds, 1),
    }


def _shards(parts: Parts) -> dict[str, Any] | None:
    """Return the replica of each slot. sign is a pair: whether all is well, and the text for the page."""
    shown, objects = parts.manager.replica.statistics(), parts.manager.replica.objects()
    if shown is None:
        return None
    replicas = "1 replica" if len(shown.members) == 1 else f"{len(shown.members)} replicas"
    numbers = " ".join(str(objects.get(slot, 0)) for slot in shown.held)
    having = f" with {numbers} objects" if numbers else ""
    words = f"slots {' '.join(map(str, shown.held)) or 'none'} of {shown.count}{having}, {replicas}"
    if not shown.members:
        words = "joining the replicas"
    elif shown.unheld:
        words = f"nobody has slots {' '.join(map(str, shown.unheld))} of {shown.count}"
    good = bool(shown.held) and not shown.unheld
    return {"sign": [good, words], **msgspec.to_builtins(shown)}


def _informer(informer: SharedIndexInformer[Any], now: float) -> dict[str, Any]:
    statistics = informer.statistics()
    reflector = statistics.reflector
    row: dict[str, Any] = {
        "name": statistics.name,
        "plural": statistics.plural,
        "kind": informer.kind.resource.kind,
        "synced": statistics.synced,
        "fifo": statistics.queued,
        "objects": statistics.objects,
        "cached": _cached(informer),
        "indexes": {
            name: len(informer.indexer.list_index_func_values(name)) for name in informer.indexer.indexers()
        },
        "listeners": [
            {"name": listener.name, "pending": listener.pending, "handled": listener.handled}
            for listener in statistics.listeners
        ],
    }
    if reflector is not None:
        row |= {
            "state": "BACKOFF" if reflector.retry_at is not None else str(reflector.state),
            "version": reflector.last_sync_resource_version,
            "age": None if reflector.last_event_at is None else round(now - reflector.last_event_at, 1),
            "watches": reflector.watches,
            "relists": reflector.relists,
            "error": reflector.last_error,
            "retryIn": None if reflector.retry_at is None else round(reflector.retry_at - now, 1),
        }
    return row


def _queue_row(name: str, queue: Work, says: Callable[[ObjectName], str]) -> dict[str, Any]:
    counts, items = queue.statistics(), queue.items(MOST_ITEMS)
    delayed = sorted(items.delayed.items(), key=lambda pair: pair[1])
    return {
        "name": name,
        "paused": is_held(queue),
        "oldest": None if (seconds := oldest_seconds(queue)) is None else round(seconds, 1),
        "counts": {
            "queued": counts.queued,
            "dirty": counts.queued + counts.readded,
            "processing": counts.in_flight,
            "delayed": counts.delayed,
        },
        "queued": _keys(items.queued),
        "dirty": _keys((*items.queued, *items.readded)),
        "processing": _keys(items.in_flight),
        "delayed": [
            {
                "key": str(item),
                "seconds": round(seconds, 3),
                "failures": queue.num_requeues(item),
                "says": says(item),
            }
            for item, seconds in delayed
        ],
    }


def _keys(items: Sequence[ObjectName]) -> list[str]:
    return sorted(str(item) for item in items)


class _Workers:
    """
    The workers' states, inferred from the steps and from where the workers' threads are waiting.

    A worker that did not call done() counts as free when it waits for the next key.

    Fields: ended has the completed syncs; _busy has each thread's current sync, by thread name; _left has the
    syncs whose thread went on without calling done(); _unknown has the workers that got their key before the
    first known step; _given_back has the (queue, key) pairs for which done() was called after the steps in
    `before`; _has_gap is true if steps may be missing between `before` and `steps`.
    """

    def __init__(
        self, now: float, before: Sequence[Step], threads: Iterable[ThreadFrame], steps: Sequence[Step]
    ) -> None:
        """Args: before are the steps that were read before the threads; steps were read after them."""
        self._now = now
        since = before[-1].seq if before else 0
        self._has_gap = bool(before or steps) and not (before and steps and steps[0].seq <= since)
        # The set also includes the key of a worker that called get() before the first of the steps.
        self._given_back = {
            (step.component, step.key) for step in steps if step.number == DONE and step.seq > since
        }
        self._threads: dict[str, bool] = {}
        for name, frame in threads:
            if _WORKER.fullmatch(name):
                self._threads[name] = self._threads.get(name, True) and waits_for_key(frame)
        self.ended: list[Sync] = []
        self._left: list[Sync] = []
        self._busy: dict[str, Sync] = {}
        for sync in syncs(steps):
            if sync.ended_at is not None:
                self.ended.append(sync)
            elif sync.left or (self._threads.get(sync.thread) and sync.began <= since):
                self._left.append(sync)
            else:
                self._busy[sync.thread] = sync
        known = {step.thread for step in steps if step.number in (GET, DONE)}
        self._unknown = {name for name, waits in self._threads.items() if not waits} - known

    def rows(self) -> list[dict[str, Any]]:
        """
        Return a row for each worker.

        A worker's key is unknown if its sync began before the first recorded step.
        """
        return [self._row(name) for name in sorted(self._threads)]

    def stuck(self, queue: str, processing: Sequence[str]) -> list[str]:
        """
        Return the keys in processing that no worker is processing.

        Such a key stays in processing until done() is called for it.
        """
        if self._unknown or self._has_gap:
            left = _keys_of(queue, self._left)
            return [key for key in processing if key in left]
        held = _keys_of(queue, self._busy.values())
        return [key for key in processing if key not in held and (queue, key) not in self._given_back]

    def _row(self, name: str) -> dict[str, Any]:
        if sync := self._busy.get(name):
            return {"name": name, "key": sync.key, "seconds": round(max(0.0, self._now - sync.began_at), 3)}
        return {"name": name, "key": "", "unknown": name in self._unknown}


def _keys_of(queue: str, syncs: Iterable[Sync]) -> set[str]:
    return {sync.key for sync in syncs if sync.queue == queue}


def _result(sync: Sync) -> dict[str, Any]:
    assert sync.ended_at is not None
    return {
        "queue": sync.queue,
        "key": sync.key,
        "outcome": sync.outcome,
        "reason": sync.reason,
        "seconds": round(sync.ended_at - sync.began_at, 4),
        "retrySeconds": sync.retry_seconds,
    }


def _cached(informer: SharedIndexInformer[Any]) -> list[list[str]]:
    """Return the keys and resource versions of the first objects in the cache."""
    keys = sorted(informer.indexer.list_keys())[:MOST_ITEMS]
    found = ((key, informer.indexer.get_by_key(key)) for key in keys)
    return [[key, obj.metadata.resource_version] for key, obj in found if obj is not None]


def _replicas(informer: SharedIndexInformer[Any]) -> dict[str, Any]:
    keys = sorted(informer.indexer.list_keys())
    found = ((key, informer.indexer.get_by_key(key)) for key in keys[:MOST_ITEMS])
    rows = [
        {
            "key": key,
            "desired": getattr(obj.spec, "replicas", None),
            "available": getattr(obj.status, "available_replicas", None),
        }
        for key, obj in found
        if obj is not None
    ]
    return {"kind": informer.kind.resource.kind, "count": len(keys), "rows": rows}
