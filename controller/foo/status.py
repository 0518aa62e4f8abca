"""
Writing a Foo's status, whichever of sample-controller's CRDs is installed.

    CRD                                   PUT .../status     merge patch of the object
    with the status subresource           taken              status is ignored
    without (the stock crd.yaml)          404                taken
    no status in its schema               404 or pruned      pruned

A 404 can also mean that the Foo is gone: the server's words are the same. Only the merge patch needs the verb
patch on foos; without it, a CRD without the subresource means no status.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

import structlog
from cachetools import LRUCache

from handloop.client.errors import Forbidden, NotFound
from handloop.client.resource_client import PatchType, ResourceClient
from handloop.controller.foo.types import Foo, FooStatus
from handloop.workqueue.clock import REAL_CLOCK, Clock
from handloop.workqueue.locks import new_lock

log = structlog.get_logger("foo")

TRY_AGAIN_SECONDS: Final = 60.0

_REMEMBERED: Final = 10_000


class _Road(Enum):
    """Where status is written: known only once a write has been taken."""

    UNKNOWN = "unknown"
    SUBRESOURCE = "subresource"
    OBJECT = "object"


class FooStatusWriter:
    """
    Writes a status with the resource version it was computed from.

    What the server drops is not written again, but for one try a minute, of whichever Foo: once that is taken
    the CRD was mended, and all are written again.
    State, under _lock: _road = what worked last; _had_subresource never goes back; _ignored = Foo UID -> the
    status that the server dropped, for the last 10,000 Foos; _try_at = when one of them is tried again;
    _warned never goes back.
    Threads: any; no two of them for one Foo.
    """

    def __init__(self, foos: ResourceClient[Foo], *, field_manager: str, clock: Clock = REAL_CLOCK) -> None:
        self._foos = foos
        self._field_manager = field_manager
        self._clock = clock
        self._lock = new_lock("FooStatusWriter._lock", 95)
        self._road = _Road.UNKNOWN
        self._had_subresource = False
        self._ignored: LRUCache[str, FooStatus] = LRUCache(_REMEMBERED)
        self._try_at = 0.0
        self._warned = False

    def write(self, foo: Foo) -> bool:
        """
        Write the status that foo carries.

        Returns: False when the CRD makes the server ignore it.
        Raises: APIError, TransportError; Conflict when foo has changed since it was read.
        """
        with self._lock:
            road = self._road
            if self._ignored.get(foo.metadata.uid) == foo.status and not self._is_time_to_try_locked():
                return False
        if road is _Road.OBJECT and self._patch_object(foo):
            return True
        try:
            taken, lacking = self._put_status(foo), "status in its schema"
        except NotFound as missing:
            if road is _Road.SUBRESOURCE:
                # it worked before: the Foo is gone; or the subresource is, and the retry takes the other road
                self._set_road(_Road.UNKNOWN)
                raise
            taken, lacking = self._try_object(foo, missing, tried=road is _Road.OBJECT)
        if not taken:
            self._give_up(foo, lacking)
        return taken

    def _is_time_to_try_locked(self) -> bool:
        now = self._clock.now()
        if now < self._try_at:
            return False
        self._try_at = now + TRY_AGAIN_SECONDS
        return True

    def _try_object(self, foo: Foo, missing: NotFound, *, tried: bool) -> tuple[bool, str]:
        """Whether the object took the status, and what its CRD lacks if it did not."""
        try:
            taken = not tried and self._patch_object(foo)
        except Forbidden:
            with self._lock:
                had_subresource = self._had_subresource
            if had_subresource:
                # who may not patch is told so before it is looked whether the Foo is there: it is gone, too
                raise missing from None
            return False, "subresources.status, and we may not patch foos instead"
        return taken, "subresources.status, and status in its schema"

    def _put_status(self, foo: Foo) -> bool:
        answer = self._foos.update_status(foo, field_manager=self._field_manager)
        return self._took(foo, answer, _Road.SUBRESOURCE)

    def _patch_object(self, foo: Foo) -> bool:
        metadata = foo.metadata
        answer = self._foos.patch(
            metadata.name,
            {
                "metadata": {"resourceVersion": metadata.resource_version},
                "status": {"availableReplicas": foo.status.available_replicas},
            },
            namespace=metadata.namespace,
            patch_type=PatchType.MERGE,
            field_manager=self._field_manager,
        )
        return self._took(foo, answer, _Road.OBJECT)

    def _took(self, foo: Foo, answer: Foo, road: _Road) -> bool:
        """Whether the server kept the status; the road is remembered if so."""
        if answer.status != foo.status:
            return False
        self._set_road(road)
        with self._lock:
            self._ignored.clear()
        return True

    def _set_road(self, road: _Road) -> None:
        with self._lock:
            before, self._road = self._road, road
            self._had_subresource = self._had_subresource or road is _Road.SUBRESOURCE
        if road is _Road.OBJECT and before is not road:
            log.debug("CRD has no status subresource, writing status with the object", v=2)

    def _give_up(self, foo: Foo, lacking: str) -> None:
        with self._lock:
            self._ignored[foo.metadata.uid] = foo.status
            self._try_at = self._clock.now() + TRY_AGAIN_SECONDS
            first, self._warned = not self._warned, True
        if first:
            text = f"status updates are ignored: CRD lacks {lacking}"
            log.warning(text, code="E08", fix="python -m controller manifests crd | kubectl apply -f -")
