"""
The state of the running objects as JSON: reflectors, FIFOs, indexes, queues, workers, election.

Of objects only names, versions and replicas are shown.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from typing import Any, Final

from handloop.controller.runtime.election.candidacy import ElectionStatistics
from handloop.informers.keys import ObjectName
from handloop.informers.shared_informer import SharedIndexInformer
from handloop.seams.clock import REAL_CLOCK, Clock
from handloop.walkthrough.live.parts import Parts, Work, is_held, oldest_seconds
from handloop.walkthrough.live.recorder import Step
from handloop.walkthrough.live.syncs import Sync, syncs

MOST_ITEMS: Final = 50
"""How many keys or objects a list of the snapshot holds; each comes with the whole number."""

_RESULTS: Final = 10
_WORKER: Final = re.compile(r"(?:[a-z]+-)?worker-\d+")


def snapshot(parts: Parts | None, steps: Sequence[Step], *, clock: Clock = REAL_CLOCK) -> dict[str, Any]:
    """
    The state at this moment.

    Args: parts None = the program has no controllers yet. steps are those recorded, for the workers' syncs.
    Times are in seconds: `age`, `retryIn`, `seconds` before or after now.
    """
    now = clock.now()
    seen = syncs(steps)
    if parts is None:
        return {"ready": False, "informers": [], "queues": [], "workers": [], "results": [], "objects": []}
    informers = parts.informers()
    return {
        "ready": True,
        "synced": all(informer.has_synced() for informer in informers),
        "election": _election(parts),
        "informers": [_informer(informer, now) for informer in informers],
        "queues": [_queue(name, queue) for name, queue in parts.queues().items()],
        "workers": _workers(seen, now),
        "results": [_result(sync) for sync in seen if sync.ended_at is not None][-_RESULTS:],
        # of our own kinds: custom resources with replicas, wanted and available
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


def _queue(name: str, queue: Work) -> dict[str, Any]:
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
            {"key": str(item), "seconds": round(seconds, 3), "failures": queue.num_requeues(item)}
            for item, seconds in delayed
        ],
    }


def _keys(items: Sequence[ObjectName]) -> list[str]:
    return sorted(str(item) for item in items)


def _workers(seen: Sequence[Sync], now: float) -> list[dict[str, Any]]:
    busy = {sync.thread: sync for sync in seen if sync.ended_at is None}
    names = sorted(thread.name for thread in threading.enumerate() if _WORKER.fullmatch(thread.name))
    return [
        {"name": name, "key": sync.key, "seconds": round(now - sync.began_at, 3)}
        if (sync := busy.get(name))
        else {"name": name, "key": ""}
        for name in names
    ]


def _result(sync: Sync) -> dict[str, Any]:
    assert sync.ended_at is not None
    return {
        "queue": sync.queue,
        "key": sync.key,
        "outcome": sync.outcome,
        "seconds": round(sync.ended_at - sync.began_at, 4),
        "retrySeconds": sync.retry_seconds,
    }


def _replicas(informer: SharedIndexInformer[Any]) -> dict[str, Any]:
    keys = sorted(informer.indexer.list_keys())
    found = ((key, informer.indexer.get_by_key(key)) for key in keys[:MOST_ITEMS])
    rows = [
        {"key": key, "desired": obj.spec.replicas, "available": obj.status.available_replicas}
        for key, obj in found
        if obj is not None
    ]
    return {"kind": informer.kind.resource.kind, "count": len(keys), "rows": rows}
