"""
Write a status as a merge patch of its differences, and learn from the response which fields the server drops.

If the server's definition is newer than our type, a PUT would delete the fields that our type lacks. If the
definition is older, the server drops the fields that it lacks, so the object would always differ from the
desired status. Dropped fields are logged, and do not cause further writes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeVar

import msgspec
from cachetools import LRUCache

from handloop.apis.evolve import evolve
from handloop.apis.meta import APIStruct, Kind
from handloop.apis.resource import Resource
from handloop.apis.unstructured import json_of
from handloop.client.errors import ClientError, NotFound
from handloop.client.resource_client import Client
from handloop.controller.runtime.reconcile import ReconcileError
from handloop.seams.clock import REAL_CLOCK, Clock
from handloop.seams.locks import new_lock
from handloop.seams.logs import get_logger

log = get_logger("controller")

K = TypeVar("K", bound=Kind)

TRY_AGAIN_SECONDS: Final = 600.0
"""How long a field is not written after the server dropped it. Then one object tries to write it again."""

_REMEMBERED: Final = 50_000

_Path = tuple[str, ...]


def status_of(obj: Kind) -> dict[str, Any]:
    """Return an object's status as decoded JSON, or {} if it has no status."""
    status: dict[str, Any] | None = msgspec.json.decode(json_of(obj)).get("status")
    return status or {}


def with_status(obj: K, status: APIStruct) -> K:
    """Return obj with a status and its observed_generation. Raises: TypeError if the status does not fit."""
    changed = evolve(obj, "status", status)
    if hasattr(status, "observed_generation"):
        changed = evolve(changed, "status.observed_generation", obj.metadata.generation)
    return changed


def for_this_version(obj: Kind, **changes: Any) -> dict[str, Any]:
    """Return a merge patch that the server rejects with Conflict if the object has another version."""
    there = {"uid": obj.metadata.uid, "resourceVersion": obj.metadata.resource_version}
    return {"metadata": {name: value for name, value in there.items() if value}, **changes}


def merge_patch(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON merge patch that turns before into after. Keys to remove are null in it."""
    patch: dict[str, Any] = dict.fromkeys(before.keys() - after.keys())
    for key, value in after.items():
        old = before.get(key)
        if isinstance(old, dict) and isinstance(value, dict) and old != value:
            patch[key] = merge_patch(old, value)
        elif key not in before or old != value:
            patch[key] = value
    return patch


class StatusWrites:
    """
    Stores the results of one controller's status writes.

    State, under _lock: _dropped, kind and path of a field that the server drops -> when to write the field
    again; _last, object's UID -> the hash of the last desired status, and the hash of the status that the
    server then stored; _try_at, kind -> when to write an object again although the server stored only a part
    of the same status, because the definition may have been updated.
    Threads: the workers write statuses. Lock: no other lock is acquired while _lock is held.
    """

    def __init__(self, clock: Clock = REAL_CLOCK) -> None:
        self._clock = clock
        self._lock = new_lock("StatusWrites._lock", 95)
        self._dropped: dict[tuple[str, _Path], float] = {}
        self._last: LRUCache[str, tuple[int, int]] = LRUCache(_REMEMBERED)
        self._try_at: dict[str, float] = {}

    def write(self, obj: K, changed: K, *, client: Client, manager: str) -> K:
        """Write a status for Context.update_status. Args: changed is obj with the new status."""
        wanted = status_of(changed)
        patch = merge_patch(status_of(obj), wanted)
        if not self.is_due(obj, patch, wanted):
            return obj
        answers: list[bytes] = []
        stored = _patched(
            obj, patch, client.telling(lambda _call, answer: answers.append(answer.body)), manager
        )
        if answers:
            self.written(obj, patch, wanted, stored, answers[-1])
        return stored

    def is_due(self, obj: Kind, patch: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
        """
        Return whether the stored results of earlier writes suggest that a patch would change something.

        Args: obj is the cached object; wanted is the whole desired status.
        """
        resource, now = obj.resource.group_resource, self._clock.now()
        made = _hash(wanted), _hash(status_of(obj))
        paths = [path for path, _ in _leaves(patch)]
        with self._lock:
            tries = [[self._dropped.get((resource, part)) for part in _parts(path)] for path in paths]
            dropped = [next((at for at in each if at is not None), None) for each in tries]
            if any(try_at is not None and now >= try_at for try_at in dropped):
                return True
            if None not in dropped:
                return False
            is_tried = self._last.get(obj.metadata.uid) == made
            return not is_tried or now >= self._try_at.get(resource, math.inf)

    def written(
        self, obj: Kind, patch: Mapping[str, Any], wanted: Mapping[str, Any], stored: Kind, answer: bytes
    ) -> None:
        """
        Record the result of an accepted patch, and log each field that the server dropped, once.

        Args: answer is the server's response body. It shows which fields the server stored, whereas stored
        also has the defaults of our type.
        """
        resource, now = obj.resource.group_resource, self._clock.now()
        there = msgspec.json.decode(answer).get("status")
        news = []
        with self._lock:
            before, made = self._last.get(obj.metadata.uid), (_hash(wanted), _hash(status_of(stored)))
            if before is not None and before[0] == made[0] and before[1] != made[1]:
                # The server stores another part of it than before, so it may do so for other objects, too.
                self._last.clear()
            self._last[obj.metadata.uid] = made
            if made[0] != made[1]:
                self._try_at[resource] = now + TRY_AGAIN_SECONDS
            for path, value in _leaves(patch):
                for part in _parts(path):
                    field = resource, part
                    if _has(there, part) or (value is None and part == path):
                        if self._dropped.pop(field, None) is not None:
                            # The definition was updated, so the results for other objects are outdated, too.
                            self._last.clear()
                    elif value is not None:
                        # A map is dropped as a whole. Its keys, such as pods, would be ever new fields.
                        news += [] if field in self._dropped else [part]
                        self._dropped[field] = now + TRY_AGAIN_SECONDS
                        break
        if news:
            log.warning(
                "The server dropped some status fields because its definition of the kind lacks them",
                code="E18",
                kind=obj.resource.kind,
                fields=", ".join(f"status.{'.'.join(path)}" for path in news),
                object=f"{obj.metadata.namespace}/{obj.metadata.name}".lstrip("/"),
                fix=f"apply the CustomResourceDefinition of this release: {resource}",
                once=True,
            )


def _patched(obj: K, patch: Mapping[str, Any], client: Client, manager: str) -> K:
    there = obj.metadata
    try:
        return client.resource(type(obj)).patch(
            there.name,
            for_this_version(obj, status=patch),
            namespace=there.namespace,
            subresource="status",
            field_manager=manager,
        )
    except NotFound as error:
        if _has_status(obj.resource, client):
            raise
        raise ReconcileError(
            f"{error}: the server has no status subresource for {obj.resource.group_resource}: install "
            "the CustomResourceDefinition that is generated from its type"
        ) from error


def _has_status(resource: Resource, client: Client) -> bool:
    """Return whether the server has the kind's status subresource, or True if discovery cannot tell."""
    try:
        served = client.discovery().resources(resource.group, resource.version)
    except ClientError:
        return True
    return served is None or served.find(resource.plural, "status") is not None


def _leaves(patch: Mapping[str, Any], above: _Path = ()) -> Iterator[tuple[_Path, Any]]:
    for key, value in patch.items():
        if isinstance(value, dict) and value:
            yield from _leaves(value, (*above, key))
        else:
            yield (*above, key), value


def _parts(path: _Path) -> Iterator[_Path]:
    """Yield a path's beginnings, from the first key to the whole path."""
    return (path[:length] for length in range(1, len(path) + 1))


def _has(status: Any, path: _Path) -> bool:
    for key in path:
        if not isinstance(status, dict) or key not in status:
            return False
        status = status[key]
    return True


def _hash(status: Mapping[str, Any]) -> int:
    return hash(msgspec.json.encode(status, order="sorted"))
